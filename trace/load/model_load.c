/* SPDX-License-Identifier: Apache-2.0
 *
 * Files -> models, see model.h. What `gputrace merge` has put together is taken apart again, so
 * that each rank of a merged file is reported as in a folder. One thread while loading.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/hash.h"
#include "trace/load/model_build.h"
#include "trace/load/model_events.h"
#include "trace/segment_files.h"

#define FIRST_HOST 64    /* rows below are GPUs */
#define MAX_ROWS   65536 /* that are distinguished */
#define MAX_PARTS  4096u /* processes of a .pftrace */

/* A process or device of a merged file. */
struct model_load_row {
	int64_t pid, was; /* its number in the file, and before */
	int64_t process;
	size_t builder;
};

struct load {
	const char *path;
	bool has_parts;                     /* a .pftrace of several processes */
	GT_VEC(struct gt_builder) builders; /* the first takes what is of no process */
	GT_VEC(struct model_load_row) rows;
	struct gt_pairmap row_of;     /* pid, 0 -> place in rows + 1 */
	struct gt_pairmap builder_of; /* process, 0 -> place in builders + 1 */
};

static int add_builder(struct load *load)
{
	struct gt_builder b = {.model = calloc(1, sizeof(*b.model))};

	if (!b.model)
		return -ENOMEM;
	*b.model = (struct gt_model){.path = load->path, .first = INT64_MAX, .last = INT64_MIN};
	if (!gt_names_init(&b.model->names) && gt_vec_push(&load->builders, b))
		return 0;
	gt_model_fini(b.model);
	free(b.model);
	return -ENOMEM;
}

static const struct model_load_row *find_row(const struct load *load, int64_t pid)
{
	const int64_t *place = gt_pairmap_find(&load->row_of, pid, 0);

	return place ? &load->rows.at[*place - 1] : NULL;
}

/* Which builder has a process: that of its other rows, else a new one; the very first is there. */
static int find_builder(struct load *load, int64_t process, size_t *ret_builder)
{
	int64_t *builder = gt_pairmap_get(&load->builder_of, process, 0);
	int rc = 0;

	if (!builder)
		return -ENOMEM;
	if (!*builder) {
		rc = load->rows.count ? add_builder(load) : 0;
		*builder = (int64_t)load->builders.count;
	}
	*ret_builder = (size_t)*builder - 1;
	return rc;
}

static bool member(const struct gt_trace_event *record, const char *key, int64_t *ret_value)
{
	struct gt_span value;

	return gt_span_member(&record->args, key, &value) && gt_span_int(&value, ret_value);
}

/* What merge says of a row before its first event; of a file merged twice the second time
 * counts. */
static int take_row(struct load *load, const struct gt_trace_event *record)
{
	struct model_load_row row = {.pid = record->pid};
	int64_t rank, *place;
	int rc;

	if (!gt_span_is(&record->name, "process_labels", 14) ||
	    record->args.kind != GT_SPAN_OBJECT || load->rows.count == MAX_ROWS ||
	    find_row(load, row.pid) || !member(record, "merged process", &row.process) ||
	    !member(record, "merged pid", &row.was) || !member(record, "rank", &rank))
		return 0;
	rc = find_builder(load, row.process, &row.builder);
	if (rc)
		return rc;
	load->builders.at[row.builder].model->rank = (int)rank;
	place = gt_pairmap_get(&load->row_of, row.pid, 0);
	if (!place || !gt_vec_push(&load->rows, row))
		return -ENOMEM;
	*place = (int64_t)load->rows.count;
	return 0;
}

static int take_event(const struct gt_trace_event *record, const struct gt_header *header,
		      void *data)
{
	struct load *load = data;
	int rc = record->ph == 'M' ? take_row(load, record) : 0;
	const struct model_load_row *row = load->rows.count ? find_row(load, record->pid) : NULL;
	struct gt_trace_event own;

	(void)header;
	if (rc || !row)
		return rc ? rc : gt_build_record(&load->builders.at[0], record);
	own = *record;
	own.pid = row->was;
	if (row->was < FIRST_HOST) /* then the row says it */
		own.arg_mask &= ~(1ull << GT_ARG_DEVICE);
	if (row->builder)
		load->builders.at[row->builder].model->reading.events++;
	return gt_build_record(&load->builders.at[row->builder], &own);
}

static int read_json(struct gt_input *in, void *data, struct gt_reading *ret_reading)
{
	return gt_reader_read_input(in, take_event, data, ret_reading);
}

/* Each process of a merged .pftrace is there with all that its own file had. */
static int read_parts(struct load *load, struct gt_input *in, uint32_t parts)
{
	struct gt_reading *all = &load->builders.at[0].model->reading, *own;
	int rc = 0;

	for (uint32_t part = 1; rc >= 0 && part < parts; part++) {
		if (part == MAX_PARTS) {
			snprintf(all->error, sizeof(all->error),
				 "%.400s: holds more than %u processes", load->path, MAX_PARTS);
			return -E2BIG;
		}
		rc = add_builder(load);
		if (rc < 0)
			break;
		own = &load->builders.at[part].model->reading;
		rc = gt_build_pftrace(&load->builders.at[part], in, part, &parts, own);
		if (rc < 0)
			memcpy(all->error, own->error, sizeof(all->error));
	}
	return rc;
}

/* Of the first file; of a later one of the process what there is goes to its model. */
static int read_pftrace(struct gt_input *in, void *data, struct gt_reading *ret_reading)
{
	struct load *load = data;
	uint32_t parts;
	int rc = gt_build_pftrace(&load->builders.at[0], in, 0, &parts, ret_reading);

	if (rc < 0 || parts < 2 || load->builders.count > 1)
		return rc;
	load->has_parts = true;
	return read_parts(load, in, parts);
}

/* What a reading cannot say. */
static int complain(const struct load *load, int rc)
{
	struct gt_reading *all = &load->builders.at[0].model->reading;

	if (rc == -ERANGE)
		snprintf(all->error, sizeof(all->error),
			 "%.400s: one process has more than %" PRIu32
			 " operations, calls or ranges: too many",
			 load->path, gt_model_most_rows);
	if (rc == -EOVERFLOW)
		snprintf(
			all->error, sizeof(all->error),
			"%.400s: its durations or sizes add up to more than 64 bits hold: no trace",
			load->path);
	return rc;
}

/* Reads one file. The first one's reading is that of the first model. */
static int take_file(struct load *load, const char *path, bool is_first)
{
	struct gt_reading *all = &load->builders.at[0].model->reading;
	struct gt_reading reading;
	int rc, error;

	if (is_first)
		return complain(load,
				gt_reader_read_either(path, read_json, read_pftrace, load, all));
	rc = gt_reader_read_either(path, read_json, read_pftrace, load, &reading);
	if (rc < 0)
		memcpy(all->error, reading.error, sizeof(all->error));
	error = gt_segments_add(all, &reading);
	gt_reading_fini(&reading);
	return rc < 0 ? complain(load, rc) : error;
}

/* The header of the process that a device belongs to; NULL: of the first, which keeps its own. */
static struct gt_header *header_of(const struct load *load, const struct model_load_row *row)
{
	return row && row->builder ? &load->builders.at[row->builder].model->reading.header : NULL;
}

/* Room for the devices of each process but the first. */
static int count_devices(const struct load *load, const struct gt_header *from)
{
	for (size_t i = 0; i < from->device_count; i++) {
		struct gt_header *to = header_of(load, find_row(load, from->devices[i].id));

		if (to)
			to->device_count++;
	}
	for (size_t i = 1; i < load->builders.count; i++) {
		struct gt_header *to = &load->builders.at[i].model->reading.header;

		to->devices = calloc(to->device_count + 1, sizeof(*to->devices));
		to->device_count = 0;
		if (!to->devices)
			return -ENOMEM;
	}
	return 0;
}

/* Each device goes to its process, with the number that it had. */
static int split_devices(const struct load *load)
{
	const struct gt_header *from = &load->builders.at[0].model->reading.header;
	int rc = count_devices(load, from);

	for (size_t i = 0; !rc && i < from->device_count; i++) {
		const struct model_load_row *row = find_row(load, from->devices[i].id);
		struct gt_header *to = header_of(load, row);
		struct gt_header_device *device;

		if (!to)
			continue;
		device = &to->devices[to->device_count];
		*device = from->devices[i];
		device->id = row->was;
		device->name = strdup(device->name);
		device->uuid = device->uuid ? strdup(device->uuid) : NULL;
		rc = device->name ? 0 : -ENOMEM;
		to->device_count += !rc;
	}
	return rc;
}

/* What was read belongs to several processes. Ledger and losses are reported once, with the first.
 */
static int split_reading(const struct load *load, size_t builder)
{
	struct gt_reading *all = &load->builders.at[0].model->reading;
	struct gt_model *model = load->builders.at[builder].model;
	struct gt_reading *own = &model->reading;

	if (asprintf(&model->own_path, "%s (rank %d)", load->path, model->rank) < 0) {
		model->own_path = NULL;
		return -ENOMEM;
	}
	model->path = model->own_path;
	model->merged.file = gt_hash_bytes(load->path, strlen(load->path)) | 1;
	if (!builder || own->is_pftrace)
		return 0;
	all->events -= own->events;
	own->form = all->form;
	own->closed = true;
	own->header.has_base = all->header.has_base;
	own->header.base_ns = all->header.base_ns;
	own->header.has_rank = true;
	own->header.rank = model->rank;
	own->header.world_size = all->header.world_size;
	return 0;
}

/* The header of each process but the first gets what its own trace told. */
static int split_metadata(const struct load *load)
{
	const struct gt_span key = {.text = "metadata", .len = 8, .kind = GT_SPAN_STRING};
	struct gt_span list, of, number;
	uint32_t position = 0;
	char *copy;
	int rc = 0;

	if (gt_header_span(&load->builders.at[0].model->reading.header, "processes", &copy,
			   &list) &&
	    list.kind == GT_SPAN_ARRAY)
		while (!rc && gt_span_next(&list, &position, &of)) {
			const int64_t *place = NULL;
			int64_t process;

			if (of.kind == GT_SPAN_OBJECT && gt_span_member(&of, "process", &number) &&
			    gt_span_int(&number, &process))
				place = gt_pairmap_find(&load->builder_of, process, 0);
			if (place && *place > 1 && gt_span_member(&of, "metadata", &number))
				rc = gt_header_add(
					&load->builders.at[*place - 1].model->reading.header, &key,
					&number, false);
		}
	free(copy);
	return rc;
}

/* How the clock of a process came to that of the file, from an element of "clocks". */
static void take_clock(const struct load *load, const struct gt_span *of)
{
	struct gt_span member;
	struct gt_model_merged *merged;
	const int64_t *place = NULL;
	int64_t number;
	size_t size;

	if (of->kind == GT_SPAN_OBJECT && gt_span_member(of, "process", &member) &&
	    gt_span_int(&member, &number))
		place = gt_pairmap_find(&load->builder_of, number, 0);
	if (!place || !*place || !gt_span_member(of, "by", &member) ||
	    member.kind != GT_SPAN_STRING || member.len > 16)
		return;
	merged = &load->builders.at[*place - 1].model->merged;
	snprintf(merged->clock, sizeof(merged->clock), "%.*s", (int)member.len, member.text);
	size = strlen(merged->clock);
	if (gt_span_member(of, "error_ns", &member) && gt_span_int(&member, &number) && number >= 0)
		snprintf(merged->clock + size, sizeof(merged->clock) - size,
			 " within %" PRId64 " ns", number);
}

static void split_clocks(const struct load *load)
{
	struct gt_span list, of;
	uint32_t position = 0;
	char *copy;

	for (size_t i = 0; i < load->builders.count; i++) {
		struct gt_model *model = load->builders.at[i].model;

		gt_header_text(&model->reading.header, "metadata", "merged_clock",
			       model->merged.clock, sizeof(model->merged.clock));
	}
	if (gt_header_span(&load->builders.at[0].model->reading.header, "clocks", &copy, &list) &&
	    list.kind == GT_SPAN_ARRAY)
		while (gt_span_next(&list, &position, &of))
			take_clock(load, &of);
	free(copy);
}

static int finish_all(struct load *load)
{
	int rc = 0;

	for (size_t i = 0; !load->rows.count && i < load->builders.count; i++) {
		struct gt_model *model = load->builders.at[i].model;

		model->rank = (int)model->reading.header.rank;
	}
	for (size_t i = 0; !rc && i < load->builders.count; i++)
		rc = complain(load, gt_build_finish(&load->builders.at[i]));
	for (size_t i = 0; !rc && load->builders.count > 1 && i < load->builders.count; i++)
		rc = split_reading(load, i);
	if (!rc && load->builders.count > 1 && !load->has_parts)
		rc = split_devices(load);
	if (!rc && load->builders.count > 1 && !load->has_parts)
		rc = split_metadata(load);
	if (!rc && load->builders.count > 1)
		split_clocks(load);
	return rc;
}

/* Hands the models over, in whatever state they are. */
static int give(struct load *load, struct gt_models *ret_models)
{
	int rc = 0;

	for (size_t i = 0; i < load->builders.count; i++) {
		struct gt_builder *b = &load->builders.at[i];

		gt_build_fini(b);
		if (b->model->first > b->model->last)
			b->model->first = b->model->last = 0;
		b->model->origin = b->model->first;
		if (!gt_vec_push(ret_models, *b->model)) {
			gt_model_fini(b->model);
			rc = -ENOMEM;
		}
		free(b->model);
	}
	gt_vec_free(&load->builders);
	gt_vec_free(&load->rows);
	gt_pairmap_fini(&load->row_of);
	gt_pairmap_fini(&load->builder_of);
	return rc;
}

int gt_model_load(char *const *paths, size_t count, struct gt_models *ret_models)
{
	struct load load = {.path = paths[0]};
	int rc = add_builder(&load), given;

	*ret_models = (struct gt_models){0};
	for (size_t i = 0; rc >= 0 && i < count; i++)
		rc = take_file(&load, paths[i], i == 0);
	if (rc >= 0)
		rc = finish_all(&load);
	given = give(&load, ret_models);
	return rc < 0 ? rc : given;
}

void gt_models_fini(struct gt_models *models)
{
	for (size_t i = 0; i < models->count; i++)
		gt_model_fini(&models->at[i]);
	gt_vec_free(models);
}

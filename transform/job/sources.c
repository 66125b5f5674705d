/* SPDX-License-Identifier: Apache-2.0
 *
 * See sources.h.
 */
#include "transform/job/sources.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/schema/metadata.h"
#include "trace/file/header.h"
#include "trace/segment_files.h"

static int64_t number_of(const struct gt_header *header, const char *object, const char *key)
{
	int64_t value = 0;

	gt_header_int(header, object, key, &value);
	return value;
}

static char *copy_of(const struct gt_header *header, const char *key)
{
	const char *text = gt_header_find(header, key);

	return text ? strdup(text) : NULL;
}

static void take(struct gt_merge_source *source, const char *path, const struct gt_reading *reading)
{
	const struct gt_header *header = &reading->header;

	*source = (struct gt_merge_source){
		.path = path,
		.rank = header->rank,
		.world_size = header->world_size,
		.pid = number_of(header, "metadata", "pid"),
		.base = header->has_base ? header->base_ns : 0,
		.border = number_of(header, "segment", gt_segment_names[GT_SEGMENT_BORDER]),
		.first = number_of(header, "metadata", "clock_first_realtime_ns"),
		.last = number_of(header, "metadata", "clock_last_realtime_ns"),
		.has_base = header->has_base,
		.is_pftrace = reading->is_pftrace,
		.is_cut = reading->is_pftrace && !reading->closed,
		.metadata = copy_of(header, "metadata"),
		.segment = copy_of(header, "segment"),
		.backend = header->backend ? strdup(header->backend) : NULL,
	};
	gt_header_span(header, "deviceProperties", &source->devices, &source->device_list);
	gt_clock_source_header(header, &source->clock);
}

static int read_source(struct gt_merge_source *source, const char *path,
		       struct gt_merge_result *result)
{
	struct gt_reading reading;
	int rc = gt_file_header_whole(path, &reading);

	if (rc >= 0) {
		gt_job_origins_see(&result->origins, &reading.header, path);
		take(source, path, &reading);
	} else if (!result->left_out++) {
		strcpy(result->left_out_why, reading.error);
	}
	gt_reading_fini(&reading);
	return rc < 0 ? rc : 0;
}

static int by_rank(const void *a, const void *b)
{
	const struct gt_merge_source *x = a, *y = b;

	return x->rank != y->rank ? (x->rank < y->rank ? -1 : 1)
				  : gt_segment_compare(x->path, y->path);
}

/* The numbers of the processes. */
static void count_processes(struct gt_merge_sources *sources)
{
	struct gt_merge_source *of = sources->of;

	for (size_t i = 1; i < sources->count; i++)
		of[i].process =
			of[i - 1].process + !gt_segments_are_of_one(of[i - 1].path, of[i].path);
	sources->processes = sources->count ? of[sources->count - 1].process + 1 : 0;
}

int gt_merge_sources_read(char *const *paths, size_t count, struct gt_merge_sources *ret_sources,
			  struct gt_merge_result *result)
{
	struct gt_merge_sources *sources = ret_sources;

	*sources = (struct gt_merge_sources){.of = calloc(count + 1, sizeof(*sources->of))};
	if (!sources->of)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		int rc = read_source(&sources->of[sources->count], paths[i], result);

		if (rc == -ENOMEM)
			return rc;
		sources->count += !rc;
	}
	if (count && !sources->count) {
		strcpy(result->error, result->left_out_why);
		return -EBADMSG;
	}
	qsort(sources->of, sources->count, sizeof(*sources->of), by_rank);
	count_processes(sources);
	return 0;
}

size_t gt_merge_process_end(const struct gt_merge_sources *sources, size_t first)
{
	size_t end = first + 1;

	while (end < sources->count && sources->of[end].process == sources->of[first].process)
		end++;
	return end;
}

void gt_merge_sources_fini(struct gt_merge_sources *sources)
{
	for (size_t i = 0; i < sources->count; i++) {
		free(sources->of[i].devices);
		free(sources->of[i].metadata);
		free(sources->of[i].segment);
		free(sources->of[i].backend);
	}
	free(sources->of);
	*sources = (struct gt_merge_sources){0};
}

int gt_merge_sources_clocks(struct gt_merge_sources *sources, bool force,
			    struct gt_clocks *ret_clocks, struct gt_merge_result *result)
{
	size_t count = sources->count, processes = 0;
	size_t *firsts = calloc(count + 1, sizeof(*firsts));
	struct gt_clock_source *clocks = calloc(count + 1, sizeof(*clocks));
	char **paths = calloc(count + 1, sizeof(*paths));
	int rc = firsts && clocks && paths ? 0 : -ENOMEM;

	*ret_clocks = (struct gt_clocks){0};
	for (size_t i = 0; !rc && i < count; i++) {
		paths[i] = (char *)sources->of[i].path;
		if (sources->of[i].process != processes - 1) {
			clocks[processes] = sources->of[i].clock;
			firsts[processes++] = i;
		}
	}
	if (!rc) {
		firsts[processes] = count;
		rc = gt_merge_clocks_find(paths, firsts, clocks, processes, ret_clocks,
					  &result->clocks);
	}
	if (!rc && result->clocks.unbounded && !force) {
		rc = -EDOM;
		gt_merge_clocks_refuse(&result->clocks, result->error, sizeof(result->error));
	}
	free(firsts);
	free(clocks);
	free(paths);
	return rc;
}

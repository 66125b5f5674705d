/* SPDX-License-Identifier: Apache-2.0
 *
 * The use of each device (see stats.h). Pure over constant models.
 */
#include "analysis/stats.h"

#include <errno.h>
#include <stdlib.h>

#include "readers/keymap.h"

/* The sets of time that one device's use is made of. */
struct sets {
	struct gt_intervals all, kernel, copy, comm, compute, graph;
};

static bool is_used(const struct gt_device_use *use)
{
	for (int kind = 0; kind < GT_OP_KIND_COUNT_; kind++)
		if (use->count[kind])
			return true;
	return false;
}

/* The set of an operation's kind. */
static struct gt_intervals *set_of(struct sets *sets, const struct gt_op *op)
{
	if (op->kind == GT_OP_KERNEL)
		return &sets->kernel;
	return op->kind == GT_OP_GRAPH ? &sets->graph : &sets->copy;
}

static bool add_op(struct sets *sets, struct gt_device_use *use, const struct gt_op *op)
{
	int64_t end = op->start + op->dur;
	bool is_kernel = op->kind == GT_OP_KERNEL;

	if (!is_used(use)) {
		use->first = op->start;
		use->last = end;
	}
	use->count[op->kind]++;
	if (op->start < use->first)
		use->first = op->start;
	if (end > use->last)
		use->last = end;
	return gt_intervals_add(&sets->all, op->start, end) &&
	       gt_intervals_add(set_of(sets, op), op->start, end) &&
	       (!is_kernel ||
		gt_intervals_add(op->comm ? &sets->comm : &sets->compute, op->start, end));
}

/* Empties the sets, too. */
static void measure(struct sets *sets, struct gt_device_use *use)
{
	struct gt_intervals *all[] = {&sets->all,  &sets->kernel,  &sets->copy,
				      &sets->comm, &sets->compute, &sets->graph};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		gt_intervals_merge(all[i]);
	use->busy = gt_intervals_total(&sets->all);
	use->kernel = gt_intervals_total(&sets->kernel);
	use->copy = gt_intervals_total(&sets->copy);
	use->comm = gt_intervals_total(&sets->comm);
	use->graph = gt_intervals_total(&sets->graph);
	use->kernel_copy = gt_intervals_common(&sets->kernel, &sets->copy);
	use->compute_comm = gt_intervals_common(&sets->compute, &sets->comm);
	use->kernel_graph = gt_intervals_common(&sets->kernel, &sets->graph);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		gt_intervals_fini(all[i]);
}

/* When nothing ran between two times. Operations are in the order of their starts. */
static int64_t idle_between(const struct gt_device_use *use, int64_t from, int64_t until)
{
	int64_t idle = 0;

	for (uint32_t i = 0; i < use->track->count && from < until; i++) {
		const struct gt_op *op = gt_model_op_of(use->model, use->track, i);

		if (op->start >= until)
			break;
		if (op->start > from)
			idle += op->start - from;
		if (op->start + op->dur > from)
			from = op->start + op->dur;
	}
	return from < until ? idle + until - from : idle;
}

/* The window holds what was chosen: work may begin in it and end behind it. */
static void look_around(const struct gt_filter *filter, struct gt_device_use *use)
{
	gt_filter_window(filter, use->model, &use->from, &use->until);
	if (!is_used(use) || use->from > use->first)
		use->from = use->first;
	if (!is_used(use) || use->until < use->last)
		use->until = use->last;
	use->before = idle_between(use, use->from, use->first);
	use->after = idle_between(use, use->last, use->until);
}

static int use_of(const struct gt_filter *filter, struct gt_device_use *use)
{
	int64_t last = INT64_MAX; /* end of what ran before, chosen or not */
	struct sets sets = {0};
	int rc = 0;

	for (uint32_t i = 0; !rc && i < use->track->count; i++) {
		const struct gt_op *op = gt_model_op_of(use->model, use->track, i);

		if (gt_filter_op(filter, use->model, op)) {
			if (is_used(use) && op->start > last)
				use->idle += op->start - last;
			if (!add_op(&sets, use, op))
				rc = -ENOMEM;
		}
		if (last == INT64_MAX || op->start + op->dur > last)
			last = op->start + op->dur;
	}
	measure(&sets, use);
	look_around(filter, use);
	return rc;
}

/* Places in the header's list, + 1, by the numbers of devices. */
static int index_names(const struct gt_header *header, struct gt_keymap *places)
{
	for (size_t i = 0; i < header->device_count; i++) {
		int64_t id = header->devices[i].id;
		struct gt_keymap_entry *place;

		if (id < 0 || id > UINT16_MAX)
			continue;
		place = gt_keymap_get(places, (uint64_t)id + 1);
		if (!place)
			return -ENOMEM;
		if (!place->value)
			place->value = (int64_t)i + 1;
	}
	return 0;
}

static const char *device_name(const struct gt_header *header, const struct gt_keymap *places,
			       uint16_t device)
{
	const struct gt_keymap_entry *place = gt_keymap_find(places, (uint64_t)device + 1);

	return place ? header->devices[place->value - 1].name : "";
}

/* The devices that a model's operations ran on. */
static int add_devices(const struct gt_model *model, struct gt_device_use **uses, size_t *count,
		       size_t *room)
{
	const struct gt_header *header = &model->reading.header;
	struct gt_keymap places = {0};
	int rc = index_names(header, &places);

	for (size_t i = 0; !rc && i < model->devices.count; i++) {
		const struct gt_device_track *track = &model->devices.at[i];

		if (!gt_vec_reserve((void **)uses, room, *count, sizeof(**uses)))
			rc = -ENOMEM;
		else
			(*uses)[(*count)++] = (struct gt_device_use){
				.model = model,
				.track = track,
				.device = track->device,
				.name = device_name(header, &places, track->device)};
	}
	gt_keymap_fini(&places);
	return rc;
}

int gt_stats_devices(const struct gt_job *job, const struct gt_filter *filter,
		     struct gt_device_use **ret_uses)
{
	struct gt_device_use *uses = NULL;
	size_t count = 0, room = 0;
	int rc = 0;

	for (size_t f = 0; !rc && f < job->count; f++)
		rc = add_devices(&job->models[f], &uses, &count, &room);
	for (size_t i = 0; !rc && i < count; i++)
		rc = use_of(filter, &uses[i]);
	if (rc < 0) {
		free(uses);
		return rc;
	}
	*ret_uses = uses;
	return (int)count;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * The use of each device (see stats.h). Pure over constant models.
 */
#include "analysis/stats.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/cover.h"
#include "readers/keymap.h"

/* The times that one device's use is made of. */
struct covers {
	struct gt_cover all, kernel, copy, comm, compute, graph;
};

static bool is_used(const struct gt_device_use *use)
{
	for (int kind = 0; kind < GT_OP_KIND_COUNT_; kind++)
		if (use->count[kind])
			return true;
	return false;
}

/* Adds to one of two covers, and what it has in common with the other one. */
static void add_to(struct gt_cover *to, const struct gt_cover *other, int64_t *common,
		   const struct gt_op *op)
{
	int64_t end = op->start + op->dur;
	int64_t from = gt_cover_add(to, op->start, end);

	*common += gt_cover_common(other, from, end);
}

static void add_kernel(struct covers *c, struct gt_device_use *use, const struct gt_op *op)
{
	int64_t end = op->start + op->dur, from = gt_cover_add(&c->kernel, op->start, end);

	use->kernel_copy += gt_cover_common(&c->copy, from, end);
	use->kernel_graph += gt_cover_common(&c->graph, from, end);
	if (op->comm)
		add_to(&c->comm, &c->compute, &use->compute_comm, op);
	else
		add_to(&c->compute, &c->comm, &use->compute_comm, op);
}

static void add_op(struct covers *c, struct gt_device_use *use, const struct gt_op *op)
{
	int64_t end = op->start + op->dur;

	if (!is_used(use)) {
		use->first = op->start;
		use->last = end;
	}
	use->count[op->kind]++;
	if (end > use->last)
		use->last = end;
	gt_cover_add(&c->all, op->start, end);
	if (op->kind == GT_OP_KERNEL)
		add_kernel(c, use, op);
	else if (op->kind == GT_OP_GRAPH)
		add_to(&c->graph, &c->kernel, &use->kernel_graph, op);
	else
		add_to(&c->copy, &c->kernel, &use->kernel_copy, op);
}

static void take_totals(const struct covers *c, struct gt_device_use *use)
{
	use->busy = c->all.total;
	use->kernel = c->kernel.total;
	use->copy = c->copy.total;
	use->comm = c->comm.total;
	use->graph = c->graph.total;
}

/* When nothing ran between two times. Operations are in the order of their starts. */
static int64_t idle_between(const struct gt_device_use *use, int64_t from, int64_t until)
{
	int64_t idle = 0;

	for (uint32_t i = 0; i < use->track->count && from < until; i++) {
		const struct gt_op *op = gt_model_device_op(use->model, use->track, i);

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

static void measure(const struct gt_filter *filter, struct gt_device_use *use)
{
	int64_t last = INT64_MAX; /* end of what ran before, chosen or not */
	struct covers covers = {GT_COVER_EMPTY, GT_COVER_EMPTY, GT_COVER_EMPTY,
				GT_COVER_EMPTY, GT_COVER_EMPTY, GT_COVER_EMPTY};

	for (uint32_t i = 0; i < use->track->count; i++) {
		const struct gt_op *op = gt_model_device_op(use->model, use->track, i);

		if (gt_filter_op(filter, use->model, op)) {
			if (is_used(use) && op->start > last)
				use->idle += op->start - last;
			add_op(&covers, use, op);
		}
		if (last == INT64_MAX || op->start + op->dur > last)
			last = op->start + op->dur;
	}
	take_totals(&covers, use);
	look_around(filter, use);
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
	if (rc < 0) {
		free(uses);
		return rc;
	}
	for (size_t i = 0; i < count; i++)
		measure(filter, &uses[i]);
	*ret_uses = uses;
	return (int)count;
}

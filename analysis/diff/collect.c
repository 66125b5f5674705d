/* SPDX-License-Identifier: Apache-2.0
 *
 * See collect.h. One thread per set of rows.
 */
#include "analysis/diff/collect.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analysis/intervals.h"
#include "analysis/key.h"
#include "analysis/key_group.h"
#include "trace/user_code.h"

#define KEY_TEXT 4096
#define STREAMS  256 /* whose last operation is remembered at once */

/* Adds to the sum of one row in one unit. */
static int add_to(struct gt_group *group, int s, int64_t unit, int64_t ns)
{
	struct gt_dist *sums;

	if (!group)
		return -ENOMEM;
	sums = &group->other[s];
	group->tag[s]++;
	if (sums->count && sums->at[sums->count - GT_DIFF_TRIPLE] == unit) {
		sums->at[sums->count - 2] += ns;
		sums->at[sums->count - 1]++;
		return 0;
	}
	/* all in sums->at, where they are looked up */
	return gt_vec_push(sums, unit) && gt_vec_push(sums, ns) && gt_vec_push(sums, 1) ? 0
											: -ENOMEM;
}

static int by_unit(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return x[0] < y[0] ? -1 : x[0] > y[0];
}

void gt_diff_sum_units(struct gt_dist *triples)
{
	const size_t w = GT_DIFF_TRIPLE;
	int64_t *at = triples->at;
	size_t kept = 0;

	if (!triples->count)
		return;
	qsort(at, triples->count / w, w * sizeof(*at), by_unit);
	for (size_t i = w; i < triples->count; i += w) {
		if (at[i] == at[kept]) {
			at[kept + 1] += at[i + 1];
			at[kept + 2] += at[i + 2];
			continue;
		}
		kept += w;
		memcpy(&at[kept], &at[i], w * sizeof(*at));
	}
	triples->count = kept + w;
}

/* The last operation of each stream, so that the next one knows its neighbour. */
struct neighbours {
	struct {
		uint64_t stream;
		uint32_t row; /* + 1 */
	} last[STREAMS];
};

static int find_origin(struct gt_diff_rows *rows, const struct gt_model *model,
		       const struct gt_op *op, struct neighbours *near, uint32_t row, bool is_first)
{
	uint64_t stream = (uint64_t)op->device << 32 | (uint32_t)op->stream;
	size_t slot = (stream ^ stream >> 32) % STREAMS;
	uint32_t before = near->last[slot].stream == stream ? near->last[slot].row : 0;
	struct gt_diff_origin *origins;

	while (rows->origins.count <= row)
		if (!gt_vec_push(&rows->origins, ((struct gt_diff_origin){0})))
			return -ENOMEM;
	origins = rows->origins.at;
	near->last[slot].stream = stream;
	near->last[slot].row = row + 1;
	if (before && !origins[before - 1].behind)
		origins[before - 1].behind = row + 1;
	if (is_first) {
		char line[KEY_TEXT];

		gt_key_of_op(model, op, GT_KEY_LINE, line, sizeof(line));
		origins[row].before = before;
		if (strcmp(line, GT_KEY_UNKNOWN) != 0)
			origins[row].line = gt_names_put(&rows->lines, line, strlen(line));
	}
	return 0;
}

/* Whose code the frame of a line is, by the first operation that it launched. */
static int note_frame(struct gt_diff_rows *rows, const struct gt_model *model,
		      const struct gt_op *op, uint32_t row)
{
	uint32_t name;
	enum gt_diff_frame frame = GT_DIFF_FRAME_INNERMOST;

	if (row < rows->frames.count)
		return 0;
	name = gt_key_launching(model, op->stack);
	if (name == GT_NAME_NONE)
		name = gt_key_launching_range(model, gt_model_call_of(model, op));
	if (name == GT_NAME_NONE)
		frame = GT_DIFF_FRAME_NONE;
	else if (model->ranks && gt_user_code_rank_of(model, name) & GT_FRAME_USER)
		frame = GT_DIFF_FRAME_USER;
	return gt_vec_push(&rows->frames, (uint8_t)frame) ? 0 : -ENOMEM;
}

static int ops_of_rank(struct gt_diff_rows *rows, const struct gt_diff_sides *sides, int s,
		       const struct gt_diff_rank *rank, enum gt_key key)
{
	const struct gt_model *model = rank->model;
	struct neighbours near = {0};
	struct gt_keymap known = {0};
	int rc = 0;

	for (size_t i = 0; !rc && i < model->ops.count; i++) {
		const struct gt_op *op = gt_model_op_at(model, i);
		int64_t unit = gt_diff_unit_of_op(sides, rank, op);
		struct gt_group *group;

		if (unit < 0 || !gt_diff_counts(rank, i))
			continue;
		group = gt_key_group(model, op, key, &known, &rows->groups);
		if (!group)
			rc = -ENOMEM;
		else if (key == GT_KEY_LINE)
			rc = note_frame(rows, model, op, (uint32_t)(group - rows->groups.list.at));
		else if (key == GT_KEY_KERNEL)
			rc = find_origin(rows, model, op, &near,
					 (uint32_t)(group - rows->groups.list.at),
					 !group->tag[0] && !group->tag[1]);
		if (!rc)
			rc = add_to(group, s, unit, op->dur);
	}
	gt_keymap_fini(&known);
	return rc;
}

static int calls_of_rank(struct gt_diff_rows *rows, const struct gt_diff_sides *sides, int s,
			 const struct gt_diff_rank *rank)
{
	const struct gt_model *model = rank->model;
	int rc = 0;

	for (size_t i = 0; !rc && i < model->calls.count; i++) {
		const struct gt_call *call = gt_model_call_at(model, i);
		int64_t unit = gt_diff_unit_of_call(sides, rank, call);

		if (unit >= 0 && gt_filter_call(&rank->chosen, call))
			rc = add_to(gt_groups_get(&rows->groups, gt_model_name(model, call->name)),
				    s, unit, call->dur);
	}
	return rc;
}

/* The GPU time of a unit, whose operations are in @busy; of chosen work no more than that. */
static int add_busy(struct gt_diff_rows *rows, const struct gt_diff_sides *sides, int s,
		    int64_t unit, struct gt_intervals *busy)
{
	const char *name = sides->is_chosen ? "GPU busy (filtered)" : "GPU busy";

	gt_intervals_merge(busy);
	return add_to(gt_groups_get(&rows->groups, name), s, unit, gt_intervals_total(busy));
}

/* How long a unit took on the host, and of that the GPU was idle: @busy, all of the rank. */
static int add_time(struct gt_diff_rows *rows, const struct gt_diff_sides *sides, int s,
		    int64_t unit, const struct gt_intervals *busy, int64_t start, int64_t end)
{
	struct gt_groups *groups = &rows->groups;
	const char *whole =
		sides->stepped ? "time per step" : "time from first to last GPU operation";
	int rc;

	if (sides->is_chosen)
		return 0;
	rc = add_to(gt_groups_get(groups, whole), s, unit, end - start);
	if (!rc && !gt_groups_get(groups, "GPU busy")) /* its place among the rows */
		rc = -ENOMEM;
	if (!rc)
		rc = add_to(gt_groups_get(groups, "GPU idle"), s, unit,
			    end - start - gt_intervals_within(busy, start, end));
	return rc;
}

/* Those of each unit of the rank, as gpu_step_use has them: of a step what was launched in it. */
static int busy_by_unit(const struct gt_diff_sides *sides, const struct gt_diff_rank *rank,
			struct gt_intervals *units, struct gt_intervals *all)
{
	const struct gt_model *model = rank->model;

	for (size_t i = 0; i < model->ops.count; i++) {
		const struct gt_op *op = gt_model_op_at(model, i);
		int64_t end = op->start + op->dur, unit = rank->first;

		if (!gt_diff_counts(rank, i))
			continue;
		if (!gt_intervals_add(all, op->start, end))
			return -ENOMEM;
		if (sides->stepped)
			unit = gt_diff_unit_of_op(sides, rank, op);
		if (unit >= 0 && !gt_intervals_add(&units[unit - rank->first], op->start, end))
			return -ENOMEM;
	}
	gt_intervals_merge(all);
	return 0;
}

static int steps_of_rank(struct gt_diff_rows *rows, const struct gt_diff_sides *sides, int s,
			 const struct gt_diff_rank *rank, struct gt_intervals *units,
			 const struct gt_intervals *all)
{
	const struct gt_model *model = rank->model;
	int rc = 0;

	for (uint32_t i = 0; !rc && i < model->ranges.count; i++) {
		const struct gt_model_range *range = &model->ranges.at[i];
		uint32_t number = rank->unit_of_range[i];
		int64_t unit = (int64_t)rank->first + number - 1;

		if (!number)
			continue;
		rc = add_time(rows, sides, s, unit, all, range->start, range->start + range->dur);
		if (!rc)
			rc = add_busy(rows, sides, s, unit, &units[number - 1]);
	}
	return rc;
}

static int overview_of_rank(struct gt_diff_rows *rows, const struct gt_diff_sides *sides, int s,
			    const struct gt_diff_rank *rank)
{
	struct gt_intervals *units = calloc(rank->units + 1, sizeof(*units)), all = {0};
	int rc = units ? busy_by_unit(sides, rank, units, &all) : -ENOMEM;

	if (!rc && sides->stepped) {
		rc = steps_of_rank(rows, sides, s, rank, units, &all);
	} else if (!rc && all.count && rank->units) {
		rc = add_time(rows, sides, s, rank->first, &all, all.at[0].start,
			      all.at[all.count - 1].end);
		if (!rc)
			rc = add_busy(rows, sides, s, rank->first, &units[0]);
	}
	for (uint32_t i = 0; units && i < rank->units; i++)
		gt_intervals_fini(&units[i]);
	gt_intervals_fini(&all);
	free(units);
	return rc;
}

static bool same_process(const struct gt_diff_rank *a, const struct gt_diff_rank *b)
{
	return a->model->pid >= 0 && a->model->pid == b->model->pid;
}

/* Process ids differ from run to run: processes of one rank are numbered, and the windows of each.
 */
static void name_rank(const struct gt_diff_side *side, const struct gt_diff_rank *rank, char *out,
		      size_t size)
{
	const struct gt_diff_rank *last = NULL;
	char number[32] = "", part[32] = "";
	int process = 1, window = 1;

	for (const struct gt_diff_rank *other = side->ranks.at; other <= rank; other++) {
		if (other->run != rank->run || other->model->rank != rank->model->rank)
			continue;
		if (last && same_process(last, other)) {
			window++;
		} else {
			process += last != NULL;
			window = 1;
		}
		last = other;
	}
	if (process > 1)
		snprintf(number, sizeof(number), " process %d", process);
	if (window > 1)
		snprintf(part, sizeof(part), " window %d", window);
	snprintf(out, size, "rank %d%s%s: GPU work without communication", rank->model->rank,
		 number, part);
}

/* Its GPU work but for communication, in which ranks wait for each other. */
static int work_of_rank(struct gt_diff_rows *rows, const struct gt_diff_sides *sides, int s,
			const struct gt_diff_rank *rank)
{
	const struct gt_model *model = rank->model;
	char name[256];
	int rc = 0;

	name_rank(&sides->side[s], rank, name, sizeof(name));
	for (size_t i = 0; !rc && i < model->ops.count; i++) {
		const struct gt_op *op = gt_model_op_at(model, i);
		int64_t unit = gt_diff_unit_of_op(sides, rank, op);

		if (unit >= 0 && !op->comm && gt_diff_counts(rank, i))
			rc = add_to(gt_groups_get(&rows->groups, name), s, unit, op->dur);
	}
	return rc;
}

static int collect_rank(struct gt_diff_rows *rows, const struct gt_diff_sides *sides, int s,
			const struct gt_diff_rank *rank, enum gt_diff_table which)
{
	switch (which) {
	case GT_DIFF_OVERVIEW:
		rows->of_time = true;
		return overview_of_rank(rows, sides, s, rank);
	case GT_DIFF_RANKS:
		return work_of_rank(rows, sides, s, rank);
	case GT_DIFF_KERNELS:
		return ops_of_rank(rows, sides, s, rank, GT_KEY_KERNEL);
	case GT_DIFF_LINES:
		return ops_of_rank(rows, sides, s, rank, GT_KEY_LINE);
	case GT_DIFF_OPS:
		return ops_of_rank(rows, sides, s, rank, GT_KEY_OP);
	default:
		return calls_of_rank(rows, sides, s, rank);
	}
}

/* A job of one rank is compared with one of another. */
static bool has_ranks(const struct gt_diff_rows *rows)
{
	size_t count[2] = {0, 0};

	for (size_t i = 0; i < rows->groups.list.count; i++)
		for (int s = 0; s < 2; s++)
			count[s] += rows->groups.list.at[i].tag[s] > 0;
	return count[0] > 1 || count[1] > 1;
}

/* Whether the rows tell more than one that stands for "not known", or for the only rank. */
static bool says_something(const struct gt_diff_rows *rows, enum gt_diff_table which)
{
	const char *nothing = which == GT_DIFF_LINES ? GT_KEY_UNKNOWN
			      : which == GT_DIFF_OPS ? "(no operator)"
						     : NULL;

	if (which == GT_DIFF_RANKS)
		return has_ranks(rows);
	for (size_t i = 0; i < rows->groups.list.count; i++)
		if (!nothing ||
		    strcmp(gt_group_name(&rows->groups, &rows->groups.list.at[i]), nothing) != 0)
			return true;
	return false;
}

int gt_diff_collect(struct gt_diff_rows *ret_rows, const struct gt_diff_sides *sides,
		    enum gt_diff_table which)
{
	struct gt_diff_rows *rows = ret_rows;
	int rc;

	*rows = (struct gt_diff_rows){.of_one_rank = which == GT_DIFF_RANKS};
	rc = gt_groups_init(&rows->groups);
	if (!rc)
		rc = gt_names_init(&rows->lines);
	for (int s = 0; s < 2; s++)
		for (size_t i = 0; !rc && i < sides->side[s].ranks.count; i++)
			rc = collect_rank(rows, sides, s, &sides->side[s].ranks.at[i], which);
	if (!rc && !says_something(rows, which)) {
		gt_diff_rows_fini(rows);
		return gt_groups_init(&rows->groups);
	}
	for (size_t i = 0; !rc && i < rows->groups.list.count; i++)
		for (int s = 0; s < 2; s++)
			gt_diff_sum_units(&rows->groups.list.at[i].other[s]);
	return rc;
}

void gt_diff_rows_fini(struct gt_diff_rows *rows)
{
	gt_groups_fini(&rows->groups);
	gt_vec_free(&rows->origins);
	gt_vec_free(&rows->frames);
	gt_names_fini(&rows->lines);
	*rows = (struct gt_diff_rows){0};
}

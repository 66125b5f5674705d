/* SPDX-License-Identifier: Apache-2.0
 *
 * See rows.h.
 */
#include "transform/job/rows.h"

#define HOST_PID_GAP ((int64_t)1 << 22) /* larger than any pid */

static bool is_taken(const struct gt_merge_rows *rows, int64_t merged)
{
	return gt_pairmap_find(&rows->taken, merged, 0);
}

/* The first free one of the numbers @merged, @merged + @step, ... Who asks for the same again does
 * not go the same long way: each number on it learns where it ended. False: no memory. */
static bool find_free(struct gt_merge_rows *rows, int64_t merged, int64_t step, int64_t *ret_free)
{
	int64_t end = merged, *next;

	while (is_taken(rows, end)) {
		next = gt_pairmap_find(&rows->taken, end, step);
		end = next ? *next : end + step;
	}
	while (merged != end) {
		next = gt_pairmap_get(&rows->taken, merged, step);
		if (!next)
			return false;
		merged = *next ? *next : merged + step;
		*next = end;
	}
	*ret_free = end;
	return gt_pairmap_get(&rows->taken, end, 0);
}

struct gt_merge_row *gt_merge_rows_find(struct gt_merge_rows *rows, size_t process, int64_t pid)
{
	struct gt_merge_row row = {.process = process, .pid = pid};
	int64_t *place = gt_pairmap_get(&rows->of, (int64_t)process, pid);

	if (!place)
		return NULL;
	if (*place)
		return &rows->all.at[*place - 1];
	if (!find_free(rows, pid, pid < GT_MERGE_FIRST_HOST ? 1 : HOST_PID_GAP, &row.merged) ||
	    !gt_vec_push(&rows->all, row))
		return NULL;
	*place = (int64_t)rows->all.count;
	return &rows->all.at[rows->all.count - 1];
}

int64_t gt_merge_row_place(const struct gt_merge_row *row)
{
	int64_t pid = row->is_inner ? row->was : row->pid;
	int64_t below = pid < GT_MERGE_FIRST_HOST ? 1 + pid : 0;

	return (int64_t)(row->is_inner ? row->owner : row->process) * (GT_MERGE_FIRST_HOST + 1) +
	       below;
}

void gt_merge_rows_fini(struct gt_merge_rows *rows)
{
	gt_vec_free(&rows->all);
	gt_pairmap_fini(&rows->of);
	gt_pairmap_fini(&rows->taken);
}

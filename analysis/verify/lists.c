/* SPDX-License-Identifier: Apache-2.0
 *
 * What the checks of several events look at, each list in the order that they need. One thread.
 */
#include <errno.h>

#include "analysis/verify/state.h"
#include "core/json/flow_id.h"

_Static_assert(GT_VERIFY_ROLE_COUNT_ <= 16, "a role is packed into 4 bits");

#define ORDER(a, b)                                                                                \
	do {                                                                                       \
		if ((a) != (b))                                                                    \
			return (a) < (b) ? -1 : 1;                                                 \
	} while (0)

static int by_track(const struct gt_verify_item *x, const struct gt_verify_item *y)
{
	ORDER(x->pid, y->pid);
	ORDER(x->tid, y->tid);
	ORDER(x->ts, y->ts);
	ORDER(y->dur, x->dur);
	ORDER(x->line, y->line);
	return 0;
}

/* A file may be a single line: then track and time say which call is the first. */
static int by_call(const struct gt_verify_item *x, const struct gt_verify_item *y)
{
	ORDER(x->id, y->id);
	ORDER(x->role != GT_VERIFY_CALL, y->role != GT_VERIFY_CALL);
	ORDER(x->line, y->line);
	ORDER(x->pid, y->pid);
	ORDER(x->tid, y->tid);
	ORDER(x->ts, y->ts);
	return 0;
}

static int by_flow(const struct gt_verify_item *x, const struct gt_verify_item *y)
{
	ORDER(gt_flow_id_call(x->id), gt_flow_id_call(y->id));
	ORDER(x->id, y->id);
	ORDER(x->role != GT_VERIFY_FLOW_START, y->role != GT_VERIFY_FLOW_START);
	ORDER(x->line, y->line);
	return 0;
}

static int by_external(const struct gt_verify_item *x, const struct gt_verify_item *y)
{
	ORDER(x->id, y->id);
	ORDER(x->role != GT_VERIFY_OPERATOR, y->role != GT_VERIFY_OPERATOR);
	ORDER(x->line, y->line);
	return 0;
}

static const struct gt_verify_order orders[GT_VERIFY_LISTS] = {
	[GT_VERIFY_BY_TRACK] = {.compare = by_track, .with_dur = true, .by_track = true},
	[GT_VERIFY_BY_CALL] = {.compare = by_call, .with_id = true},
	[GT_VERIFY_FLOWS] = {.compare = by_flow, .with_id = true},
	[GT_VERIFY_EXTERNALS] = {.compare = by_external, .with_id = true},
};

bool gt_verify_is_gpu(uint32_t role)
{
	return role >= GT_VERIFY_KERNEL && role <= GT_VERIFY_SYNC;
}

int gt_verify_take_slice(struct gt_verify *v, const struct gt_verify_item *slice)
{
	bool has_call = slice->id > 0 || (!slice->id && gt_verify_is_gpu(slice->role));

	if (gt_verify_sorted_add(&v->lists[GT_VERIFY_BY_TRACK], slice))
		return -ENOMEM;
	return has_call ? gt_verify_sorted_add(&v->lists[GT_VERIFY_BY_CALL], slice) : 0;
}

void gt_verify_begin_lists(struct gt_verify *v)
{
	for (int list = 0; list < GT_VERIFY_LISTS; list++)
		v->lists[list].order = &orders[list];
}

int gt_verify_end_lists(struct gt_verify *v)
{
	for (int list = 0; list < GT_VERIFY_LISTS; list++)
		if (gt_verify_sorted_end(&v->lists[list]))
			return -ENOMEM;
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Strings, stacks and open launches out of a spool into stores of this process. One thread; what
 * the spool says may be anything.
 */
#ifndef GT_PIPELINE_REPLAY_STORES_H
#define GT_PIPELINE_REPLAY_STORES_H

#include "core/guest/memory.h"
#include "core/intern.h"
#include "core/spool_view.h"
#include "core/stack.h"

struct gt_correlate;
struct gt_correlate_answers;

/* Given: the first four; the rest is made by _init. */
struct gt_replay_stores {
	const struct gt_spool_view *view;
	struct gt_intern *strings;
	struct gt_stacks *stacks;
	bool has_trace; /* another file, with the calls that are in no ring any more */
	struct gt_arena frames;
	const struct gt_stack **by_id;
};

/* -ENOMEM: _fini is still due. */
int gt_replay_stores_init(struct gt_replay_stores *stores);

/* Frees frames, too: no stack may be asked for any more. Also of a zeroed struct. */
void gt_replay_stores_fini(struct gt_replay_stores *stores);

/* All stacks, under their old numbers. */
void gt_replay_stores_stacks(struct gt_replay_stores *stores);

/* All launches whose work had not come, into @calls. @counted: those of which it had, and does not
 * come again. Behind the stacks. */
void gt_replay_stores_launches(struct gt_replay_stores *stores, struct gt_correlate *calls,
			       const struct gt_correlate_answers *counted);

/* Our copy of a string of the spool; NULL: there is none. */
const struct gt_string *gt_replay_stores_string(const struct gt_replay_stores *stores,
						const struct gt_string *pointer);

/* Likewise a stack, behind _stacks, and a frame. */
const struct gt_stack *gt_replay_stores_stack(const struct gt_replay_stores *stores,
					      const struct gt_stack *pointer);
const struct gt_stack_frame *gt_replay_stores_frame(struct gt_replay_stores *stores,
						    const struct gt_stack_frame *pointer);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "pipeline/replay/stores.h"

#include <errno.h>
#include <string.h>

#include "core/correlate.h"

#define STACK_MAX  4096u      /* frames of a stack, more than any has */
#define STACKS_MAX (1u << 20) /* ids that can be found again */

int gt_replay_stores_init(struct gt_replay_stores *r)
{
	gt_arena_init(&r->frames, 0);
	r->by_id = gt_memory_map(STACKS_MAX * sizeof(*r->by_id));
	return r->by_id ? 0 : -ENOMEM;
}

void gt_replay_stores_fini(struct gt_replay_stores *r)
{
	gt_arena_fini(&r->frames);
	gt_memory_unmap(r->by_id, STACKS_MAX * sizeof(*r->by_id));
}

const struct gt_string *gt_replay_stores_string(const struct gt_replay_stores *r,
						const struct gt_string *pointer)
{
	const struct gt_string *string = gt_spool_view_string(r->view, pointer);

	return string ? gt_intern_get(r->strings, string->text, string->length) : NULL;
}

const struct gt_stack_frame *gt_replay_stores_frame(struct gt_replay_stores *r,
						    const struct gt_stack_frame *pointer)
{
	const struct gt_stack_frame *from =
		gt_spool_view_at(r->view, gt_spool_address(pointer), sizeof(*from));
	struct gt_stack_frame *frame = from ? gt_arena_get(&r->frames, sizeof(*frame)) : NULL;
	uint32_t kind;

	if (!frame)
		return NULL;
	memcpy(&kind, &from->kind, sizeof(kind));
	frame->kind = kind <= GT_FRAME_JIT ? (enum gt_frame_kind)kind : GT_FRAME_NATIVE;
	frame->function = gt_replay_stores_string(r, from->function);
	frame->module = gt_replay_stores_string(r, from->module);
	frame->build_id = gt_replay_stores_string(r, from->build_id);
	frame->file = gt_replay_stores_string(r, from->file);
	frame->line = from->line;
	frame->offset = from->offset;
	frame->ours = gt_spool_bool(&from->ours);
	return frame;
}

/* A stack some of whose frames are not here is not here. */
static void take_stack(void *context, uint64_t key, const struct gt_stack *from)
{
	static const struct gt_stack_frame *frames[STACK_MAX];
	struct gt_replay_stores *r = context;
	const struct gt_stack *stack;

	if (!from->count || from->count > STACK_MAX || from->id >= STACKS_MAX)
		return;
	for (uint32_t i = 0; i < from->count; i++) {
		frames[i] = gt_replay_stores_frame(r, from->frames[i]);
		if (!frames[i])
			return;
	}
	stack = gt_stacks_restore(r->stacks, key, from->id, frames, from->count);
	if (stack)
		r->by_id[from->id] = stack;
}

const struct gt_stack *gt_replay_stores_stack(const struct gt_replay_stores *r,
					      const struct gt_stack *pointer)
{
	const struct gt_stack *from =
		gt_spool_view_at(r->view, gt_spool_address(pointer), sizeof(*from));

	return from && from->id < STACKS_MAX ? r->by_id[from->id] : NULL;
}

void gt_replay_stores_stacks(struct gt_replay_stores *r)
{
	gt_stacks_each(r->view, take_stack, r);
}

struct launches {
	struct gt_replay_stores *stores;
	struct gt_correlate *calls;
};

static void take_launch(void *context, const struct gt_correlate_call *from)
{
	const struct launches *launches = context;
	struct gt_replay_stores *r = launches->stores;
	struct gt_correlate_call call = *from;

	call.launch = (struct gt_launch){
		.known = gt_spool_bool(&from->launch.known),
		.first = gt_spool_bool(&from->launch.first),
		.tid = from->launch.tid,
		.start = r->has_trace ? from->launch.start : 0, /* of a ring: known when replayed */
		.stack = gt_replay_stores_stack(r, from->launch.stack),
		.nvtx = gt_replay_stores_string(r, from->launch.nvtx),
		.range = from->launch.range,
		.op = from->launch.op,
		.library = from->launch.library,
		.forward = gt_replay_stores_stack(r, from->launch.forward),
		.governed = gt_spool_bool(&from->launch.governed),
		.left_out = gt_spool_bool(&from->launch.left_out),
	};
	gt_correlate_restore(launches->calls, &call);
}

void gt_replay_stores_launches(struct gt_replay_stores *r, struct gt_correlate *calls,
			       const struct gt_correlate_answers *counted)
{
	struct launches launches = {.stores = r, .calls = calls};

	gt_correlate_inherit(calls, r->view, counted);
	gt_correlate_each(r->view, take_launch, &launches);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Stacks of calls as nested slices, see the header. Drain thread only.
 */
#include "pipeline/sources/stack_lane.h"

#include "core/guest/memory.h"
#include "core/stack.h"

#define BUCKETS 256u

/* A slice that is still growing. */
struct level {
	const struct gt_stack_frame *frame; /* of its newest call */
	uint64_t start;                     /* trace ns */
	uint64_t calls_before;              /* of the thread, when it began */
	uint32_t first_line, last_line;
};

struct lane_thread {
	struct lane_thread *next; /* in its bucket, or free */
	const struct gt_stack *stack;
	uint64_t end;   /* of the newest call, trace ns */
	uint64_t calls; /* so far */
	uint32_t tid;
	uint32_t count; /* levels, outermost first */
	struct level levels[];
};

struct gt_stack_lane {
	struct gt_arena arena;
	struct lane_thread *threads[BUCKETS];
	struct lane_thread *free;
	gt_stack_lane_emit_fn emit;
	void *context;
	uint64_t lost;
	uint32_t depth;
};

struct gt_stack_lane *gt_stack_lane_new(uint32_t depth, size_t max_bytes,
					gt_stack_lane_emit_fn emit, void *context)
{
	struct gt_stack_lane *lane = gt_memory_map(sizeof(*lane));

	if (!lane)
		return NULL;
	gt_arena_init(&lane->arena, max_bytes);
	lane->depth = depth;
	lane->emit = emit;
	lane->context = context;
	return lane;
}

void gt_stack_lane_free(struct gt_stack_lane *lane)
{
	if (!lane)
		return;
	gt_arena_fini(&lane->arena);
	gt_memory_unmap(lane, sizeof(*lane));
}

uint64_t gt_stack_lane_lost(const struct gt_stack_lane *lane)
{
	return lane->lost;
}

static struct lane_thread **slot_of(struct gt_stack_lane *lane, uint32_t tid)
{
	struct lane_thread **slot = &lane->threads[tid % BUCKETS];

	while (*slot && (*slot)->tid != tid)
		slot = &(*slot)->next;
	return slot;
}

/* NULL: no room. */
static struct lane_thread *thread_of(struct gt_stack_lane *lane, uint32_t tid)
{
	struct lane_thread **slot = slot_of(lane, tid), *thread = *slot;

	if (thread)
		return thread;
	thread = lane->free;
	if (thread)
		lane->free = thread->next;
	else
		thread = gt_arena_get(&lane->arena,
				      sizeof(*thread) + lane->depth * sizeof(thread->levels[0]));
	if (!thread)
		return NULL;
	*thread = (struct lane_thread){.tid = tid};
	*slot = thread;
	return thread;
}

static bool same_function(const struct gt_stack_frame *a, const struct gt_stack_frame *b)
{
	if (a == b)
		return true;
	if (a->kind != b->kind || a->function != b->function || a->module != b->module ||
	    a->file != b->file)
		return false;
	return a->function || a->offset == b->offset;
}

static bool same_place(const struct gt_stack_frame *a, const struct gt_stack_frame *b)
{
	return same_function(a, b) && a->line == b->line && a->offset == b->offset;
}

/* The frame at @depth, 0 the outermost. */
static const struct gt_stack_frame *frame_at(const struct gt_stack *stack, uint32_t depth)
{
	return stack->frames[stack->count - 1 - depth];
}

/* Levels that the call with @stack continues: behind a frame that stands at another place now, the
 * program has been in a different activation of whatever it called from there. */
static uint32_t count_common(const struct lane_thread *thread, const struct gt_stack *stack)
{
	uint32_t depth = 0;

	while (depth < thread->count && depth < stack->count) {
		const struct gt_stack_frame *before = thread->levels[depth].frame;
		const struct gt_stack_frame *now = frame_at(stack, depth);

		if (!same_function(before, now))
			break;
		depth++;
		if (!same_place(before, now))
			break;
	}
	return depth;
}

/* Ends the levels from @depth on, the outer one first: see begin_levels(). */
static void end_levels(struct gt_stack_lane *lane, struct lane_thread *thread, uint32_t depth)
{
	for (uint32_t i = depth; i < thread->count; i++) {
		const struct level *level = &thread->levels[i];
		struct gt_event event = {.kind = GT_EVENT_FRAME, .tid = thread->tid};

		event.start = level->start;
		event.end = thread->end;
		event.frame = (struct gt_frame_event){
			.frame = level->frame,
			.first_line = level->first_line,
			.last_line = level->last_line,
			.calls = thread->calls - level->calls_before,
		};
		lane->emit(lane->context, &event);
	}
	thread->count = depth;
}

/* An inner level begins a nanosecond behind the one around it, as far as the call is that long: it
 * may be over, and in the file, before that one, and of two slices with the same time readers take
 * the one that stands first for the outer one. */
static void begin_levels(struct gt_stack_lane *lane, struct lane_thread *thread,
			 const struct gt_event *call)
{
	/* a call that began earlier than the one before ended would cut its slices */
	uint64_t start = call->start > thread->end ? call->start : thread->end;

	while (thread->count < call->stack->count && thread->count < lane->depth) {
		const struct gt_stack_frame *frame = frame_at(call->stack, thread->count);

		thread->levels[thread->count++] = (struct level){
			.frame = frame,
			.start = start,
			.calls_before = thread->calls,
			.first_line = frame->line,
			.last_line = frame->line,
		};
		start += start < call->end;
	}
}

/* The innermost common level may go on at another line of its function. */
static void continue_level(struct level *level, const struct gt_stack_frame *frame)
{
	level->frame = frame;
	if (frame->line < level->first_line)
		level->first_line = frame->line;
	if (frame->line > level->last_line)
		level->last_line = frame->line;
}

static void change_stack(struct gt_stack_lane *lane, struct lane_thread *thread,
			 const struct gt_event *call)
{
	uint32_t common = count_common(thread, call->stack);

	end_levels(lane, thread, common);
	if (common)
		continue_level(&thread->levels[common - 1], frame_at(call->stack, common - 1));
	begin_levels(lane, thread, call);
	thread->stack = call->stack;
}

void gt_stack_lane_call(struct gt_stack_lane *lane, const struct gt_event *call)
{
	struct lane_thread *thread;

	if (!call->stack)
		return;
	thread = thread_of(lane, call->tid);
	if (!thread) {
		lane->lost++;
		return;
	}
	if (thread->stack != call->stack)
		change_stack(lane, thread, call);
	if (call->end > thread->end)
		thread->end = call->end;
	thread->calls++;
}

static void end_thread(struct gt_stack_lane *lane, struct lane_thread **slot)
{
	struct lane_thread *thread = *slot;

	end_levels(lane, thread, 0);
	*slot = thread->next;
	thread->next = lane->free;
	lane->free = thread;
}

void gt_stack_lane_thread_ended(struct gt_stack_lane *lane, uint32_t tid)
{
	struct lane_thread **slot = slot_of(lane, tid);

	if (*slot)
		end_thread(lane, slot);
}

void gt_stack_lane_finish(struct gt_stack_lane *lane)
{
	for (uint32_t i = 0; i < BUCKETS; i++)
		while (lane->threads[i])
			end_thread(lane, &lane->threads[i]);
}

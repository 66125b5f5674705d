/* SPDX-License-Identifier: Apache-2.0
 *
 * Tracks of call stacks: which calls share a slice, the order in which slices end, and what happens
 * to a track when its thread ends, memory is short, or calls are out of order.
 */
#include "pipeline/sources/stack_lane.h"

#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "core/intern.h"
#include "core/stack.h"

#define MAX_FRAMES 8u

static struct {
	struct gt_intern *strings;
	struct gt_event events[1024];
	uint32_t count;
} got;

static void take(void *context, const struct gt_event *event)
{
	cr_assert_eq(context, &got);
	cr_assert_eq(event->kind, GT_EVENT_FRAME);
	cr_assert_lt(got.count, 1024);
	got.events[got.count++] = *event;
}

static struct gt_stack_lane *make(uint32_t depth, size_t max_bytes)
{
	struct gt_stack_lane *lane = gt_stack_lane_new(depth, max_bytes, take, &got);

	cr_assert_not_null(lane);
	got.count = 0;
	got.strings = gt_intern_new(0);
	return lane;
}

/* A stack from "main:10 step:20 launch", outermost first; a frame without a line has an offset. */
static const struct gt_stack *stack_of(const char *text)
{
	static struct {
		struct gt_stack stack;
		const struct gt_stack_frame *frames[MAX_FRAMES];
	} stacks[256];
	static struct gt_stack_frame frames[1024];
	static uint32_t stack_count, frame_count;
	struct gt_stack *stack = &stacks[stack_count++].stack;
	const char *words[MAX_FRAMES];
	uint32_t count = 0;

	for (const char *at = text; at; at = strchr(at, ' ') ? strchr(at, ' ') + 1 : NULL)
		words[count++] = at;
	stack->id = stack_count;
	stack->count = count;
	for (uint32_t i = 0; i < count; i++) {
		struct gt_stack_frame *frame = &frames[frame_count++];
		size_t name = strcspn(words[i], ": ");

		frame->function = gt_intern_get(got.strings, words[i], name);
		frame->file = gt_intern_cstr(got.strings, "/opt/train.py");
		frame->kind = GT_FRAME_PYTHON;
		frame->line = words[i][name] == ':' ? (uint32_t)atoi(words[i] + name + 1) : 0;
		stack->frames[count - 1 - i] = frame;
	}
	return stack;
}

static void call(struct gt_stack_lane *lane, uint32_t tid, uint64_t start, uint64_t end,
		 const struct gt_stack *stack)
{
	struct gt_event event = {
		.kind = GT_EVENT_API, .tid = tid, .start = start, .end = end, .stack = stack};

	gt_stack_lane_call(lane, &event);
}

static void expect(uint32_t i, const char *function, uint64_t start, uint64_t end, uint64_t calls)
{
	const struct gt_event *event = &got.events[i];

	cr_assert_lt(i, got.count, "slice %u of %u", i, got.count);
	cr_assert_str_eq(event->frame.frame->function->text, function, "slice %u", i);
	cr_assert_eq(event->start, start, "%s starts at %lu", function, event->start);
	cr_assert_eq(event->end, end, "%s ends at %lu", function, event->end);
	cr_assert_eq(event->frame.calls, calls, "%s has %lu calls", function, event->frame.calls);
}

Test(stack_lane, common_frames_share_a_slice)
{
	struct gt_stack_lane *lane = make(64, 1 << 20);

	call(lane, 1, 10, 11, stack_of("main:1 step:5 forward:7"));
	call(lane, 1, 20, 22, stack_of("main:1 step:5 forward:8"));
	call(lane, 1, 30, 33, stack_of("main:1 step:6 backward:9"));
	cr_assert_eq(got.count, 1);
	expect(0, "forward", 11, 22, 2);
	cr_assert_eq(got.events[0].frame.first_line, 7);
	cr_assert_eq(got.events[0].frame.last_line, 8);
	gt_stack_lane_finish(lane);
	cr_assert_eq(got.count, 4);
	expect(1, "main", 10, 33, 3);
	expect(2, "step", 11, 33, 3);
	expect(3, "backward", 30, 33, 1);
	cr_assert_eq(got.events[2].frame.first_line, 5);
	cr_assert_eq(got.events[2].frame.last_line, 6);
	gt_stack_lane_free(lane);
}

/* An inner slice that ends first precedes the outer one in the file. */
Test(stack_lane, inner_slices_begin_later)
{
	struct gt_stack_lane *lane = make(64, 1 << 20);

	call(lane, 1, 100, 110, stack_of("main:1 step:5 forward:7"));
	call(lane, 1, 120, 130, stack_of("main:1 step:6 backward:7"));
	gt_stack_lane_finish(lane);
	expect(0, "forward", 102, 110, 1);
	expect(1, "main", 100, 130, 2);
	expect(2, "step", 101, 130, 2);
	expect(3, "backward", 120, 130, 1);
	gt_stack_lane_free(lane);
}

Test(stack_lane, another_line_outside_is_another_activation_inside)
{
	struct gt_stack_lane *lane = make(64, 1 << 20);

	call(lane, 1, 10, 11, stack_of("main:1 step:5"));
	call(lane, 1, 20, 21, stack_of("main:2 step:5"));
	gt_stack_lane_finish(lane);
	cr_assert_eq(got.count, 3);
	expect(0, "step", 11, 11, 1);
	expect(1, "main", 10, 21, 2);
	expect(2, "step", 20, 21, 1);
	gt_stack_lane_free(lane);
}

Test(stack_lane, deeper_and_shallower)
{
	struct gt_stack_lane *lane = make(64, 1 << 20);
	const struct gt_stack *shallow = stack_of("main:1");

	call(lane, 1, 10, 11, shallow);
	call(lane, 1, 12, 13, stack_of("main:1 step:5"));
	call(lane, 1, 14, 15, shallow);
	call(lane, 1, 16, 17, shallow);
	gt_stack_lane_finish(lane);
	cr_assert_eq(got.count, 2);
	expect(0, "step", 12, 13, 1);
	expect(1, "main", 10, 17, 4);
	gt_stack_lane_free(lane);
}

Test(stack_lane, nothing_in_common)
{
	struct gt_stack_lane *lane = make(64, 1 << 20);

	call(lane, 1, 10, 11, stack_of("main:1 step:5"));
	call(lane, 1, 12, 13, stack_of("other:1 step:5"));
	expect(0, "main", 10, 11, 1);
	expect(1, "step", 11, 11, 1);
	gt_stack_lane_finish(lane);
	cr_assert_eq(got.count, 4);
	gt_stack_lane_free(lane);
}

Test(stack_lane, calls_without_a_stack_change_nothing)
{
	struct gt_stack_lane *lane = make(64, 1 << 20);
	const struct gt_stack *stack = stack_of("main:1");

	call(lane, 1, 10, 11, NULL);
	call(lane, 1, 12, 13, stack);
	call(lane, 1, 14, 15, NULL);
	call(lane, 1, 16, 17, stack);
	gt_stack_lane_finish(lane);
	cr_assert_eq(got.count, 1);
	expect(0, "main", 12, 17, 2);
	gt_stack_lane_free(lane);
}

Test(stack_lane, threads_have_rows_of_their_own)
{
	struct gt_stack_lane *lane = make(64, 1 << 20);

	call(lane, 1, 10, 11, stack_of("main:1"));
	call(lane, 257, 10, 12, stack_of("work:1")); /* of the same bucket */
	call(lane, 1, 20, 21, stack_of("main:1"));
	gt_stack_lane_thread_ended(lane, 257);
	cr_assert_eq(got.count, 1);
	expect(0, "work", 10, 12, 1);
	cr_assert_eq(got.events[0].tid, 257);
	gt_stack_lane_thread_ended(lane, 257);
	cr_assert_eq(got.count, 1, "it is gone already");
	call(lane, 257, 30, 31, stack_of("again:1"));
	gt_stack_lane_finish(lane);
	cr_assert_eq(got.count, 3);
	expect(1, "main", 10, 21, 2);
	expect(2, "again", 30, 31, 1);
	gt_stack_lane_free(lane);
}

Test(stack_lane, times_out_of_order_are_put_in_order)
{
	struct gt_stack_lane *lane = make(64, 1 << 20);

	call(lane, 1, 10, 20, stack_of("main:1 a:1"));
	call(lane, 1, 15, 18, stack_of("main:1 b:1"));
	gt_stack_lane_finish(lane);
	expect(0, "a", 11, 20, 1);
	expect(1, "main", 10, 20, 2);
	expect(2, "b", 20, 20, 1);
	gt_stack_lane_free(lane);
}

Test(stack_lane, deeper_than_the_row)
{
	struct gt_stack_lane *lane = make(2, 1 << 20);

	call(lane, 1, 10, 11, stack_of("main:1 a:1 b:1 c:1"));
	call(lane, 1, 12, 13, stack_of("main:1 a:1 d:1"));
	gt_stack_lane_finish(lane);
	cr_assert_eq(got.count, 2);
	expect(0, "main", 10, 13, 2);
	expect(1, "a", 11, 13, 2);
	gt_stack_lane_free(lane);
}

Test(stack_lane, memory_is_bounded)
{
	struct gt_stack_lane *lane = make(64, 256 << 10);
	const struct gt_stack *stack = stack_of("main:1");
	uint64_t lost;

	for (uint32_t tid = 1; tid <= 1000; tid++)
		call(lane, tid, 10, 11, stack);
	lost = gt_stack_lane_lost(lane);
	cr_assert(lost > 0 && lost < 1000, "%lu", lost);
	gt_stack_lane_finish(lane);
	cr_assert_eq(got.count, 1000 - lost);
	call(lane, 5000, 20, 21, stack); /* tracks of ended threads are reused */
	cr_assert_eq(gt_stack_lane_lost(lane), lost);
	gt_stack_lane_free(lane);
}

/* Slices of a track never overlap partly, whatever the stacks; of equal ones the outer is first. */
Test(stack_lane, slices_nest)
{
	struct gt_stack_lane *lane = make(64, 1 << 20);
	static const char *const stacks[] = {"a:1",         "a:1 b:1",     "a:2 b:1",
					     "a:1 b:1 c:1", "a:1 b:2 c:1", "d:1 b:1 c:1",
					     "a:1 b:1 c:2"};
	const struct gt_stack *made[7];
	uint32_t random = 12345;

	for (int i = 0; i < 7; i++)
		made[i] = stack_of(stacks[i]);
	for (uint64_t t = 0; t < 300; t++) {
		random = random * 1664525u + 1013904223u;
		call(lane, 1, 10 * t, 10 * t + random % 10, made[(random >> 16) % 7]);
	}
	gt_stack_lane_finish(lane);
	cr_assert_gt(got.count, 300);
	for (uint32_t i = 0; i < got.count; i++)
		for (uint32_t j = 0; j < got.count; j++) {
			const struct gt_event *x = &got.events[i], *y = &got.events[j];

			cr_assert_not(x->start < y->start && y->start < x->end && x->end < y->end,
				      "%s %lu..%lu and %s %lu..%lu", x->frame.frame->function->text,
				      x->start, x->end, y->frame.frame->function->text, y->start,
				      y->end);
		}
	gt_stack_lane_free(lane);
}

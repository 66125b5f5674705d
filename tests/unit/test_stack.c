/* SPDX-License-Identifier: Apache-2.0
 *
 * The store of stacks: each stack once, each address looked up once, our innermost frames cut off,
 * bounded, and stacks of unloaded modules replaced.
 */
#include "core/stack.h"

#include <criterion/criterion.h>

#include "core/intern.h"

#define OURS 0x1000 /* addresses below are the tracer's */

static struct {
	struct gt_intern *strings;
	struct gt_stack_frame frames[65536];
	uint32_t asked;
	uint64_t fails_at;
} source;

static const struct gt_stack_frame *find(void *context, uint64_t pc)
{
	struct gt_stack_frame *frame = &source.frames[source.asked % 65536];

	cr_assert_eq(context, &source);
	source.asked++;
	if (pc == source.fails_at)
		return NULL;
	frame->offset = pc;
	frame->ours = pc < OURS;
	frame->module = gt_intern_cstr(source.strings, pc < 0x20000 ? "low" : "high");
	return frame;
}

static struct gt_stacks *make(size_t max_bytes)
{
	struct gt_stacks *stacks;

	source.strings = gt_intern_new(0);
	stacks = gt_stacks_new(find, &source, max_bytes);
	cr_assert_not_null(stacks);
	return stacks;
}

static const struct gt_stack_frame *find_wrapper(void *context, uint64_t pc)
{
	struct gt_stack_frame *frame = &source.frames[source.asked++];

	(void)context;
	frame->offset = pc;
	frame->ours = pc == 2;
	frame->module = gt_intern_cstr(source.strings, pc == 2 ? "/lib/libgputrace-cublas.so"
							       : "/lib/libcublas.so.13");
	return frame;
}

/* The wrapper of a library's function lies in the middle, on threads without Python, too. */
Test(stack, frames_of_preloaded_wrappers_are_in_no_stack)
{
	const uint64_t pcs[] = {1, 2, 3}, alone[] = {2};
	struct gt_stacks *stacks;
	const struct gt_stack *stack;

	source.strings = gt_intern_new(0);
	stacks = gt_stacks_new(find_wrapper, &source, 1 << 20);
	stack = gt_stacks_get(stacks, 7, pcs, 3);
	cr_assert_eq(stack->count, 2);
	cr_assert_eq(stack->frames[0]->offset, 1);
	cr_assert_eq(stack->frames[1]->offset, 3);
	cr_assert_eq(gt_stacks_get(stacks, 8, alone, 1)->count, 1, "better than none");
	gt_stacks_free(stacks);
}

static const struct gt_stack_frame *find_cuda(void *context, uint64_t pc)
{
	static const char *const modules[] = {"/opt/libgputrace.so", "/opt/libcupti.so.13",
					      "/lib/libcuda.so.1", "/lib/libcudart.so.13"};
	struct gt_stack_frame *frame = &source.frames[source.asked++];

	(void)context;
	frame->offset = pc;
	frame->ours = true;
	frame->module = gt_intern_cstr(source.strings, modules[pc]);
	return frame;
}

/* The walk ended in CUDA: which function of it was called is more than how it was recorded. */
Test(stack, of_a_stack_without_the_program_the_call_is_kept)
{
	const uint64_t pcs[] = {0, 0, 1, 2, 3, 1}, tracer[] = {0, 1};
	struct gt_stacks *stacks;
	const struct gt_stack *stack;

	source.strings = gt_intern_new(0);
	stacks = gt_stacks_new(find_cuda, &source, 1 << 20);
	stack = gt_stacks_get(stacks, 7, pcs, 6);
	cr_assert_eq(stack->count, 3);
	cr_assert_eq(stack->frames[0]->offset, 2);
	cr_assert_eq(stack->frames[2]->offset, 1);
	cr_assert_eq(gt_stacks_get(stacks, 8, tracer, 2)->count, 2, "better than none");
	gt_stacks_free(stacks);
	gt_intern_free(source.strings);
}

Test(stack, a_stack_comes_once_and_then_by_its_key)
{
	const uint64_t pcs[] = {0x10001, 0x10002, 0x10003};
	struct gt_stacks *stacks = make(1 << 20);
	const struct gt_stack *stack = gt_stacks_get(stacks, 7, pcs, 3);

	cr_assert_not_null(stack);
	cr_assert_eq(stack->count, 3);
	for (uint32_t i = 0; i < 3; i++)
		cr_assert_eq(stack->frames[i]->offset, pcs[i]);
	cr_assert_eq(gt_stacks_get(stacks, 7, NULL, 0), stack);
	cr_assert_eq(gt_stacks_get(stacks, 7, pcs, 3), stack);
	cr_assert_eq(gt_stacks_count(stacks), 1);
	cr_assert_eq(source.asked, 3);
	cr_assert_eq(gt_stacks_refused(stacks), 0);
	gt_stacks_free(stacks);
	gt_intern_free(source.strings);
}

Test(stack, a_key_that_never_came_is_refused)
{
	struct gt_stacks *stacks = make(1 << 20);

	cr_assert_null(gt_stacks_get(stacks, 7, NULL, 0));
	cr_assert_eq(gt_stacks_refused(stacks), 1);
	gt_stacks_free(stacks);
	gt_intern_free(source.strings);
}

Test(stack, addresses_are_asked_for_once_over_all_stacks)
{
	struct gt_stacks *stacks = make(32 << 20);
	const struct gt_stack *first, *last;

	for (uint64_t i = 1; i <= 5000; i++) {
		uint64_t pcs[] = {0x10000 + i, 0x10000, 0x20000};

		cr_assert_not_null(gt_stacks_get(stacks, i * 0x9e3779b97f4a7c15, pcs, 3));
	}
	cr_assert_eq(source.asked, 5002);
	first = gt_stacks_get(stacks, 0x9e3779b97f4a7c15, NULL, 0);
	last = gt_stacks_get(stacks, 5000 * 0x9e3779b97f4a7c15, NULL, 0);
	cr_assert_eq(first->frames[0]->offset, 0x10001);
	cr_assert_eq(last->frames[0]->offset, 0x10000 + 5000);
	cr_assert_eq(first->frames[1], last->frames[1]);
	cr_assert_eq(first->id, 1);
	cr_assert_eq(last->id, 5000);
	gt_stacks_free(stacks);
	gt_intern_free(source.strings);
}

Test(stack, near_frames_of_ours_are_cut_off)
{
	const uint64_t mixed[] = {1, 2, 0x10001, 3, 0x10002};
	const uint64_t all_ours[] = {1, 2};
	struct gt_stacks *stacks = make(1 << 20);
	const struct gt_stack *stack = gt_stacks_get(stacks, 1, mixed, 5);

	cr_assert_eq(stack->count, 3);
	cr_assert_eq(stack->frames[0]->offset, 0x10001);
	cr_assert_eq(stack->frames[1]->offset, 3, "only the near end is cut");
	cr_assert_eq(gt_stacks_get(stacks, 2, all_ours, 2)->count, 2, "better than nothing");
	gt_stacks_free(stacks);
	gt_intern_free(source.strings);
}

Test(stack, memory_is_bounded_and_refusals_are_counted)
{
	struct gt_stacks *stacks = make(1 << 20);
	uint64_t pcs[64], given = 0;

	for (uint64_t i = 1; i <= 10000; i++) {
		for (uint64_t f = 0; f < 64; f++)
			pcs[f] = 0x10000 + (i + f * 77) % 1000;
		given += gt_stacks_get(stacks, i, pcs, 64) != NULL;
	}
	cr_assert_gt(given, 500);
	cr_assert_lt(given, 2000, "64 frames take 512 bytes: a MiB cannot hold more");
	cr_assert_eq(gt_stacks_count(stacks), given);
	cr_assert_eq(gt_stacks_refused(stacks), 10000 - given);
	cr_assert_not_null(gt_stacks_get(stacks, 1, NULL, 0), "what is there stays");
	gt_stacks_free(stacks);
	gt_intern_free(source.strings);
}

Test(stack, a_stack_without_all_its_frames_is_refused)
{
	const uint64_t pcs[] = {0x10001, 0x10002};
	struct gt_stacks *stacks = make(1 << 20);

	source.fails_at = 0x10002;
	cr_assert_null(gt_stacks_get(stacks, 1, pcs, 2));
	cr_assert_eq(gt_stacks_refused(stacks), 1);
	source.fails_at = 0;
	cr_assert_not_null(gt_stacks_get(stacks, 1, pcs, 2));
	gt_stacks_free(stacks);
	gt_intern_free(source.strings);
}

Test(stack, a_stack_through_an_unloaded_module_is_replaced)
{
	const uint64_t low[] = {0x10001, 0x10002}, high[] = {0x30001}, both[] = {0x30001, 0x10002};
	struct gt_stacks *stacks = make(1 << 20);
	const struct gt_stack *before = gt_stacks_get(stacks, 1, low, 2);

	gt_stacks_get(stacks, 2, high, 1);
	gt_stacks_get(stacks, 3, both, 2);
	gt_stacks_forget(stacks, 0x50000, 0x60000);
	cr_assert_eq(gt_stacks_get(stacks, 1, NULL, 0), before, "nothing was there");
	gt_stacks_forget(stacks, 0x10000, 0x20000);
	cr_assert_null(gt_stacks_find(stacks, 1));
	cr_assert_null(gt_stacks_find(stacks, 3));
	cr_assert_not_null(gt_stacks_find(stacks, 2));
	cr_assert_eq(before->frames[0]->offset, 0x10001, "what was handed out stays");
	cr_assert_eq(gt_stacks_get(stacks, 1, NULL, 0), before, "its record was under way");
	cr_assert_eq(gt_stacks_refused(stacks), 0);
	source.asked = 0;
	cr_assert_neq(gt_stacks_get(stacks, 1, low, 2), before);
	cr_assert_eq(source.asked, 2, "its addresses are asked for again");
	cr_assert_eq(gt_stacks_get(stacks, 1, NULL, 0)->id, 4);
	gt_stacks_free(stacks);
	gt_intern_free(source.strings);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Stacks from copies equal those that the thread itself finds: with all registers, as in a signal
 * handler, and without the frame pointer, as the kernel reports a waiting thread.
 */
#include "collectors/unwind/copy.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/unwind/learn.h"
#include "collectors/unwind/unwind.h"
#include "compare.h"
#include "shapes.h"

#define STACKS     300
#define COPY_BYTES (16u << 20)

struct check {
	struct gt_unwind_thread *thread;
	bool has_fp;
	uint64_t *words;
	uint64_t stacks, same, near, complete;
};

/* The state of this function at one place in it. */
static __attribute__((noinline)) void take_regs(struct gt_unwind_regs *regs)
{
	__asm__ volatile("leaq 0(%%rip), %0\n\tmovq %%rsp, %1\n\tmovq %%rbp, %2"
			 : "=r"(regs->pc), "=m"(regs->sp), "=m"(regs->fp)
			 :
			 : "memory");
}

/* Ours has take_regs in front, which has returned; the caller is at two places in itself. */
static uint32_t count_same(const uint64_t *copied, uint32_t copied_count, const uint64_t *captured,
			   uint32_t captured_count)
{
	uint32_t same = 1;

	while (same + 1 < copied_count && same < captured_count &&
	       copied[same + 1] == captured[same])
		same++;
	return same;
}

GT_UNWIND_UNFENCED static void copy_stack(struct check *check, struct gt_unwind_copy *copy)
{
	uint64_t from = copy->regs.sp & ~(uint64_t)7;
	uint64_t words = (check->thread->stack_high - from) / 8;

	copy->words = check->words;
	copy->count = (uint32_t)(words < COPY_BYTES / 8 ? words : COPY_BYTES / 8);
	for (uint32_t i = 0; i < copy->count; i++)
		copy->words[i] = ((const volatile uint64_t *)from)[i];
}

static __attribute__((noinline)) void visit(void *context)
{
	struct check *check = context;
	struct gt_unwind_copy copy = {.has_fp = check->has_fp};
	uint64_t copied[GT_UNWIND_DEPTH], key;
	const uint64_t *captured;
	uint32_t count, own, same;
	bool cut;

	take_regs(&copy.regs);
	/* take_regs has left its frame: what it pushed is still below ours */
	copy_stack(check, &copy);
	if (!check->has_fp)
		copy.regs.fp = 0x5555;
	own = gt_unwind_capture(check->thread, GT_UNWIND_DEPTH, &captured, &key);
	count = gt_unwind_copy(&copy, GT_UNWIND_DEPTH, copied, &cut);
	same = count_same(copied, count, captured, own);
	check->stacks++;
	check->same += same == own && count == own + 1;
	check->near += same >= 3;
	check->complete += !cut;
}

static struct check walk(shapes_fn *shapes, uint64_t seed, bool has_fp)
{
	struct check check = {.has_fp = has_fp, .thread = new_unwind_thread()};
	struct shapes run = {.random = seed, .visit = visit, .context = &check, .visits = STACKS};

	check.words = malloc(COPY_BYTES);
	shapes(&run, 16);
	free(check.words);
	cr_assert_eq(check.stacks, STACKS);
	return check;
}

static void check_all(shapes_fn *shapes, uint64_t seed)
{
	struct check with = walk(shapes, seed, true), without = walk(shapes, seed, false);

	cr_assert_eq(with.same, STACKS);
	cr_assert_eq(with.complete, STACKS);
	cr_assert_eq(without.near, STACKS);
	/* the frames after one that aligns its stack are lost when nobody has saved the
	 * register */
	cr_assert_gt(without.same, STACKS * 9 / 10, "%lu", (unsigned long)without.same);
}

Test(unwind_copy, without_optimisation)
{
	check_all(shapes_o0, 21);
}

Test(unwind_copy, without_frame_pointers)
{
	check_all(shapes_o2, 22);
}

Test(unwind_copy, with_frame_pointers)
{
	check_all(shapes_frame_pointer, 23);
}

Test(unwind_copy, a_copy_that_ends_early_is_cut)
{
	struct check check = {.has_fp = true, .thread = new_unwind_thread()};
	struct gt_unwind_copy copy = {.has_fp = true};
	uint64_t copied[GT_UNWIND_DEPTH];
	uint32_t count;
	bool cut = false;

	check.words = malloc(COPY_BYTES);
	take_regs(&copy.regs);
	copy_stack(&check, &copy);
	copy.count = 4;
	count = gt_unwind_copy(&copy, GT_UNWIND_DEPTH, copied, &cut);
	cr_assert(cut);
	cr_assert_geq(count, 1);
	cr_assert_leq(count, 3);
	free(check.words);
}

/* Any bytes: no crash, no loop without end. */
Test(unwind_copy, any_words)
{
	struct check check = {.thread = new_unwind_thread(), .words = malloc(COPY_BYTES)};
	struct gt_unwind_copy copy;
	uint64_t copied[GT_UNWIND_DEPTH];
	bool cut;

	srand(7);
	for (int round = 0; round < 200; round++) {
		copy = (struct gt_unwind_copy){.has_fp = round % 2};
		take_regs(&copy.regs);
		copy_stack(&check, &copy);
		for (int i = 0; i < 40; i++)
			copy.words[(unsigned int)rand() % copy.count] ^= (uint64_t)1
									 << (rand() % 64);
		if (round % 3 == 0)
			copy.regs.pc = (uint64_t)rand() << 16;
		if (round % 5 == 0)
			copy.regs.sp |= 1;
		cr_assert_leq(gt_unwind_copy(&copy, GT_UNWIND_DEPTH, copied, &cut),
			      GT_UNWIND_DEPTH);
	}
	free(check.words);
}

static bool decode(const char *bytes, size_t size, uint64_t *ret_size)
{
	return gt_unwind_frame_bytes((const uint8_t *)bytes, size, ret_size);
}

Test(unwind_copy, beginnings_of_functions)
{
	uint64_t size = 99;

	/* endbr64; push %rbp; mov %rsp,%rbp; push %r15; push %rbx; sub $0x18,%rsp; mov
	 * %fs:40,%rax */
	cr_assert(decode("\xf3\x0f\x1e\xfa\x55\x48\x89\xe5\x41\x57\x53\x48\x83\xec\x18\x64\x48", 17,
			 &size));
	cr_assert_eq(size, 8 + 8 + 0x18);
	/* push %rbp; mov %edi,%eax; mov %rsp,%rbp; sub $0x1000,%rsp */
	cr_assert(decode("\x55\x89\xf8\x48\x89\xe5\x48\x81\xec\x00\x10\x00\x00", 13, &size));
	cr_assert_eq(size, 0x1000);
	/* push %rbp; mov %rsp,%rbp; lea 0x10(%rdi,%rax,4),%rcx; mov $5,%r12d; push %r12; ret */
	cr_assert(decode("\x55\x48\x89\xe5\x48\x8d\x4c\x87\x10\x41\xbc\x05\x00\x00\x00\x41\x54\xc3",
			 18, &size));
	cr_assert_eq(size, 8);
	/* sub $8,%rsp: no frame pointer */
	cr_assert_not(decode("\x48\x83\xec\x08", 4, &size));
	/* cut in the middle of an instruction */
	cr_assert(decode("\x55\x48\x89\xe5\x48\x81\xec\x00", 8, &size));
	cr_assert_eq(size, 0);
	cr_assert_not(decode("", 0, &size));
}

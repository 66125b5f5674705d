/* SPDX-License-Identifier: Apache-2.0
 *
 * Unusual stacks: destroyed, through code without tables.
 */
#include "collectors/unwind/unwind.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collectors/unwind/learn.h"
#include "collectors/unwind/rules.h"
#include "compare.h"
#include "core/guest/peek.h"
#include "shapes.h"

static uint64_t next(uint64_t *random)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return *random;
}

static struct gt_unwind_thread *self;

static __attribute__((noinline)) uint32_t count_frames(void)
{
	const uint64_t *pcs;
	uint64_t key;

	return gt_unwind_capture(self, GT_UNWIND_DEPTH, &pcs, &key);
}

/* A word on a destroyed stack: anything, and values that look right. */
static uint64_t random_word(uint64_t *random, uint64_t stack)
{
	uint64_t word = next(random);

	switch (word >> 60) {
	case 0 ... 4:
		return stack + word % 65536 - 8192; /* near: a frame pointer */
	case 5 ... 8:
		return (uint64_t)count_frames + word % 4096; /* code */
	case 9:
		return (uint64_t)memcpy + word % 4096;
	case 10:
		return word % 4096;
	case 11:
		return stack;
	default:
		return word;
	}
}

#define WORDS 512

/* Walks while the frames above are overwritten; puts them back before it returns into them. */
__attribute__((noinline, no_sanitize("address", "thread"))) static uint32_t walk_destroyed(
	uint64_t *random)
{
	uint64_t saved[WORDS];
	volatile uint64_t *frame = __builtin_frame_address(0);
	uint64_t where = next(random) % 64, length = 1 + next(random) % 200;
	uint32_t frames;

	for (uint64_t i = 0; i < length; i++) {
		saved[i] = frame[where + i];
		frame[where + i] = random_word(random, (uint64_t)frame);
	}
	frames = count_frames();
	for (uint64_t i = 0; i < length; i++)
		frame[where + i] = saved[i];
	return frames;
}

__attribute__((noinline)) static uint32_t walk_at_depth(int depth, uint64_t *random)
{
	uint64_t room[16];
	uint32_t frames;

	memset(room, 0, sizeof(room));
	__asm__ volatile("" : : "r"(room) : "memory");
	frames = depth ? walk_at_depth(depth - 1, random) : walk_destroyed(random);
	__asm__ volatile("" : : "r"(room) : "memory");
	return frames;
}

static void *destroy_stacks(void *seed)
{
	uint64_t random = (uint64_t)seed;

	self = new_unwind_thread();
	for (int i = 0; i < 20000; i++) {
		uint32_t frames = walk_at_depth((int)(next(&random) % 20) + 12, &random);

		cr_assert_leq(frames, GT_UNWIND_DEPTH);
		cr_assert_geq(frames, 1);
	}
	return NULL;
}

Test(unwind_odd, a_destroyed_stack_harms_nobody)
{
	pthread_t thread;

	pthread_create(&thread, NULL, destroy_stacks, (void *)(uint64_t)31);
	pthread_join(thread, NULL);
	cr_assert_gt(gt_unwind_get_counts().broken, 1000);
}

/* Nor when the bounds of the stack are not known. */
Test(unwind_odd, a_destroyed_stack_harms_nobody_without_bounds)
{
	uint64_t random = 33;

	self = new_unwind_thread();
	self->stack_low = self->stack_high = 0;
	for (int i = 0; i < 2000; i++)
		cr_assert_geq(walk_at_depth((int)(next(&random) % 20) + 12, &random), 1);
	cr_assert_geq(gt_unwind_get_counts().probed, 2000);
}

/* 0 when the stack's bounds were found, and nothing was looked for at a capture. */
static int capture_in_child(void)
{
	self = new_unwind_thread();
	return count_frames() < 3 || gt_unwind_get_counts().probed;
}

static void *fork_here(void *ret_status)
{
	pid_t child = fork();

	if (!child)
		_exit(capture_in_child());
	waitpid(child, ret_status, 0);
	return NULL;
}

/* Its main thread is then on another stack than the parent's. */
Test(unwind_odd, a_child_that_a_thread_forked_knows_its_stack)
{
	int status = -1;
	pthread_t thread;

	fork_here(&status);
	cr_assert_eq(status, 0);
	pthread_create(&thread, NULL, fork_here, &status);
	pthread_join(thread, NULL);
	cr_assert_eq(status, 0);
}

#ifdef __x86_64__
/* push %rbp; mov %rsp, %rbp; call *%rdi; pop %rbp; ret */
static const uint8_t with_frame[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
/* sub $0x18, %rsp; call *%rdi; add $0x18, %rsp; ret */
static const uint8_t without_frame[] = {0x48, 0x83, 0xec, 0x18, 0xff, 0xd7,
					0x48, 0x83, 0xc4, 0x18, 0xc3};

typedef void jit_fn(void (*function)(void));

static jit_fn *make_code(const uint8_t *code, size_t size)
{
	void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	cr_assert(memory != MAP_FAILED);
	memcpy(memory, code, size);
	return (jit_fn *)memory;
}

static struct {
	uint32_t count;
	uint64_t pcs[GT_UNWIND_DEPTH];
} taken;

static __attribute__((noinline)) void take(void)
{
	const uint64_t *pcs;
	uint64_t key;

	taken.count = gt_unwind_capture(self, GT_UNWIND_DEPTH, &pcs, &key);
	memcpy(taken.pcs, pcs, taken.count * sizeof(*pcs));
}

static bool is_taken(uint64_t start, uint64_t size)
{
	for (uint32_t i = 0; i < taken.count; i++)
		if (taken.pcs[i] > start && taken.pcs[i] <= start + size)
			return true;
	return false;
}

static jit_fn *inner;

static __attribute__((noinline)) void call_inner(void)
{
	inner(take);
	__asm__ volatile("" ::: "memory");
}

Test(unwind_odd, jit_code_with_frame_pointers_is_walked_through)
{
	jit_fn *outer = make_code(with_frame, sizeof(with_frame));
	uint32_t plain;

	self = new_unwind_thread();
	take();
	plain = taken.count;
	inner = make_code(with_frame, sizeof(with_frame));
	outer(call_inner);
	cr_assert_eq(taken.count, plain + 3);
	cr_assert(is_taken((uint64_t)inner, sizeof(with_frame)));
	cr_assert(is_taken((uint64_t)outer, sizeof(with_frame)));
	cr_assert_eq(gt_unwind_get_counts().jit, 2);
	cr_assert_eq(gt_unwind_get_counts().broken, 0);
}

Test(unwind_odd, jit_code_without_frame_pointers_is_shown_at_least)
{
	self = new_unwind_thread();
	inner = make_code(without_frame, sizeof(without_frame));
	call_inner();
	cr_assert(is_taken((uint64_t)inner, sizeof(without_frame)));
}
#endif

Test(unwind_odd, memory_is_read_only_where_it_is)
{
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char buffer[64];

	munmap(pages + 4096, 4096);
	memset(pages, 7, 4096);
	cr_assert_eq(gt_peek_copy(buffer, (uint64_t)pages + 100, 64), 64);
	cr_assert_eq(buffer[63], 7);
	cr_assert_lt(gt_peek_copy(buffer, (uint64_t)pages + 4096, 64), 64);
	cr_assert_lt(gt_peek_copy(buffer, (uint64_t)pages + 4090, 64), 64);
	cr_assert_lt(gt_peek_copy(buffer, 0, 64), 64);
}

Test(unwind_odd, calls_are_recognised)
{
	uint8_t bytes[GT_UNWIND_CALL_BYTES] = {0};

	cr_assert_not(gt_unwind_follows_call(bytes));
	memcpy(bytes, "\x90\x90\x90\xe8\x01\x02\x03\x04", 8); /* call rel32 */
	cr_assert(gt_unwind_follows_call(bytes));
	memcpy(bytes, "\x90\x90\x90\x90\x90\x90\xff\xd0", 8); /* call *%rax */
	cr_assert(gt_unwind_follows_call(bytes));
	memcpy(bytes, "\x90\x90\xff\x15\x01\x02\x03\x04", 8); /* call *x(%rip) */
	cr_assert(gt_unwind_follows_call(bytes));
	memcpy(bytes, "\x90\x90\x90\x90\x90\x90\xff\xe0", 8); /* jmp *%rax */
	cr_assert_not(gt_unwind_follows_call(bytes));
}

Test(unwind_odd, the_table_keeps_what_fits_and_forgets_what_goes)
{
	const uint64_t base = 0x7f0000000000;
	uint32_t kept = 0;

	for (uint64_t i = 1; i <= 4000; i++)
		gt_rules_put(base + i * 37, i);
	for (uint64_t i = 1; i <= 4000; i++)
		kept += gt_rules_find_far(base + i * 37) == i;
	cr_assert_eq(kept, 4000);
	gt_rules_put(base + 37, 99);
	cr_assert_eq(gt_rules_find_far(base + 37), 99, "a rule is replaced");
	cr_assert_eq(gt_rules_find_far(base + 38), 0);

	gt_unwind_forget(base, base + 37 * 2000);
	for (uint64_t i = 1; i <= 4000; i++)
		cr_assert_eq(gt_rules_find_far(base + i * 37), i <= 2000 ? 0 : i);

	/* far more than the table holds: the newest are there, and none is wrong */
	for (uint64_t i = 1; i <= 1000000; i++) {
		gt_rules_put(base + i * 5, i);
		cr_assert_eq(gt_rules_find_far(base + i * 5), i);
	}
	for (uint64_t i = 1; i <= 1000000; i++) {
		uint64_t rule = gt_rules_find_far(base + i * 5);

		cr_assert(rule == 0 || rule == i || (rule <= 4000 && rule * 37 == i * 5));
	}
}

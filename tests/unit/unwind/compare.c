/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "compare.h"

#include <criterion/criterion.h>
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#include <stdio.h>
#include <sys/mman.h>

#include "collectors/unwind/rules.h"

struct gt_unwind_thread *new_unwind_thread(void)
{
	struct gt_unwind_thread *thread = mmap(NULL, sizeof(*thread), PROT_READ | PROT_WRITE,
					       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	cr_assert(thread != MAP_FAILED);
	gt_unwind_thread_init(thread);
	return thread;
}

/* libunwind's answer in our form: a frame after a signal's is where the code was interrupted. */
static uint32_t take_theirs(unw_context_t *context, uint64_t *pcs, uint32_t max)
{
	unw_cursor_t cursor;
	uint32_t count = 0;
	bool interrupted;
	unw_word_t ip;

	unw_init_local(&cursor, context);
	do {
		unw_get_reg(&cursor, UNW_REG_IP, &ip);
		interrupted = unw_is_signal_frame(&cursor) > 0; /* of the frame just left */
		pcs[count++] = ip + interrupted;
	} while (count < max && unw_step(&cursor) > 0);
	return count;
}

static bool is_unruly(const uint64_t *pcs, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (gt_rules_find_far(pcs[i]) == gt_unwind_rule_guess)
			return true;
	return false;
}

__attribute__((noinline)) void compare_here(struct comparison *comparison)
{
	uint64_t theirs[GT_UNWIND_DEPTH];
	const uint64_t *ours;
	unw_context_t context;
	uint32_t count, their_count, same = 1;
	uint64_t key;

	count = gt_unwind_capture(comparison->thread, GT_UNWIND_DEPTH, &ours, &key);
	unw_getcontext(&context);
	their_count = take_theirs(&context, theirs, GT_UNWIND_DEPTH);
	comparison->stacks++;
	comparison->frames += count;
	while (same < count && same < their_count && ours[same] == theirs[same])
		same++; /* the nearest is this function, at two places in it */
	if (same == count && same == their_count)
		return;
	if (is_unruly(ours, count)) {
		comparison->unruly++;
		return;
	}
	if (comparison->different++ == 0)
		snprintf(comparison->first, sizeof(comparison->first),
			 "stack %lu: frame %u of %u is %lx, libunwind has %lx of %u frames",
			 (unsigned long)comparison->stacks, same, count,
			 same < count ? (unsigned long)ours[same] : 0,
			 same < their_count ? (unsigned long)theirs[same] : 0, their_count);
}

void compare_check(const struct comparison *comparison)
{
	cr_assert_gt(comparison->stacks, 0);
	cr_assert_gt(comparison->frames, comparison->stacks);
	cr_assert_eq(comparison->different, 0, "%lu of %lu differ, first: %s",
		     (unsigned long)comparison->different, (unsigned long)comparison->stacks,
		     comparison->first);
}

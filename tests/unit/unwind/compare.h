/* SPDX-License-Identifier: Apache-2.0
 *
 * Compares our stack with that of libunwind's own step-by-step unwinder in the same place.
 */
#ifndef GT_TESTS_UNIT_UNWIND_COMPARE_H
#define GT_TESTS_UNIT_UNWIND_COMPARE_H

#include <stdint.h>

#include "collectors/unwind/unwind.h"

struct comparison {
	struct gt_unwind_thread *thread;
	uint64_t stacks, frames;
	uint64_t unruly;    /* stacks that cross an address for which no rule could be had */
	uint64_t different; /* all others that were not the same */
	char first[256];    /* difference */
};

/* Takes the stack of the caller both ways. May be used in signal handlers. */
void compare_here(struct comparison *comparison);

/* Fails the test unless something was compared and nothing was different. */
void compare_check(const struct comparison *comparison);

/* Zeroed memory for the calling thread, ready to capture. Lives until the process ends. */
struct gt_unwind_thread *new_unwind_thread(void);

#endif

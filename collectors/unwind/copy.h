/* SPDX-License-Identifier: Apache-2.0
 *
 * The call stack of another thread from its registers and a copy of its stack. The thread may have
 * run since: its stack and code are read only by system calls that fail instead of faulting.
 *
 * Threads of the tracer only: a new address takes the loader's list lock.
 */
#ifndef GT_COLLECTORS_UNWIND_COPY_H
#define GT_COLLECTORS_UNWIND_COPY_H

#include <stdbool.h>
#include <stdint.h>

#include "collectors/unwind/arch.h"

/* A copied stack and its original address. */
struct gt_unwind_copy {
	struct gt_unwind_regs regs; /* pc in the form of a return address */
	bool has_fp;     /* false: regs.fp is not known (the kernel reports only pc and sp) */
	uint64_t *words; /* the stack from sp on, rounded down to 8; modified */
	uint32_t count;
};

/* At most @max return addresses, innermost first, into @ret_pcs. Returns their number. *ret_cut:
 * the walk reached the end of the copy, not of the stack. */
uint32_t gt_unwind_copy(struct gt_unwind_copy *copy, uint32_t max, uint64_t *ret_pcs,
			bool *ret_cut);

#endif

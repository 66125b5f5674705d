/* SPDX-License-Identifier: Apache-2.0
 *
 * The call stack of another thread, out of its registers and a copy of its stack. The thread may
 * have gone on since: neither its stack nor the code that it was in is touched, only asked for by a
 * system call that answers instead of faulting.
 *
 * Threads of the tracer only: an address that is new takes the loader's list lock.
 */
#ifndef GT_COLLECTORS_UNWIND_COPY_H
#define GT_COLLECTORS_UNWIND_COPY_H

#include <stdbool.h>
#include <stdint.h>

#include "collectors/unwind/arch.h"

/* A copied stack, and where it lay. */
struct gt_unwind_copy {
	struct gt_unwind_regs regs; /* pc in the form of a return address */
	bool has_fp;     /* false: regs.fp is not known (the kernel tells only pc and sp) */
	uint64_t *words; /* what lay on the stack from sp, rounded down to 8, on; is changed */
	uint32_t count;
};

/* At most @max return addresses, nearest first, into @ret_pcs. Returns their number. *ret_cut: the
 * walk came to the end of the copy, not to that of the stack. */
uint32_t gt_unwind_copy(struct gt_unwind_copy *copy, uint32_t max, uint64_t *ret_pcs,
			bool *ret_cut);

#endif

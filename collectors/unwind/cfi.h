/* SPDX-License-Identifier: Apache-2.0
 *
 * The effect of one frame of a function on the registers, by the call frame information of its
 * module: .eh_frame as the Linux Standard Base 5.0 (Core, 10.6) describes it, with the instructions
 * and expressions of DWARF 4 (6.4, 2.5). It never sees the real stack: registers hold symbols, and
 * each read of the stack answers with a new symbol. What the caller's registers are is then told by
 * the symbols that they are derived from, for expressions as well as for the plain forms.
 *
 * Any thread, any moment, signal handlers too: reads the module, writes to the caller's stack (1.5
 * KiB), no lock, no malloc. Damaged information is refused, not followed.
 */
#ifndef GT_COLLECTORS_UNWIND_CFI_H
#define GT_COLLECTORS_UNWIND_CFI_H

#include <stdbool.h>
#include <stdint.h>

#include "collectors/unwind/learn.h"

/* Symbols; they look like no user address. Offsets up to 2^31 in both directions belong to them. */
#define GT_SYMBOL_SP 0x1800000000000000u
#define GT_SYMBOL_FP 0x2800000000000000u

/* Effect of a step. Values are symbols plus offsets. */
struct gt_unwind_effect {
	bool is_end;       /* the return address is undefined: outermost frame */
	uint64_t cfa;      /* sp of the next frame, when cfa_from is 0 */
	uint64_t cfa_from; /* address of the word that cfa was computed from, 0: none */
	int64_t cfa_add;   /* cfa = *cfa_from + cfa_add */
	uint64_t ra_at;    /* address of the return address */
	uint64_t fp_at;    /* address of the saved frame pointer, 0: fp is unchanged */
	uint64_t function; /* start of the function */
};

/* True when @value is @symbol + *ret_offset. */
bool gt_symbol_is_near(uint64_t value, uint64_t symbol, int64_t *ret_offset);

/* The effect of the frame with the instruction at @ip in @module. False: the module has no
 * information about it, or none that a rule could express. */
bool gt_cfi_step(const struct gt_unwind_module *module, uint64_t ip,
		 struct gt_unwind_effect *ret_effect);

#endif

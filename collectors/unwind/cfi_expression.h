/* SPDX-License-Identifier: Apache-2.0
 *
 * DWARF expressions (DWARF 4, 2.5) on symbols: what call frame information says of frames whose
 * place is not a register plus a number, e.g. of functions that align their stack, of signal
 * handlers' callers, of the procedure linkage table. Only the operations that occur there.
 */
#ifndef GT_COLLECTORS_UNWIND_CFI_EXPRESSION_H
#define GT_COLLECTORS_UNWIND_CFI_EXPRESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "collectors/unwind/learn.h"

#define GT_CFI_READS 4

/* An expression. */
struct gt_cfi_block {
	const uint8_t *bytes; /* the module's, or the caller's copy */
	uint64_t size;
};

/* The symbolic machine: the registers' values are symbols (cfi.h), and so is each word of the
 * stack. */
struct gt_cfi_machine {
	const struct gt_unwind_module *module;
	uint64_t ip;
	uint32_t reads;
	uint64_t read_at[GT_CFI_READS]; /* addresses on the stack that were read */
};

/* The value of register @number of the frame. */
uint64_t gt_cfi_register(const struct gt_cfi_machine *machine, uint64_t number);

/* The value of an expression that begins with *@first on the stack, NULL: with nothing. False: an
 * operation that has no result on symbols, or damaged. */
bool gt_cfi_evaluate(struct gt_cfi_machine *machine, const struct gt_cfi_block *block,
		     const uint64_t *first, uint64_t *ret_value);

/* The address of the word that @value is derived from, which is it plus *ret_add; 0: of none. */
uint64_t gt_cfi_read_of(const struct gt_cfi_machine *machine, uint64_t value, int64_t *ret_add);

#endif

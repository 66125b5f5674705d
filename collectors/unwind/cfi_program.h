/* SPDX-License-Identifier: Apache-2.0
 *
 * The instructions of call frame information (DWARF 4, 6.4.2): they describe a table with a row for
 * each address of a function, of which one row is wanted. Any thread; no memory but the caller's.
 */
#ifndef GT_COLLECTORS_UNWIND_CFI_PROGRAM_H
#define GT_COLLECTORS_UNWIND_CFI_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "collectors/unwind/cfi_expression.h"
#include "collectors/unwind/cfi_reader.h"

#define GT_CFI_STATES 4

/* How a register of the caller is found. */
enum gt_cfi_rule_kind {
	GT_CFI_SAME,
	GT_CFI_UNDEFINED,
	GT_CFI_OFFSET,     /* saved at CFA + offset */
	GT_CFI_EXPRESSION, /* saved at the value of an expression, which begins with the CFA */
	GT_CFI_OTHER,      /* in another register, or a value: no rule can express it */
};

/* Of one register. */
struct gt_cfi_rule {
	uint8_t kind; /* enum gt_cfi_rule_kind */
	int64_t offset;
	struct gt_cfi_block block;
};

/* The registers that unwinding needs; the rest of what is said of registers is passed over. */
enum { GT_CFI_FP, GT_CFI_RA, GT_CFI_REGISTERS };

/* A row of the table that the instructions describe. */
struct gt_cfi_row {
	uint64_t cfa_register;
	int64_t cfa_offset;
	struct gt_cfi_block cfa_block; /* in place of both, if it is not empty */
	struct gt_cfi_rule rules[GT_CFI_REGISTERS];
};

/* In the middle of it. */
struct gt_cfi_program {
	uint64_t ip;       /* whose row is wanted */
	uint64_t location; /* the first address of @row */
	uint64_t code_align;
	int64_t data_align;
	bool is_over; /* the rows that follow are of later addresses */
	bool is_broken;
	struct gt_cfi_row row, initial, states[GT_CFI_STATES];
	unsigned int state_count;
};

/* Applies all instructions until the row of the program's ip is complete; rows point into them.
 * False: damaged, or unknown ones. */
bool gt_cfi_run(struct gt_cfi_program *program, struct gt_cfi_reader *reader);

#endif

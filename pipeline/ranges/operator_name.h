/* SPDX-License-Identifier: Apache-2.0
 *
 * The names that PyTorch gives its ranges in NVTX, taken apart:
 *
 *   aten::addmm, seq = 12, op_id = 34, sizes = [[8], [4, 16], [16, 8]], input_op_ids = [(30,0)]
 *
 * Pure; any thread.
 */
#ifndef GT_PIPELINE_RANGES_OPERATOR_NAME_H
#define GT_PIPELINE_RANGES_OPERATOR_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The parts of a name that PyTorch gives its ranges. */
struct gt_operator_name {
	size_t length;    /* of the name alone, at the beginning of the text */
	bool is_backward; /* the engine's range around what runs backward */
	bool has_sequence;
	uint64_t sequence; /* ties a forward operator to what runs backward */
	const char *dims;  /* "[[8], [4, 16]]", JSON, or NULL */
	size_t dims_length;
};

/* Takes @text apart. True when it is the name of an operator: in a namespace ("aten::mm"), with a
 * sequence number, or of the engine. What is not (record_function of the program) is a range like
 * any other. */
bool gt_operator_name_parse(const char *text, size_t length, struct gt_operator_name *ret_name);

#endif

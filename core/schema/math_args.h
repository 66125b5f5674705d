/* SPDX-License-Identifier: Apache-2.0
 *
 * The arguments of a call that computes (core/schema/math_call.h) in a trace. Pure functions, any
 * thread.
 */
#ifndef GT_CORE_SCHEMA_MATH_ARGS_H
#define GT_CORE_SCHEMA_MATH_ARGS_H

#include "core/schema/library_call.h"

/* Those that @call has; room for GT_LIBRARY_ARG_COUNT_. @of_kernel: with the name of the call.
 * Returns how many. */
size_t gt_math_values(const struct gt_math_call *call, bool of_kernel,
		      struct gt_library_value *ret_values);

/* Takes in one that was read; digits are a number. Any other argument changes nothing. */
void gt_math_set_text(struct gt_math_call *call, enum gt_library_arg arg, const char *text,
		      size_t length);
void gt_math_set_number(struct gt_math_call *call, enum gt_library_arg arg, uint64_t number);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * The library's own functions behind ours. Any thread; what the first call of each costs
 * is said in behind.h.
 */
#ifndef GT_PRELOAD_LIBRARIES_REAL_H
#define GT_PRELOAD_LIBRARIES_REAL_H

#include "core/elf/behind.h"
#include "core/schema/math_call.h"

/* A library and the names of its versions, up to a NULL. */
struct real_library {
	const char *name; /* "libcufft" */
	const char *const *sonames;
};

/* For the module of @caller. NULL: it has none, nor has any other: said once. */
void *real_function_of(const struct real_library *library, enum gt_math_function function,
		       const void *caller);

/* In a function that takes the place of one of the library's. */
#define real_function(library, function)                                                           \
	real_function_of(library, function, __builtin_return_address(0))

/* A function of any name for the module that this thread went on from last, looked for each time,
 * and nothing is said. */
void *real_symbol(const struct real_library *library, const char *name);

#endif

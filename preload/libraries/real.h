/* SPDX-License-Identifier: Apache-2.0
 *
 * The library's own functions behind ours. Any thread; a lock of the loader the first time each is
 * asked for, none later.
 */
#ifndef GT_PRELOAD_LIBRARIES_REAL_H
#define GT_PRELOAD_LIBRARIES_REAL_H

#include "core/schema/math_call.h"

/* A library and the names of its versions, up to a NULL. */
struct real_library {
	const char *name; /* "libcufft" */
	const char *const *sonames;
};

/* NULL: the library of this process has none, or there is none: said once. errno is kept. */
void *real_function(const struct real_library *library, enum gt_math_function function);

/* The same of a function of any name, looked for each time, and nothing is said. */
void *real_symbol(const struct real_library *library, const char *name);

#endif

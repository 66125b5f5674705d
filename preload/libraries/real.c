/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "preload/libraries/real.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>

#include "core/elf/elf_lookup.h"
#include "preload/libraries/math.h"

#define NONE ((void *)1) /* was looked for and not found */

static void *_Atomic found[GT_MATH_FUNCTION_COUNT_];

void *real_symbol(const struct real_library *library, const char *name)
{
	return gt_elf_find_behind(RTLD_NEXT, name, library->sonames);
}

void *real_function(const struct real_library *library, enum gt_math_function function)
{
	void *real = atomic_load_explicit(&found[function], memory_order_relaxed);

	if (__builtin_expect(!real, 0)) {
		real = real_symbol(library, gt_math_function(function));
		real = real ? real : NONE;
		atomic_store_explicit(&found[function], real, memory_order_relaxed);
		if (real == NONE)
			math_missing(gt_math_function(function), library->name);
	}
	return real == NONE ? NULL : real;
}

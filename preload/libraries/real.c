/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "preload/libraries/real.h"

#include <stdbool.h>

#include "preload/libraries/math.h"

static struct gt_behind functions[GT_MATH_FUNCTION_COUNT_];
static _Atomic bool is_missing[GT_MATH_FUNCTION_COUNT_];

static void *look_for(const struct real_library *library, enum gt_math_function function,
		      const void *caller)
{
	const char *name = gt_math_function(function);
	void *real = gt_behind_look(&functions[function], name, library->sonames, caller);

	if (!real && !atomic_exchange(&is_missing[function], true))
		math_missing(name, library->name);
	return real;
}

void *real_symbol(const struct real_library *library, const char *name)
{
	struct gt_behind function = {{NULL}};

	return gt_behind_ask(&function, name, library->sonames);
}

void *real_function_of(const struct real_library *library, enum gt_math_function function,
		       const void *caller)
{
	void *real = gt_behind_known(&functions[function]);

	return __builtin_expect(real != NULL, 1) ? real : look_for(library, function, caller);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * cuSOLVER's functions that compute, dense and sparse: these definitions come before those of
 * libcusolver.so and go on to them. A library of its own, preloaded by run --libraries=cusolver
 * alone. Which they are, with their parameters, is in core/schema/calls/cusolver.def.
 */
#include <stdatomic.h>

#include "preload/solvers/given.h"
#include "preload/libraries/math.h"
#include "preload/libraries/real.h"
#include "preload/libraries/version.h"

#define EXPORTED      __attribute__((visibility("default")))
#define NOT_SUPPORTED 9 /* CUSOLVER_STATUS_NOT_SUPPORTED */

static const char *const sonames[] = {"libcusolver.so.12", "libcusolver.so.11", NULL};
static const struct real_library cusolver = {"libcusolver", sonames};
static struct library_version version = {&cusolver, "cusolverGetProperty", 11, 12, {0}, NULL,
					 false};

#define GT_CUSOLVER(symbol, formula, describe, parameters, arguments)                              \
	EXPORTED int symbol parameters;                                                            \
	int symbol parameters                                                                      \
	{                                                                                          \
		int(*real) parameters =                                                            \
			(int(*) parameters)real_function(&cusolver, GT_MATH_##symbol);             \
		struct gt_math_call call = {0};                                                    \
		struct math_entry entry;                                                           \
		int result;                                                                        \
                                                                                                   \
		if (!real)                                                                         \
			return NOT_SUPPORTED;                                                      \
		if (math_is_told() && !library_is_known(&version))                                 \
			call.unknown = GT_MATH_UNKNOWN_VERSION;                                    \
		else if (math_is_told())                                                           \
			describe;                                                                  \
		call.function = GT_MATH_##symbol;                                                  \
		math_begin(&entry, &call);                                                         \
		result = real arguments;                                                           \
		math_end(&entry, result);                                                          \
		return result;                                                                     \
	}
#include "core/schema/calls/cusolver.def"

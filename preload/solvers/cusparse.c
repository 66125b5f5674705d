/* SPDX-License-Identifier: Apache-2.0
 *
 * cuSPARSE's functions that compute: these definitions come before those of libcusparse.so and go
 * on to them. A library of its own, preloaded by run --libraries=cusparse alone. Which they are,
 * with their parameters, is in core/schema/calls/cusparse.def.
 */
#include "preload/solvers/given.h"
#include "preload/libraries/math.h"
#include "preload/solvers/sparse.h"

#define EXPORTED      __attribute__((visibility("default")))
#define NOT_SUPPORTED 10 /* CUSPARSE_STATUS_NOT_SUPPORTED */

/* What a row says of descriptors among its parameters. */
#define PRODUCT(transa, transb, a, b, c, by, algorithm, is_exact)                                  \
	(&(const struct sparse_product){transa, transb, a, b, c, by, algorithm, is_exact})
#define SPARSE_MV(op, a, x, y, by, algorithm, is_exact)                                            \
	sparse_use_vectors(PRODUCT(op, NONE, a, x, y, by, algorithm, is_exact), &call)
#define SPARSE_MM(...)             sparse_use_matrices(PRODUCT(__VA_ARGS__), &call)
#define SDDMM(...)                 sparse_use_sampled(PRODUCT(__VA_ARGS__), &call)
#define SPGEMM(...)                sparse_use_both(PRODUCT(__VA_ARGS__), &call)
#define WITH_VECTOR(vector)        sparse_use_vector(vector, &call)
#define CONVERTED(a, b, algorithm) sparse_use_one(a, b, algorithm, &call)
#define BLOCKS_MV                  sparse_count_blocks(false, &call)
#define BLOCKS_MM                  sparse_count_blocks(true, &call)

#define GT_CUSPARSE(symbol, describe, parameters, arguments)                                       \
	EXPORTED int symbol parameters;                                                            \
	int symbol parameters                                                                      \
	{                                                                                          \
		int(*real) parameters =                                                            \
			(int(*) parameters)real_function(&cusparse_library, GT_MATH_##symbol);     \
		struct gt_math_call call = {0};                                                    \
		struct math_entry entry;                                                           \
		int answer;                                                                        \
                                                                                                   \
		if (!real)                                                                         \
			return NOT_SUPPORTED;                                                      \
		if (math_is_told() && !library_is_known(&cusparse_version))                        \
			call.unknown = GT_MATH_UNKNOWN_VERSION;                                    \
		else if (math_is_told())                                                           \
			describe;                                                                  \
		call.function = GT_MATH_##symbol;                                                  \
		math_begin_counted(&entry, &call);                                                 \
		answer = real arguments;                                                           \
		math_end(&entry, answer);                                                          \
		return answer;                                                                     \
	}

/* Recorded are only calls that may compute: PyTorch makes descriptors for each of them. */
#define UNRECORDED(symbol, parameters, arguments, before, after)                                   \
	EXPORTED int symbol parameters;                                                            \
	int symbol parameters                                                                      \
	{                                                                                          \
		int(*real) parameters =                                                            \
			(int(*) parameters)real_function(&cusparse_library, GT_MATH_##symbol);     \
		int answer;                                                                        \
                                                                                                   \
		if (!real)                                                                         \
			return NOT_SUPPORTED;                                                      \
		before;                                                                            \
		answer = real arguments;                                                           \
		after;                                                                             \
		return answer;                                                                     \
	}
#define GT_CUSPARSE_MAKE(symbol, kind, made, parameters, arguments)                                \
	UNRECORDED(symbol, parameters, arguments, NOTHING,                                         \
		   sparse_keep(made, SPARSE_KIND_##kind, answer))
#define GT_CUSPARSE_DESTROY(symbol, descriptor, parameters, arguments)                             \
	UNRECORDED(symbol, parameters, arguments, sparse_forget(descriptor), NOTHING)
#include "core/schema/calls/cusparse.def"

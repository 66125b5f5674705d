/* SPDX-License-Identifier: Apache-2.0
 *
 * What the rows of core/schema/calls/cusparse.def and cusolver.def say of arguments, in a struct
 * gt_math_call named call. Any number may come. Pure functions, any thread.
 */
#ifndef GT_PRELOAD_SOLVERS_GIVEN_H
#define GT_PRELOAD_SOLVERS_GIVEN_H

#include "core/schema/math_call.h"
#include "preload/libraries/cublas_args.h"

#define NONE     (-1)
#define NOTHING  (void)0

/* cudaDataType + 1 of the letters in names, and of what they are computed in. */
#define LETTER_S 1
#define LETTER_D 2
#define LETTER_C 5
#define LETTER_Z 6
#define BY_S     1
#define BY_D     2
#define BY_C     1
#define BY_Z     2

#define M        GT_MATH_M
#define N        GT_MATH_N
#define K        GT_MATH_K
#define BATCH    GT_MATH_BATCH

#define TYPE(letter)                                                                               \
	(void)(call.a = LETTER_##letter, call.b = LETTER_##letter, call.c = LETTER_##letter,       \
	       call.compute = BY_##letter)
#define TYPES(of_a, of_b, by)                                                                      \
	(void)(call.a = given_type(of_a), call.b = given_type(of_b), call.c = call.a,              \
	       call.compute = real_of(given_type(by)))
#define SIZES(which, m_, n_, k_, nnz_, batch_)                                                     \
	(void)(call.sizes = (which)&15, call.m = (m_), call.n = (n_), call.k = (k_),               \
	       call.nnz = stored(nnz_), call.batch = (batch_))
#define TRANS(of_a, of_b)                                                                          \
	(void)(call.transa = operation(of_a) & 7,                                                  \
	       call.transb = (of_b) == NONE ? 0 : operation(of_b) & 7)
#define SIDE(side_)               (void)(call.side = side_of(side_) & 3)
#define IN_BLOCKS(blocks, length) ((int64_t)(blocks) * (length))

/* 0: there is none. */
static inline uint8_t given_type(int type)
{
	return type < 0 ? 0 : plus_1(type);
}

/* The parts of a complex number. */
static inline uint8_t real_of(uint8_t type)
{
	static const uint8_t parts[][2] = {{5, 1}, {6, 2}, {7, 3}, {16, 15}};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (type == parts[i][0])
			return parts[i][1];
	return type;
}

/* gt_math_call.nnz. */
static inline uint64_t stored(int64_t nnz)
{
	return nnz > 0 ? (uint64_t)nnz : 0;
}

#endif

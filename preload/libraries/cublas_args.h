/* SPDX-License-Identifier: Apache-2.0
 *
 * Enums of cuBLAS, as programs give them, in a struct gt_math_call. Any number may come. Pure
 * functions, any thread.
 */
#ifndef GT_PRELOAD_LIBRARIES_CUBLAS_ARGS_H
#define GT_PRELOAD_LIBRARIES_CUBLAS_ARGS_H

#include <stdint.h>

#include "preload/libraries/cublas_real.h"

#define LARGEST      UINT8_MAX
#define NO_OPERATION 7
#define NO_SIDE      3

/* @value plus 1, for members in which 0 is none. */
static inline uint8_t plus_1(int value)
{
	return value >= 0 && value < LARGEST ? (uint8_t)(value + 1) : LARGEST;
}

/* gt_math_call.transa of a cublasOperation_t. */
static inline uint8_t operation(int value)
{
	return value >= 0 && value < NO_OPERATION - 1 ? (uint8_t)(value + 1) : NO_OPERATION;
}

/* gt_math_call.side of a cublasSideMode_t. */
static inline uint8_t side_of(int value)
{
	return value >= 0 && value < NO_SIDE - 1 ? (uint8_t)(value + 1) : NO_SIDE;
}

/* gt_math_call.compute. Before cuBLAS 11 it is a cudaDataType. */
static inline uint8_t compute_of(int value)
{
	return value >= CUBLAS_FIRST_COMPUTE && value < LARGEST ? (uint8_t)value : plus_1(value);
}

#endif

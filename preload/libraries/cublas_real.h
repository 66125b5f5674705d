/* SPDX-License-Identifier: Apache-2.0
 *
 * cuBLAS's own functions. Any thread; what the first call of each costs is said in behind.h.
 */
#ifndef GT_PRELOAD_LIBRARIES_CUBLAS_REAL_H
#define GT_PRELOAD_LIBRARIES_CUBLAS_REAL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/schema/math_call.h"

/* cublasStatus_t */
#define CUBLAS_SUCCESS       0
#define CUBLAS_NOT_SUPPORTED 15

/* The smallest cublasComputeType_t: numbers below are cudaDataType. */
#define CUBLAS_FIRST_COMPUTE 64

/* For the module of @caller. NULL: it has none, nor has any other: said once. errno is kept. */
void *cublas_real_of(enum gt_math_function function, const void *caller);

/* In a function that takes the place of one of cuBLAS. */
#define cublas_real(function) cublas_real_of(function, __builtin_return_address(0))

/* Whether what is known here of arguments holds for this cuBLAS, or this cuBLASLt: else said once.
 */
bool cublas_is_known(bool is_lt);

/* Functions of cuBLAS and cuBLASLt that only read what a handle or a descriptor holds, and those
 * that make and destroy descriptors. */
enum cublas_getter {
	CUBLAS_MODE_OF_HANDLE,
	CUBLAS_LT_PRODUCT, /* of a cublasLtMatmulDesc_t */
	CUBLAS_LT_LAYOUT,  /* of a cublasLtMatrixLayout_t */
	CUBLAS_LT_PRODUCT_CREATE,
	CUBLAS_LT_PRODUCT_INIT,
	CUBLAS_LT_PRODUCT_DESTROY,
	CUBLAS_LT_LAYOUT_CREATE,
	CUBLAS_LT_LAYOUT_INIT,
	CUBLAS_LT_LAYOUT_DESTROY,
	CUBLAS_GETTER_COUNT_
};

/* Of the library that this thread went on to last, or for the module of @caller. NULL: there is
 * none. errno is kept. */
void *cublas_getter(enum cublas_getter getter);
void *cublas_getter_of(enum cublas_getter getter, const void *caller);

/* How @handle has @type (cudaDataType + 1) computed: by @compute, or by the faster type that its
 * math mode allows for single precision. */
uint8_t cublas_compute_of(void *handle, uint8_t type, uint8_t compute);

#endif

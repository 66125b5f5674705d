/* SPDX-License-Identifier: Apache-2.0
 *
 * cuBLAS's own functions. Any thread; a lock of the loader the first time each is asked for, none
 * later.
 */
#ifndef GT_PRELOAD_LIBRARIES_CUBLAS_REAL_H
#define GT_PRELOAD_LIBRARIES_CUBLAS_REAL_H

#include <stdint.h>

#include "core/schema/math_call.h"

/* cublasStatus_t */
#define CUBLAS_SUCCESS       0
#define CUBLAS_NOT_SUPPORTED 15

/* The smallest cublasComputeType_t: numbers below are cudaDataType. */
#define CUBLAS_FIRST_COMPUTE 64

/* NULL: this cuBLAS has none, or there is no cuBLAS: said once. errno is kept. */
void *cublas_real(enum gt_math_function function);

/* How @handle has @type (cudaDataType + 1) computed: by @compute, or by the faster type that its
 * math mode allows for single precision. */
uint8_t cublas_compute_of(void *handle, uint8_t type, uint8_t compute);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * What the simulated cuBLAS and cuBLASLt have in common.
 */
#ifndef SIMCUDA_CUBLAS_SIM_LAUNCH_H
#define SIMCUDA_CUBLAS_SIM_LAUNCH_H

#include <cublas_api.h>
#include <cuda.h>

/* The beginning of a cublasHandle_t: a handle of cuBLAS is one of cuBLASLt, too. */
struct cublasLtContext {
	CUmodule module;
};

/* Makes the device's context the thread's, if it has none. */
cublasStatus_t sim_cublas_start(void);

/* Launches a kernel of that name. */
cublasStatus_t sim_cublas_launch(struct cublasLtContext *context, cudaStream_t stream,
				 const char *name);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Handles and launches. Functions that this header declares and nobody here has are not exported.
 */
#include "cublas/sim_cublas.h"

#include <stdio.h>
#include <stdlib.h>

#include "nccl/sim_nccl.h"

struct cublasContext {
	cudaStream_t stream;
	cublasMath_t mode;
	CUmodule module;
};

SIM_CUBLAS_EXPORT cublasStatus_t cublasCreate_v2(cublasHandle_t *handle)
{
	const struct sim_nccl_driver *driver = sim_nccl_driver();
	CUcontext context;

	if (!handle)
		return CUBLAS_STATUS_INVALID_VALUE;
	*handle = NULL;
	if (!driver || driver->get_current(&context) ||
	    (!context && (driver->retain(&context, 0) || driver->push(context))))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	*handle = calloc(1, sizeof(**handle));
	return *handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

SIM_CUBLAS_EXPORT cublasStatus_t cublasDestroy_v2(cublasHandle_t handle)
{
	free(handle);
	return handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

SIM_CUBLAS_EXPORT cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream)
{
	if (!handle)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	handle->stream = stream;
	return CUBLAS_STATUS_SUCCESS;
}

SIM_CUBLAS_EXPORT cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode)
{
	if (!handle)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	handle->mode = mode;
	return CUBLAS_STATUS_SUCCESS;
}

SIM_CUBLAS_EXPORT cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t *mode)
{
	if (!handle)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	*mode = handle->mode;
	return CUBLAS_STATUS_SUCCESS;
}

/* Through the exported function. */
SIM_CUBLAS_EXPORT cublasStatus_t cublasSgemmEx(cublasHandle_t handle, cublasOperation_t transa,
					       cublasOperation_t transb, int m, int n, int k,
					       const float *alpha, const void *A,
					       cudaDataType Atype, int lda, const void *B,
					       cudaDataType Btype, int ldb, const float *beta,
					       void *C, cudaDataType Ctype, int ldc)
{
	return cublasGemmEx(handle, transa, transb, m, n, k, alpha, A, Atype, lda, B, Btype, ldb,
			    beta, C, Ctype, ldc, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}

static cublasStatus_t launch(cublasHandle_t handle, const char *name)
{
	static const char image[] = "simulated cuBLAS";
	const struct sim_nccl_driver *driver = sim_nccl_driver();
	CUfunction function;

	if ((!handle->module && driver->load(&handle->module, image)) ||
	    driver->find(&function, handle->module, name) ||
	    driver->launch(function, 4, 1, 1, 128, 1, 1, 0, (CUstream)handle->stream, NULL, NULL))
		return CUBLAS_STATUS_EXECUTION_FAILED;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t sim_cublas_run(cublasHandle_t handle, const char *symbol, int64_t m, int64_t n,
			      int64_t k, int64_t batch)
{
	cublasStatus_t status;
	char name[96];

	if (!handle)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (m < 0 || n < 0 || k < 0 || batch < 0)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (!m || !n || !batch)
		return CUBLAS_STATUS_SUCCESS;
	snprintf(name, sizeof(name), "sim_%s", symbol);
	status = launch(handle, name);
	if (!status && k >= SIM_CUBLAS_SPLIT)
		status = launch(handle, "splitKreduce_kernel");
	return status;
}

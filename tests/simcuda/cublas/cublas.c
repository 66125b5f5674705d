/* SPDX-License-Identifier: Apache-2.0
 *
 * Handles and launches. Functions that this header declares and nobody here has are not exported.
 */
#include "cublas/sim_cublas.h"

#include <cublasLt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "cublas/sim_launch.h"

struct cublasContext {
	struct cublasLtContext lt;
	cudaStream_t stream;
	cublasMath_t mode;
};

/* SIM_CUBLAS_MAJOR: what it says it is. */
SIM_CUBLAS_EXPORT cublasStatus_t cublasGetProperty(libraryPropertyType type, int *value)
{
	const char *major = getenv("SIM_CUBLAS_MAJOR");

	*value = type != MAJOR_VERSION ? 0 : major ? atoi(major) : CUBLAS_VER_MAJOR;
	return CUBLAS_STATUS_SUCCESS;
}

SIM_CUBLAS_EXPORT cublasStatus_t cublasCreate_v2(cublasHandle_t *handle)
{
	if (!handle)
		return CUBLAS_STATUS_INVALID_VALUE;
	*handle = NULL;
	if (sim_cublas_start())
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

static void set_batch(cublasLtMatrixLayout_t layout, int count, int64_t stride)
{
	cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count,
					 sizeof(count));
	cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
					 &stride, sizeof(stride));
}

/* Through cuBLASLt. */
SIM_CUBLAS_EXPORT cublasStatus_t cublasGemmStridedBatchedEx(
	cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n,
	int k, const void *alpha, const void *A, cudaDataType Atype, int lda, long long int strideA,
	const void *B, cudaDataType Btype, int ldb, long long int strideB, const void *beta,
	void *C, cudaDataType Ctype, int ldc, long long int strideC, int batchCount,
	cublasComputeType_t computeType, cublasGemmAlgo_t algo)
{
	bool plain_a = transa == CUBLAS_OP_N, plain_b = transb == CUBLAS_OP_N;
	cublasLtMatrixLayoutOpaque_t a, b, c;
	cublasLtMatmulDescOpaque_t product;

	if (!handle)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (m < 0 || n < 0 || k < 0 || batchCount < 0)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (!m || !n || !batchCount)
		return CUBLAS_STATUS_SUCCESS;
	cublasLtMatmulDescInit(&product, computeType, Ctype);
	cublasLtMatmulDescSetAttribute(&product, CUBLASLT_MATMUL_DESC_TRANSA, &transa,
				       sizeof(transa));
	cublasLtMatmulDescSetAttribute(&product, CUBLASLT_MATMUL_DESC_TRANSB, &transb,
				       sizeof(transb));
	cublasLtMatrixLayoutInit(&a, Atype, plain_a ? m : k, plain_a ? k : m, lda);
	cublasLtMatrixLayoutInit(&b, Btype, plain_b ? k : n, plain_b ? n : k, ldb);
	cublasLtMatrixLayoutInit(&c, Ctype, m, n, ldc);
	set_batch(&a, batchCount, strideA);
	set_batch(&b, batchCount, strideB);
	set_batch(&c, batchCount, strideC);
	return cublasLtMatmul(&handle->lt, &product, alpha, A, &a, B, &b, beta, C, &c, C, &c, NULL,
			      NULL, 0, handle->stream);
}

static cublasStatus_t launch(cublasHandle_t handle, const char *name)
{
	return sim_cublas_launch(&handle->lt, handle->stream, name);
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

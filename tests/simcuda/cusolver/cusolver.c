/* SPDX-License-Identifier: Apache-2.0
 *
 * The simulated libcusolver.so.12, with the prototypes of the toolkit's header: a kernel of its own
 * for each call, and a product of cuBLAS in a factorization where the process has cuBLAS.
 * SIM_CUSOLVER_MAJOR: the version that it says it is.
 */
#include <cusolverDn.h>
#include <cusolverSp.h>
#include <dlfcn.h>
#include <stdlib.h>

#include "libraries/launch.h"

struct cusolverDnContext {
	cudaStream_t stream;
	void *cublas;
};

SIM_LIBRARY_EXPORT cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t *handle)
{
	int (*create)(void **) = (int (*)(void **))dlsym(RTLD_DEFAULT, "cublasCreate_v2");

	if (!handle)
		return CUSOLVER_STATUS_INVALID_VALUE;
	if (!sim_library_start())
		return CUSOLVER_STATUS_NOT_INITIALIZED;
	*handle = calloc(1, sizeof(**handle));
	if (*handle && create)
		create(&(*handle)->cublas);
	return *handle ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_ALLOC_FAILED;
}

SIM_LIBRARY_EXPORT cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t handle,
							cudaStream_t stream)
{
	handle->stream = stream;
	return CUSOLVER_STATUS_SUCCESS;
}

SIM_LIBRARY_EXPORT cusolverStatus_t cusolverGetProperty(libraryPropertyType type, int *value)
{
	const char *major = getenv("SIM_CUSOLVER_MAJOR");

	*value = type != MAJOR_VERSION ? 0 : major ? atoi(major) : CUSOLVER_VER_MAJOR;
	return CUSOLVER_STATUS_SUCCESS;
}

static cusolverStatus_t launch(cusolverDnHandle_t handle, const char *name, int64_t size)
{
	if (!handle)
		return CUSOLVER_STATUS_NOT_INITIALIZED;
	if (size < 0)
		return CUSOLVER_STATUS_INVALID_VALUE;
	return sim_library_launch(handle->stream, name) ? CUSOLVER_STATUS_SUCCESS
							: CUSOLVER_STATUS_EXECUTION_FAILED;
}

static void multiply(cusolverDnHandle_t handle)
{
	int (*sgemm)(void *, int, int, int, int, int, const float *, const float *, int,
		     const float *, int, const float *, float *, int) =
		(int (*)(void *, int, int, int, int, int, const float *, const float *, int,
			 const float *, int, const float *, float *, int))dlsym(RTLD_DEFAULT,
										"cublasSgemm_v2");
	static const float one = 1;

	if (sgemm && handle && handle->cublas)
		sgemm(handle->cublas, 0, 0, 8, 8, 8, &one, NULL, 8, NULL, 8, &one, NULL, 8);
}

SIM_LIBRARY_EXPORT cusolverStatus_t cusolverDnSgetrf(cusolverDnHandle_t handle, int m, int n,
						     float *a, int lda, float *room, int *pivots,
						     int *info)
{
	if (m >= 0 && n >= 0)
		multiply(handle);
	return launch(handle, "sim_getrf", m < n ? m : n);
}

SIM_LIBRARY_EXPORT cusolverStatus_t cusolverDnSgetrs(cusolverDnHandle_t handle,
						     cublasOperation_t trans, int n, int nrhs,
						     const float *a, int lda, const int *pivots,
						     float *b, int ldb, int *info)
{
	return launch(handle, "sim_getrs", n);
}

SIM_LIBRARY_EXPORT cusolverStatus_t cusolverDnSpotrf(cusolverDnHandle_t handle,
						     cublasFillMode_t uplo, int n, float *a,
						     int lda, float *room, int size, int *info)
{
	return launch(handle, "sim_potrf", n);
}

SIM_LIBRARY_EXPORT cusolverStatus_t cusolverDnZpotrf(cusolverDnHandle_t handle,
						     cublasFillMode_t uplo, int n,
						     cuDoubleComplex *a, int lda,
						     cuDoubleComplex *room, int size, int *info)
{
	return launch(handle, "sim_potrf", n);
}

SIM_LIBRARY_EXPORT cusolverStatus_t cusolverDnDpotrsBatched(cusolverDnHandle_t handle,
							    cublasFillMode_t uplo, int n, int nrhs,
							    double *a[], int lda, double *b[],
							    int ldb, int *info, int count)
{
	return launch(handle, "sim_potrs", n);
}

SIM_LIBRARY_EXPORT cusolverStatus_t cusolverDnDormqr(cusolverDnHandle_t handle,
						     cublasSideMode_t side, cublasOperation_t trans,
						     int m, int n, int k, const double *a, int lda,
						     const double *tau, double *c, int ldc,
						     double *room, int size, int *info)
{
	return launch(handle, "sim_ormqr", n);
}

SIM_LIBRARY_EXPORT cusolverStatus_t cusolverDnXgeqrf(
	cusolverDnHandle_t handle, cusolverDnParams_t params, int64_t m, int64_t n,
	cudaDataType type, void *a, int64_t lda, cudaDataType type_of_tau, void *tau,
	cudaDataType compute, void *room, size_t size, void *host, size_t host_size, int *info)
{
	return launch(handle, "sim_geqrf", n);
}

/* The product inside is all that is known of its work. */
SIM_LIBRARY_EXPORT cusolverStatus_t cusolverDnSgesvd(cusolverDnHandle_t handle, signed char jobu,
						     signed char jobvt, int m, int n, float *a,
						     int lda, float *s, float *u, int ldu,
						     float *vt, int ldvt, float *room, int size,
						     float *reals, int *info)
{
	if (jobu != 'A' || jobvt != 'S')
		return CUSOLVER_STATUS_INVALID_VALUE;
	multiply(handle);
	return launch(handle, "sim_gesvd", n);
}

SIM_LIBRARY_EXPORT cusolverStatus_t cusolverSpDcsrlsvqr(cusolverSpHandle_t handle, int m, int nnz,
							const cusparseMatDescr_t descriptor,
							const double *values, const int *offsets,
							const int *indices, const double *b,
							double tolerance, int reorder, double *x,
							int *singularity)
{
	if (tolerance != 0.5)
		return CUSOLVER_STATUS_INVALID_VALUE;
	return sim_library_launch(NULL, "sim_csrlsvqr") ? CUSOLVER_STATUS_SUCCESS
							: CUSOLVER_STATUS_EXECUTION_FAILED;
}

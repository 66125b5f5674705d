/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that uses cuSOLVER, written against its headers. Prints the result of each call.
 *
 *   factors all       factorizations and solutions, some with a product of cuBLAS inside
 *   factors wrong     calls that fail, and sizes that are too large
 *   factors missing   a function that this cuSOLVER does not have
 */
#include <cublas_v2.h>
#include <cuda.h>
#include <cusolverDn.h>
#include <cusolverSp.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOW(call) printf("%.*s: %d\n", (int)strcspn(#call, "("), #call, (int)(call))

static cusolverDnHandle_t handle;
static cublasHandle_t cublas;

static void use_device(void)
{
	CUcontext context;

	if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) ||
	    cublasCreate(&cublas) || cusolverDnCreate(&handle))
		exit(3);
}

static int all(void)
{
	static const float one = 1;
	double *none[1] = {NULL};

	SHOW(cusolverDnSgetrf(handle, 50, 40, NULL, 50, NULL, NULL, NULL));
	SHOW(cusolverDnSgetrs(handle, CUBLAS_OP_T, 40, 3, NULL, 50, NULL, NULL, 40, NULL));
	SHOW(cusolverDnZpotrf(handle, CUBLAS_FILL_MODE_LOWER, 12, NULL, 12, NULL, 0, NULL));
	SHOW(cusolverDnDpotrsBatched(handle, CUBLAS_FILL_MODE_LOWER, 8, 2, none, 8, none, 8, NULL,
				     5));
	SHOW(cusolverDnDormqr(handle, CUBLAS_SIDE_LEFT, CUBLAS_OP_T, 30, 20, 10, NULL, 30, NULL,
			      NULL, 30, NULL, 0, NULL));
	SHOW(cusolverDnXgeqrf(handle, NULL, 60, 25, CUDA_R_32F, NULL, 60, CUDA_R_32F, NULL,
			      CUDA_R_32F, NULL, 0, NULL, 0, NULL));
	SHOW(cusolverDnSgesvd(handle, 'A', 'S', 16, 9, NULL, 16, NULL, NULL, 16, NULL, 9, NULL, 0,
			      NULL, NULL));
	SHOW(cusolverSpDcsrlsvqr(NULL, 100, 700, NULL, NULL, NULL, NULL, NULL, 0.5, 0, NULL, NULL));
	SHOW(cublasSgemm(cublas, CUBLAS_OP_N, CUBLAS_OP_N, 4, 5, 6, &one, NULL, 4, NULL, 6, &one,
			 NULL, 4));
	SHOW(cuCtxSynchronize());
	return 0;
}

static int wrong(void)
{
	SHOW(cusolverDnSgetrf(handle, -5, 40, NULL, 50, NULL, NULL, NULL));
	SHOW(cusolverDnSgetrf(handle, INT32_MAX, INT32_MAX, NULL, 50, NULL, NULL, NULL));
	SHOW(cusolverDnXgeqrf(handle, NULL, INT64_MAX, 25, CUDA_R_32F, NULL, 60, CUDA_R_32F, NULL,
			      CUDA_R_32F, NULL, 0, NULL, 0, NULL));
	SHOW(cusolverDnXgeqrf(handle, NULL, 60, 25, (cudaDataType)4711, NULL, 60, CUDA_R_32F, NULL,
			      (cudaDataType)-4711, NULL, 0, NULL, 0, NULL));
	SHOW(cusolverDnDormqr(handle, CUBLAS_SIDE_LEFT, CUBLAS_OP_T, 3, 4, 1000, NULL, 30, NULL,
			      NULL, 30, NULL, 0, NULL));
	SHOW(cuCtxSynchronize());
	return 0;
}

/* Not in this cuSOLVER: a linked program would find ours, as dlsym does. */
static int missing(void)
{
	__typeof__(cusolverDnDpotrf) *potrf =
		(__typeof__(potrf))dlsym(RTLD_DEFAULT, "cusolverDnDpotrf");

	SHOW(potrf(handle, CUBLAS_FILL_MODE_LOWER, 12, NULL, 12, NULL, 0, NULL));
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	use_device();
	if (!strcmp(argv[1], "all"))
		return all();
	if (!strcmp(argv[1], "missing"))
		return missing();
	return !strcmp(argv[1], "wrong") ? wrong() : 2;
}

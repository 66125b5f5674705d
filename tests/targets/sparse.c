/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that uses cuSPARSE, written against cusparse.h. Prints the result of each call.
 *
 *   sparse all       products of each format, and what else is recorded
 *   sparse wrong     descriptors that are destroyed, of another kind, none; sizes that are too
 * large sparse many      more descriptors than are kept, and addresses that are given again sparse
 * cost N    ns of a call that launches nothing, and of one: N thousand of each
 */
#include <cuda.h>
#include <cusparse.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SHOW(call) printf("%.*s: %d\n", (int)strcspn(#call, "("), #call, (int)(call))
#define MANY       9000
#define PLAIN      CUSPARSE_OPERATION_NON_TRANSPOSE
#define TURNED     CUSPARSE_OPERATION_TRANSPOSE
#define BASE       CUSPARSE_INDEX_BASE_ZERO

static cusparseHandle_t handle;
static float one = 1, none;

static void use_device(void)
{
	CUcontext context;

	if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) ||
	    cusparseCreate(&handle))
		exit(3);
}

static cusparseSpMatDescr_t compressed(int64_t rows, int64_t cols, int64_t nnz, cudaDataType type)
{
	cusparseSpMatDescr_t made = NULL;

	cusparseCreateCsr(&made, rows, cols, nnz, NULL, NULL, NULL, CUSPARSE_INDEX_32I,
			  CUSPARSE_INDEX_32I, BASE, type);
	return made;
}

static cusparseDnVecDescr_t vector(int64_t size, cudaDataType type)
{
	cusparseDnVecDescr_t made = NULL;

	cusparseCreateDnVec(&made, size, NULL, type);
	return made;
}

static cusparseDnMatDescr_t dense(int64_t rows, int64_t cols, cudaDataType type)
{
	cusparseDnMatDescr_t made = NULL;

	cusparseCreateDnMat(&made, rows, cols, rows, NULL, type, CUSPARSE_ORDER_COL);
	return made;
}

#define SPMV(a, x, y, type)                                                                        \
	SHOW(cusparseSpMV(handle, PLAIN, &one, a, x, &none, y, type, CUSPARSE_SPMV_CSR_ALG2, NULL))
#define SPMM(op, a, b, c, type)                                                                    \
	SHOW(cusparseSpMM(handle, op, PLAIN, &one, a, b, &none, c, type, CUSPARSE_SPMM_CSR_ALG2,   \
			  NULL))

static void with_vectors(void)
{
	cusparseSpMatDescr_t csr = compressed(100, 80, 900, CUDA_R_32F), csc, coo, bsr;

	cusparseCreateCsc(&csc, 60, 70, 500, NULL, NULL, NULL, CUSPARSE_INDEX_64I,
			  CUSPARSE_INDEX_32I, BASE, CUDA_R_64F);
	cusparseCreateCoo(&coo, 30, 40, 200, NULL, NULL, NULL, CUSPARSE_INDEX_64I, BASE,
			  CUDA_C_32F);
	cusparseCreateBsr(&bsr, 5, 6, 7, 4, 4, NULL, NULL, NULL, CUSPARSE_INDEX_32I,
			  CUSPARSE_INDEX_32I, BASE, CUDA_R_32F, CUSPARSE_ORDER_COL);
	SPMV(csr, vector(80, CUDA_R_32F), vector(100, CUDA_R_32F), CUDA_R_32F);
	SPMV(csc, vector(70, CUDA_R_64F), vector(60, CUDA_R_64F), CUDA_R_64F);
	SPMV(coo, vector(40, CUDA_C_32F), vector(30, CUDA_C_32F), CUDA_C_32F);
	SPMV(bsr, vector(24, CUDA_R_32F), vector(20, CUDA_R_32F), CUDA_R_32F);
	SHOW(cusparseSpSV_solve(handle, PLAIN, &one, csr, vector(80, CUDA_R_32F),
				vector(100, CUDA_R_32F), CUDA_R_32F, CUSPARSE_SPSV_ALG_DEFAULT,
				NULL));
}

static void with_matrices(void)
{
	cusparseSpMatDescr_t a = compressed(64, 128, 1000, CUDA_R_16F);
	cusparseDnMatDescr_t b = dense(64, 32, CUDA_R_16F), c = dense(128, 32, CUDA_R_16F);

	cusparseDnMatSetStridedBatch(b, 3, 64 * 32);
	cusparseDnMatSetStridedBatch(c, 3, 128 * 32);
	SPMM(TURNED, a, b, c, CUDA_R_32F);
	SHOW(cusparseSDDMM(handle, PLAIN, PLAIN, &one, dense(10, 20, CUDA_R_32F),
			   dense(20, 15, CUDA_R_32F), &none, compressed(10, 15, 33, CUDA_R_32F),
			   CUDA_R_32F, CUSPARSE_SDDMM_ALG_DEFAULT, NULL));
	SHOW(cusparseSpGEMM_compute(handle, PLAIN, PLAIN, &one, a,
				    compressed(128, 16, 77, CUDA_R_16F), &none,
				    compressed(64, 16, 0, CUDA_R_16F), CUDA_R_32F,
				    CUSPARSE_SPGEMM_DEFAULT, NULL, NULL, NULL));
	SHOW(cusparseSparseToDense(handle, a, b, CUSPARSE_SPARSETODENSE_ALG_DEFAULT, NULL));
}

static int all(void)
{
	cusparseSpVecDescr_t few;

	with_vectors();
	with_matrices();
	cusparseCreateSpVec(&few, 1000, 50, NULL, NULL, CUSPARSE_INDEX_32I, BASE, CUDA_R_32F);
	SHOW(cusparseGather(handle, vector(1000, CUDA_R_32F), few));
	SHOW(cusparseSbsrmm(handle, CUSPARSE_DIRECTION_ROW, PLAIN, PLAIN, 6, 11, 7, 20, &one, NULL,
			    NULL, NULL, NULL, 4, NULL, 28, &none, NULL, 24));
	SHOW(cusparseDgtsv2StridedBatch(handle, 512, NULL, NULL, NULL, NULL, 9, 512, NULL));
	SHOW(cuCtxSynchronize());
	return 0;
}

static int wrong(void)
{
	cusparseSpMatDescr_t a = compressed(10, 10, 10, CUDA_R_32F), gone = a;
	cusparseDnVecDescr_t x = vector(10, CUDA_R_32F);
	cusparseSpMatDescr_t large = compressed(INT64_MAX, INT64_MAX, INT64_MAX, CUDA_R_32F);

	cusparseDestroySpMat(gone);
	SPMV(gone, x, x, CUDA_R_32F);
	SPMV((cusparseConstSpMatDescr_t)x, x, x, CUDA_R_32F);
	SPMV(NULL, NULL, NULL, CUDA_R_32F);
	SPMV(large, x, x, CUDA_R_32F);
	SPMM(PLAIN, large, dense(INT64_MAX, 5, CUDA_R_32F), dense(10, 5, CUDA_R_32F), CUDA_R_32F);
	SPMV(compressed(10, 10, 10, (cudaDataType)4711), x, x, (cudaDataType)-7);
	SHOW(cusparseSbsrmm(handle, CUSPARSE_DIRECTION_ROW, PLAIN, PLAIN, -6, 11, 7, -20, &one,
			    NULL, NULL, NULL, NULL, 4, NULL, 28, &none, NULL, 24));
	SHOW(cusparseCreateCsr(NULL, 1, 1, 1, NULL, NULL, NULL, CUSPARSE_INDEX_32I,
			       CUSPARSE_INDEX_32I, BASE, CUDA_R_32F));
	SHOW(cusparseDestroySpMat(NULL));
	SPMV(compressed(10, 10, 12, CUDA_R_32F), x, x, CUDA_R_32F);
	SHOW(cuCtxSynchronize());
	return 0;
}

/* Not in this cuSPARSE: a linked program would find ours, as dlsym does. */
static int missing(void)
{
	__typeof__(cusparseSpMM_preprocess) *preprocess =
		(__typeof__(preprocess))dlsym(RTLD_DEFAULT, "cusparseSpMM_preprocess");

	SHOW(preprocess(handle, PLAIN, PLAIN, &one, compressed(2, 2, 2, CUDA_R_32F), NULL, &none,
			NULL, CUDA_R_32F, CUSPARSE_SPMM_ALG_DEFAULT, NULL));
	SHOW(cuCtxSynchronize());
	return 0;
}

static int many(void)
{
	cusparseDnVecDescr_t x = vector(2, CUDA_R_32F);
	static cusparseSpMatDescr_t made[MANY];

	for (int i = 0; i < MANY; i++) {
		made[i] = compressed(2, 2, 2, CUDA_R_32F);
		if (cusparseSpMV(handle, PLAIN, &one, made[i], x, &none, x, CUDA_R_32F,
				 CUSPARSE_SPMV_ALG_DEFAULT, NULL))
			return 3;
	}
	for (int i = 0; i < MANY; i++)
		if (cusparseDestroySpMat(made[i]))
			return 3;
	SPMV(compressed(5, 2, 7, CUDA_R_32F), x, vector(5, CUDA_R_32F), CUDA_R_32F);
	SHOW(cuCtxSynchronize());
	return 0;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int cost(int thousands)
{
	cusparseDnVecDescr_t x = vector(100, CUDA_R_32F);
	cusparseSpMatDescr_t a = compressed(100, 100, 500, CUDA_R_32F);
	double calls = 0, products = 0, before;
	struct timespec nap = {0, 20000000};

	for (int i = 0; i < thousands; i++) {
		before = now();
		for (int j = 0; j < 1000; j++)
			cusparseSpMV(NULL, PLAIN, &one, a, x, &none, x, CUDA_R_32F,
				     CUSPARSE_SPMV_ALG_DEFAULT, NULL);
		calls += now() - before;
		before = now();
		for (int j = 0; j < 1000; j++)
			cusparseSpMV(handle, PLAIN, &one, a, x, &none, x, CUDA_R_32F,
				     CUSPARSE_SPMV_ALG_DEFAULT, NULL);
		products += now() - before;
		nanosleep(&nap, NULL);
	}
	printf("%.0f ns a call that launches nothing, %.0f ns one with a kernel\n",
	       calls / thousands / 1000, products / thousands / 1000);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	use_device();
	if (argc == 3 && !strcmp(argv[1], "cost"))
		return cost(atoi(argv[2]));
	if (!strcmp(argv[1], "all"))
		return all();
	if (!strcmp(argv[1], "wrong"))
		return wrong();
	if (!strcmp(argv[1], "missing"))
		return missing();
	return !strcmp(argv[1], "many") ? many() : 2;
}

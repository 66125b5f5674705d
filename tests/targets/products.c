/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that uses cuBLAS, written against cublas_v2.h. Prints the status of each call.
 *
 *   products all            one call of each family, with sizes that differ
 *   products wrong          calls that fail, and those of a library without functions of 64 bits
 *   products lt              products of cuBLASLt
 *   products lt-wrong        its calls that fail, and one whose sizes nobody knows
 *   products threads        two threads with handles and sizes of their own
 *   products killed        500 products that are waited for, five that are not, and SIGKILL
 *   products left          a call that a signal handler leaves by siglongjmp
 *   products cost N         ns of a call that launches nothing, and of a launch: N thousand of each
 */
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda.h>

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SHOW(call) printf("%.*s: %d\n", (int)strcspn(#call, "("), #call, (int)(call))
#define NO         CUBLAS_OP_N
#define YES        CUBLAS_OP_T
#define LOW        CUBLAS_FILL_MODE_LOWER
#define LEFT       CUBLAS_SIDE_LEFT
#define RIGHT      CUBLAS_SIDE_RIGHT
#define UNIT       CUBLAS_DIAG_UNIT
#define DEFAULT    CUBLAS_GEMM_DEFAULT
#define BATCH_MODE ((cublasLtMatrixLayoutAttribute_t)8) /* not in older headers */

static const float one = 1;
static const double one_d = 1;
static float *a, *b, *c;
static double *a_d, *b_d, *c_d;
static cuComplex *a_c, *b_c, *c_c;
static const float *const *many;
static float *const *out;
static const cuComplex one_c;

static CUcontext use_device(void)
{
	CUcontext context;

	if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context))
		exit(3);
	return context;
}

static cublasHandle_t make_handle(void)
{
	cublasHandle_t handle;

	use_device();
	if (cublasCreate(&handle))
		exit(3);
	return handle;
}

static void products(cublasHandle_t h)
{
	SHOW(cublasSgemm(h, NO, YES, 10, 20, 30, &one, a, 10, b, 20, &one, c, 10));
	SHOW(cublasDgemm(h, NO, NO, 10, 20, 5000, &one_d, a_d, 10, b_d, 5000, &one_d, c_d, 10));
	SHOW(cublasCgemm(h, CUBLAS_OP_C, NO, 4, 5, 6, &one_c, a_c, 6, b_c, 6, &one_c, c_c, 4));
	SHOW(cublasSgemm_64(h, NO, NO, 7, 8, 9, &one, a, 7, b, 9, &one, c, 7));
	SHOW(cublasSgemmEx(h, NO, NO, 16, 16, 16, &one, a, CUDA_R_16BF, 16, b, CUDA_R_16BF, 16,
			   &one, c, CUDA_R_32F, 16));
	SHOW(cublasGemmEx(h, YES, NO, 64, 32, 16, &one, a, CUDA_R_16F, 16, b, CUDA_R_16F, 16, &one,
			  c, CUDA_R_16F, 64, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_ALGO3_TENSOR_OP));
	SHOW(cublasSgemmBatched(h, NO, NO, 3, 4, 5, &one, many, 3, many, 5, &one, out, 3, 6));
	SHOW(cublasSgemmStridedBatched(h, NO, NO, 3, 4, 5, &one, a, 3, 0, b, 5, 20, &one, c, 3, 12,
				       7));
	SHOW(cublasGemmStridedBatchedEx(h, NO, NO, 8, 8, 8, &one, a, CUDA_R_8I, 8, 64, b, CUDA_R_8I,
					8, 64, &one, c, CUDA_R_32I, 8, 64, 9, CUBLAS_COMPUTE_32I,
					DEFAULT));
}

static void others(cublasHandle_t h)
{
	SHOW(cublasSgemv(h, YES, 10, 20, &one, a, 10, b, 1, &one, c, 1));
	SHOW(cublasDger(h, 10, 20, &one_d, a_d, 1, b_d, 1, c_d, 10));
	SHOW(cublasSsymv(h, LOW, 11, &one, a, 11, b, 1, &one, c, 1));
	SHOW(cublasDtrsv(h, LOW, NO, UNIT, 12, a_d, 12, b_d, 1));
	SHOW(cublasSsymm(h, RIGHT, LOW, 10, 20, &one, a, 20, b, 10, &one, c, 10));
	SHOW(cublasSsyrk(h, LOW, NO, 9, 4, &one, a, 9, &one, c, 9));
	SHOW(cublasDsyr2k(h, LOW, NO, 9, 4, &one_d, a_d, 9, b_d, 9, &one_d, c_d, 9));
	SHOW(cublasStrsm(h, LEFT, LOW, NO, UNIT, 6, 5, &one, a, 6, b, 6));
	SHOW(cublasCtrsm(h, RIGHT, LOW, NO, UNIT, 6, 5, &one_c, a_c, 5, b_c, 6));
	SHOW(cublasDtrmm(h, LEFT, LOW, NO, UNIT, 6, 5, &one_d, a_d, 6, b_d, 6, c_d, 6));
	SHOW(cublasSetMathMode(h, CUBLAS_TF32_TENSOR_OP_MATH));
	SHOW(cublasSgemm(h, NO, NO, 32, 32, 32, &one, a, 32, b, 32, &one, c, 32));
}

static int all(void)
{
	cublasHandle_t handle = make_handle();

	products(handle);
	others(handle);
	SHOW(cuCtxSynchronize());
	SHOW(cublasDestroy(handle));
	return 0;
}

static int wrong(void)
{
	cublasHandle_t h = make_handle();

	SHOW(cublasSgemm(NULL, NO, NO, 1, 1, 1, &one, a, 1, b, 1, &one, c, 1));
	SHOW(cublasSgemm(h, NO, NO, -5, 1, 1, &one, a, 1, b, 1, &one, c, 1));
	SHOW(cublasSgemm(h, NO, NO, 0, 1, 1, &one, a, 1, b, 1, &one, c, 1));
	SHOW(cublasGemmEx(h, (cublasOperation_t)700, NO, 2, 2, 2, &one, a, (cudaDataType)-9, 2, b,
			  (cudaDataType)1000, 2, &one, c, (cudaDataType)200, 2,
			  (cublasComputeType_t)9999, (cublasGemmAlgo_t)12345));
	SHOW(cublasSgemm_64(h, NO, NO, 1ll << 40, 1ll << 40, 2, &one, a, 1, b, 1, &one, c, 1));
	SHOW(cublasSgemm_64(h, NO, NO, 1ll << 20, 1ll << 20, 1 << 10, &one, a, 1, b, 1, &one, c,
			    1));
	SHOW(cuCtxSynchronize());
	SHOW(cublasDestroy(h));
	return 0;
}

/* A product of cuBLASLt, with the sizes of op(A) and op(B). */
struct lt_product {
	cublasOperation_t transa, transb;
	int m, n, k;
	cudaDataType a_type, b_type, d_type;
	cublasComputeType_t compute;
	cublasLtEpilogue_t epilogue;
	cublasLtOrder_t order;
	int batch;
	long long step_a;
};

static const struct lt_product lt_products[] = {
	{YES, NO, 1536, 2048, 512, CUDA_R_16BF, CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F,
	 CUBLASLT_EPILOGUE_BIAS, CUBLASLT_ORDER_COL, 1, 0},
	{NO, YES, 10, 20, 30, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32,
	 CUBLASLT_EPILOGUE_DEFAULT, CUBLASLT_ORDER_COL, 1, 0},
	{NO, NO, 7, 8, 9, CUDA_R_16F, CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F,
	 CUBLASLT_EPILOGUE_GELU_AUX_BIAS, CUBLASLT_ORDER_ROW, 1, 0},
	{CUBLAS_OP_C, NO, 3, 4, 5, CUDA_C_32F, CUDA_C_32F, CUDA_C_32F, CUBLAS_COMPUTE_32F,
	 CUBLASLT_EPILOGUE_DEFAULT, CUBLASLT_ORDER_COL, 6, 15},
	{NO, NO, 3, 4, 5, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F,
	 CUBLASLT_EPILOGUE_BGRADA, CUBLASLT_ORDER_ROW, 7, 0},
	{YES, NO, 16, 32, 64, CUDA_R_8F_E4M3, CUDA_R_8F_E5M2, CUDA_R_16BF, CUBLAS_COMPUTE_32F,
	 (cublasLtEpilogue_t)12345, CUBLASLT_ORDER_COL, 1, 0},
};

static cublasLtMatrixLayout_t make_layout(const struct lt_product *of, cublasOperation_t way,
					  cudaDataType type, int rows, int cols, long long step)
{
	int height = way == NO ? rows : cols, width = way == NO ? cols : rows;
	int ld = of->order == CUBLASLT_ORDER_ROW ? width : height;
	cublasLtMatrixLayout_t layout;

	if (cublasLtMatrixLayoutCreate(&layout, type, (uint64_t)height, (uint64_t)width, ld) ||
	    cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_ORDER, &of->order,
					     sizeof(of->order)) ||
	    cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &of->batch,
					     sizeof(of->batch)) ||
	    cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
					     &step, sizeof(step)))
		exit(3);
	return layout;
}

static cublasLtMatmulDesc_t make_product(const struct lt_product *of)
{
	cublasLtMatmulDesc_t product;

	if (cublasLtMatmulDescCreate(&product, of->compute, of->d_type) ||
	    cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_TRANSA, &of->transa,
					   sizeof(of->transa)) ||
	    cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_TRANSB, &of->transb,
					   sizeof(of->transb)) ||
	    cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_EPILOGUE, &of->epilogue,
					   sizeof(of->epilogue)))
		exit(3);
	return product;
}

/* @b_rows: k, of a product that is right. @mode: cublasLtBatchMode_t. */
static void multiply(cublasLtHandle_t handle, const struct lt_product *of, int b_rows, int mode)
{
	cublasLtMatmulDesc_t product = make_product(of);
	cublasLtMatrixLayout_t a_of, b_of, d_of;

	a_of = make_layout(of, of->transa, of->a_type, of->m, of->k, of->step_a);
	b_of = make_layout(of, of->transb, of->b_type, b_rows, of->n, (long long)of->k * of->n);
	d_of = make_layout(of, NO, of->d_type, of->m, of->n, (long long)of->m * of->n);
	if (cublasLtMatrixLayoutSetAttribute(d_of, BATCH_MODE, &mode, sizeof(mode)))
		exit(3);
	SHOW(cublasLtMatmul(handle, product, &one, a, a_of, b, b_of, &one, c, d_of, c, d_of, NULL,
			    NULL, 0, 0));
	cublasLtMatrixLayoutDestroy(a_of);
	cublasLtMatrixLayoutDestroy(b_of);
	cublasLtMatrixLayoutDestroy(d_of);
	cublasLtMatmulDescDestroy(product);
}

static cublasLtHandle_t make_lt_handle(void)
{
	cublasLtHandle_t handle;

	use_device();
	if (cublasLtCreate(&handle))
		exit(3);
	return handle;
}

static int lt(void)
{
	cublasLtHandle_t handle = make_lt_handle();

	for (size_t i = 0; i < sizeof(lt_products) / sizeof(lt_products[0]); i++)
		multiply(handle, &lt_products[i], lt_products[i].k, 0);
	SHOW(cuCtxSynchronize());
	SHOW(cublasLtDestroy(handle));
	return 0;
}

static int lt_wrong(void)
{
	const struct lt_product *of = &lt_products[1];
	cublasLtHandle_t handle = make_lt_handle();
	cublasLtMatrixLayout_t none = (cublasLtMatrixLayout_t)16; /* whoever reads it crashes */

	SHOW(cublasLtMatmul(NULL, (cublasLtMatmulDesc_t)16, &one, a, none, b, none, &one, c, none,
			    c, none, NULL, NULL, 0, 0));
	SHOW(cublasLtMatmul(handle, NULL, &one, a, NULL, b, NULL, &one, c, NULL, c, NULL, NULL,
			    NULL, 0, 0));
	multiply(handle, of, of->k + 1, 0);
	multiply(handle, of, of->k, 2);
	multiply(handle, of, of->k, 1);
	none = make_layout(of, NO, of->a_type, of->m, of->k, 0);
	cublasLtMatrixLayoutDestroy(none); /* without a layout of C nobody looks at it */
	SHOW(cublasLtMatmul(handle, make_product(of), &one, a, none, b, none, &one, c, NULL, c,
			    none, NULL, NULL, 0, 0));
	SHOW(cuCtxSynchronize());
	SHOW(cublasLtDestroy(handle));
	return 0;
}

static void *work(void *data)
{
	int size = *(int *)data;
	cublasHandle_t handle = make_handle();

	for (int i = 0; i < 100; i++)
		cublasSgemm(handle, NO, NO, size, size, size, &one, a, size, b, size, &one, c,
			    size);
	cuCtxSynchronize();
	cublasDestroy(handle);
	return NULL;
}

static int threads(void)
{
	int sizes[] = {100, 200};
	pthread_t thread;

	if (pthread_create(&thread, NULL, work, &sizes[1]))
		return 3;
	work(&sizes[0]);
	return pthread_join(thread, NULL) ? 3 : 0;
}

static int killed(void)
{
	cublasHandle_t handle = make_handle();

	for (int i = 0; i < 505; i++) {
		if (i == 500)
			cuCtxSynchronize();
		cublasSgemm(handle, NO, NO, 10, 20, 30, &one, a, 10, b, 30, &one, c, 10);
	}
	usleep(200000); /* the calls are read and written meanwhile, their kernels are not */
	return kill(getpid(), SIGKILL);
}

static sigjmp_buf back;

static void leave(int number)
{
	(void)number;
	siglongjmp(back, 1);
}

/* A call that a signal handler leaves, and three that return. */
static int left(void)
{
	cublasHandle_t handle = make_handle();

	signal(SIGUSR1, leave);
	setenv("SIM_CUBLAS_RAISE", "1", 1);
	if (!sigsetjmp(back, 1))
		SHOW(cublasSgemm(handle, NO, NO, 10, 20, 30, &one, a, 10, b, 30, &one, c, 10));
	unsetenv("SIM_CUBLAS_RAISE");
	for (int i = 0; i < 3; i++)
		SHOW(cublasDgemm(handle, NO, NO, 4, 4, 4, &one_d, NULL, 4, NULL, 4, &one_d, NULL,
				 4));
	SHOW(cuCtxSynchronize());
	return 0;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* A product of no rows: the library returns at once. */
static int cost(int thousands)
{
	cublasHandle_t h = make_handle();
	double calls = 0, products_ = 0, before;
	struct timespec nap = {0, 20000000};

	for (int i = 0; i < thousands; i++) {
		before = now();
		for (int j = 0; j < 1000; j++)
			cublasSgemm(h, NO, NO, 0, 1, 1, &one, a, 1, b, 1, &one, c, 1);
		calls += now() - before;
		before = now();
		for (int j = 0; j < 1000; j++)
			cublasSgemm(h, NO, NO, 8, 8, 8, &one, a, 8, b, 8, &one, c, 8);
		products_ += now() - before;
		nanosleep(&nap, NULL);
	}
	printf("%.0f ns a call that launches nothing, %.0f ns one with a kernel\n",
	       calls / thousands / 1000, products_ / thousands / 1000);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "cost"))
		return cost(atoi(argv[2]));
	if (argc != 2)
		return 2;
	if (!strcmp(argv[1], "all"))
		return all();
	if (!strcmp(argv[1], "wrong"))
		return wrong();
	if (!strcmp(argv[1], "lt"))
		return lt();
	if (!strcmp(argv[1], "lt-wrong"))
		return lt_wrong();
	if (!strcmp(argv[1], "killed"))
		return killed();
	if (!strcmp(argv[1], "left"))
		return left();
	return !strcmp(argv[1], "threads") ? threads() : 2;
}

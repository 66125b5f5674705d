/* SPDX-License-Identifier: Apache-2.0
 *
 * cublasLtMatmul: D = op(A) op(B), with sizes and types in descriptors that only cuBLASLt can read.
 * Its public getters are asked, on the thread that calls: they read memory only, about 10 ns each
 * (with CUBLASLT_LOG_LEVEL=5 they are in its log). cuBLAS calls this function, too, inside its own.
 */
#include "core/schema/math_call.h"
#include "preload/libraries/cublas_args.h"
#include "preload/libraries/cublas_real.h"
#include "preload/libraries/math.h"

#define EXPORTED __attribute__((visibility("default")))
#define PLAIN    1 /* CUBLAS_OP_N + 1 */

/* cublasLtMatmulDescAttribute_t: all of 4 bytes. */
enum { COMPUTE_TYPE = 0, TRANSA = 3, TRANSB = 4, EPILOGUE = 7 };

/* cublasLtMatrixLayoutAttribute_t: ROWS, COLS, BATCH_STRIDE of 8 bytes, the others of 4. Rows and
 * columns are the same in any memory order. */
enum { TYPE = 0, ROWS = 2, COLS = 3, BATCH_COUNT = 5, BATCH_STRIDE = 6, BATCH_MODE = 8 };

/* cublasLtBatchMode_t. Behind these, sizes may be arrays. */
enum { STRIDED = 0, POINTER_ARRAY = 1 };

typedef int (*lt_getter)(const void *descriptor, int attribute, void *value, size_t size,
			 size_t *written);

/* The descriptors of a call; the layout of C tells nothing that D's does not. */
struct lt_descriptors {
	const void *product, *a, *b, *d;
};

/* @absent: of a library that does not know the attribute, and of a descriptor that is none. */
static int ask(lt_getter get, const void *descriptor, int attribute, int absent)
{
	int32_t value = 0;
	size_t written;

	return get(descriptor, attribute, &value, sizeof(value), &written) ? absent : value;
}

static int64_t ask_size(lt_getter get, const void *layout, int attribute)
{
	int64_t value = 0;
	size_t written;

	return get(layout, attribute, &value, sizeof(value), &written) ? 0 : value;
}

static void read_product(lt_getter get, const void *product, struct gt_math_call *call)
{
	call->compute = compute_of(ask(get, product, COMPUTE_TYPE, LARGEST));
	call->transa = operation(ask(get, product, TRANSA, NO_OPERATION));
	call->transb = operation(ask(get, product, TRANSB, NO_OPERATION));
	call->epilogue = (uint32_t)ask(get, product, EPILOGUE, 0);
}

/* A call of one has no batch count: 1 is the default, and no argument. */
static void read_batch(lt_getter get, const struct lt_descriptors *of, int mode,
		       struct gt_math_call *call)
{
	int batch = ask(get, of->d, BATCH_COUNT, 1);

	if (batch == 1)
		return;
	call->sizes |= GT_MATH_BATCH;
	call->batch = batch;
	if (mode != STRIDED)
		return;
	call->once = (ask_size(get, of->a, BATCH_STRIDE) ? 0 : GT_MATH_SAME_A) |
		     (ask_size(get, of->b, BATCH_STRIDE) ? 0 : GT_MATH_SAME_B);
}

static void read_layouts(lt_getter get, const struct lt_descriptors *of, struct gt_math_call *call)
{
	int mode = ask(get, of->d, BATCH_MODE, STRIDED);

	if (mode != STRIDED && mode != POINTER_ARRAY)
		return;
	call->sizes = GT_MATH_M | GT_MATH_N | GT_MATH_K;
	call->m = ask_size(get, of->d, ROWS);
	call->n = ask_size(get, of->d, COLS);
	call->k = ask_size(get, of->a, call->transa == PLAIN ? COLS : ROWS);
	call->a = plus_1(ask(get, of->a, TYPE, LARGEST));
	call->b = plus_1(ask(get, of->b, TYPE, LARGEST));
	call->c = plus_1(ask(get, of->d, TYPE, LARGEST));
	read_batch(get, of, mode, call);
}

/* Without a handle the library looks at nothing: neither do we. */
static void describe(const void *handle, const struct lt_descriptors *of, struct gt_math_call *call)
{
	lt_getter product = (lt_getter)cublas_getter(CUBLAS_LT_PRODUCT);
	lt_getter layout = (lt_getter)cublas_getter(CUBLAS_LT_LAYOUT);

	if (!handle || !of->product || !of->a || !of->b || !of->d || !product || !layout)
		return;
	read_product(product, of->product, call);
	read_layouts(layout, of, call);
}

EXPORTED int cublasLtMatmul(void *handle, const void *product, const void *alpha, const void *a,
			    const void *a_layout, const void *b, const void *b_layout,
			    const void *beta, const void *c, const void *c_layout, void *d,
			    const void *d_layout, const void *algorithm, void *workspace,
			    size_t workspace_size, void *stream);
int cublasLtMatmul(void *handle, const void *product, const void *alpha, const void *a,
		   const void *a_layout, const void *b, const void *b_layout, const void *beta,
		   const void *c, const void *c_layout, void *d, const void *d_layout,
		   const void *algorithm, void *workspace, size_t workspace_size, void *stream)
{
	__typeof__(cublasLtMatmul) *real =
		(__typeof__(cublasLtMatmul) *)cublas_real(GT_MATH_cublasLtMatmul);
	const struct lt_descriptors descriptors = {product, a_layout, b_layout, d_layout};
	struct gt_math_call call = {.function = GT_MATH_cublasLtMatmul};
	struct math_entry entry;
	int result;

	if (!real)
		return CUBLAS_NOT_SUPPORTED;
	if (math_is_told() && cublas_is_known(true))
		describe(handle, &descriptors, &call);
	math_begin(&entry, &call);
	result = real(handle, product, alpha, a, a_layout, b, b_layout, beta, c, c_layout, d,
		      d_layout, algorithm, workspace, workspace_size, stream);
	math_end(&entry, result);
	return result;
}

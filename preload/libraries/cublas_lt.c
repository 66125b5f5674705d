/* SPDX-License-Identifier: Apache-2.0
 *
 * cublasLtMatmul: D = op(A) op(B), with sizes and types in descriptors that only cuBLASLt can read.
 * Its public getters are asked, on the thread that calls: they read memory only, about 10 ns each
 * (with CUBLASLT_LOG_LEVEL=5 they are in its log). cuBLAS calls this function, too, inside its own.
 */
#include "core/schema/math_call.h"
#include "preload/libraries/cublas_args.h"
#include "preload/libraries/cublas_real.h"
#include "preload/libraries/freed.h"
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

/* False, and 0, of a descriptor that is none. */
static bool ask_size(lt_getter get, const void *layout, int attribute, int64_t *ret_value)
{
	size_t written;

	*ret_value = 0;
	return !get(layout, attribute, ret_value, sizeof(*ret_value), &written);
}

static uint8_t same_for_all(lt_getter get, const void *layout, uint8_t which)
{
	int64_t stride;

	ask_size(get, layout, BATCH_STRIDE, &stride);
	return stride ? 0 : which;
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
	call->once = (same_for_all(get, of->a, GT_MATH_SAME_A) |
		      same_for_all(get, of->b, GT_MATH_SAME_B)) &
		     3;
}

static void read_layouts(lt_getter get, const struct lt_descriptors *of, struct gt_math_call *call)
{
	int mode = ask(get, of->d, BATCH_MODE, STRIDED);

	if (mode != STRIDED && mode != POINTER_ARRAY)
		return;
	if (!ask_size(get, of->d, ROWS, &call->m) || !ask_size(get, of->d, COLS, &call->n) ||
	    !ask_size(get, of->a, call->transa == PLAIN ? COLS : ROWS, &call->k)) {
		call->unknown = GT_MATH_UNKNOWN_DESCRIPTOR;
		return;
	}
	call->sizes = GT_MATH_M | GT_MATH_N | GT_MATH_K;
	call->a = plus_1(ask(get, of->a, TYPE, LARGEST));
	call->b = plus_1(ask(get, of->b, TYPE, LARGEST));
	call->c = plus_1(ask(get, of->d, TYPE, LARGEST));
	read_batch(get, of, mode, call);
}

static bool is_unusable(const void *descriptor)
{
	return !descriptor || freed_has((uintptr_t)descriptor);
}

/* What has been destroyed is not asked. */
static bool can_be_asked(const struct lt_descriptors *of, struct gt_math_call *call)
{
	const void *const all[] = {of->product, of->a, of->b, of->d};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (is_unusable(all[i]))
			freed_blame((uintptr_t)all[i], call);
	return !call->unknown;
}

/* Without a handle the library looks at nothing: neither do we. */
static void describe(const void *handle, const struct lt_descriptors *of, struct gt_math_call *call)
{
	lt_getter product = (lt_getter)cublas_getter(CUBLAS_LT_PRODUCT);
	lt_getter layout = (lt_getter)cublas_getter(CUBLAS_LT_LAYOUT);

	if (!handle)
		freed_blame(0, call);
	if (!handle || !can_be_asked(of, call) || !product || !layout)
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
	if (math_is_told() && !cublas_is_known(true))
		call.unknown = GT_MATH_UNKNOWN_VERSION;
	else if (math_is_told())
		describe(handle, &descriptors, &call);
	math_begin(&entry, &call);
	result = real(handle, product, alpha, a, a_layout, b, b_layout, beta, c, c_layout, d,
		      d_layout, algorithm, workspace, workspace_size, stream);
	math_end(&entry, result);
	return result;
}

/* ---- which descriptors are gone ---- */

/* Defines a function that goes on to cuBLASLt: @before and @after, which has the result. */
#define PASS(symbol, id, parameters, arguments, before, after)                                     \
	EXPORTED int symbol parameters;                                                            \
	int symbol parameters                                                                      \
	{                                                                                          \
		int(*real) parameters = (int(*) parameters)cublas_getter_of(                       \
			CUBLAS_LT_##id, __builtin_return_address(0));                              \
		int result;                                                                        \
                                                                                                   \
		if (!real) {                                                                       \
			math_missing(#symbol, "libcublasLt");                                      \
			return CUBLAS_NOT_SUPPORTED;                                               \
		}                                                                                  \
		before;                                                                            \
		result = real arguments;                                                           \
		after;                                                                             \
		return result;                                                                     \
	}

#define NOTHING   (void)0
#define GONE(of)  freed_note((uintptr_t)(of))
#define THERE(of) freed_forget((uintptr_t)(of))
#define MADE(of)  THERE((of) && !result ? *(of) : NULL)

PASS(cublasLtMatmulDescCreate, PRODUCT_CREATE, (void **made, int compute, int scale),
     (made, compute, scale), NOTHING, MADE(made))
PASS(cublasLtMatmulDescInit_internal, PRODUCT_INIT,
     (void *product, size_t size, int compute, int scale), (product, size, compute, scale),
     THERE(product), NOTHING)
PASS(cublasLtMatmulDescDestroy, PRODUCT_DESTROY, (void *product), (product), GONE(product), NOTHING)
PASS(cublasLtMatrixLayoutCreate, LAYOUT_CREATE,
     (void **made, int type, uint64_t rows, uint64_t cols, int64_t leading),
     (made, type, rows, cols, leading), NOTHING, MADE(made))
PASS(cublasLtMatrixLayoutInit_internal, LAYOUT_INIT,
     (void *layout, size_t size, int type, uint64_t rows, uint64_t cols, int64_t leading),
     (layout, size, type, rows, cols, leading), THERE(layout), NOTHING)
PASS(cublasLtMatrixLayoutDestroy, LAYOUT_DESTROY, (void *layout), (layout), GONE(layout), NOTHING)

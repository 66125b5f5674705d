/* SPDX-License-Identifier: Apache-2.0
 *
 * cuBLAS's matrix functions: these definitions come before those of libcublas.so and go on to them.
 * A library of its own, preloaded by run --libraries=cublas alone: a program that asks dlsym for a
 * cublas function must not find one where there is no cuBLAS. Enums are ints, handles are pointers;
 * what the functions are is in core/schema/cublas.def, and here what parameters each family has.
 *
 * A function that this cuBLAS does not have is refused: without us the loader would have ended the
 * program at this call.
 */
#include "core/schema/math_call.h"
#include "preload/libraries/cublas_args.h"
#include "preload/libraries/cublas_real.h"
#include "preload/libraries/math.h"

#define EXPORTED __attribute__((visibility("default")))

/* cudaDataType + 1 of the first operands and of the result, and cublasComputeType_t. */
#define IN_S     1
#define IN_D     2
#define IN_C     5
#define IN_Z     6
#define IN_H     3
#define IN_HSH   3
#define IN_HSS   3
#define IN_TST   15
#define IN_TSS   15
#define OUT_S    1
#define OUT_D    2
#define OUT_C    5
#define OUT_Z    6
#define OUT_H    3
#define OUT_HSH  3
#define OUT_HSS  1
#define OUT_TST  15
#define OUT_TSS  1
#define BY_S     68
#define BY_D     70
#define BY_C     68
#define BY_Z     70
#define BY_H     64
#define BY_HSH   68
#define BY_HSS   68
#define BY_TST   68
#define BY_TSS   68

#define M        GT_MATH_M
#define N        GT_MATH_N
#define K        GT_MATH_K
#define BATCH    GT_MATH_BATCH

/* Defines the function @symbol: @parameters as the program gives them, @arguments to go on with,
 * then members of the struct gt_math_call. */
#define WRAP(symbol, parameters, arguments, ...)                                                   \
	EXPORTED int symbol parameters;                                                            \
	int symbol parameters                                                                      \
	{                                                                                          \
		int(*real) parameters = (int(*) parameters)cublas_real(GT_MATH_##symbol);          \
		struct gt_math_call call = {.function = GT_MATH_##symbol, __VA_ARGS__};            \
		struct math_entry entry;                                                           \
		int result;                                                                        \
                                                                                                   \
		if (!real)                                                                         \
			return CUBLAS_NOT_SUPPORTED;                                               \
		if (math_is_told() && !cublas_is_known(false))                                     \
			call = (struct gt_math_call){.function = GT_MATH_##symbol,                 \
						     .unknown = GT_MATH_UNKNOWN_VERSION};          \
		else if (math_is_told())                                                           \
			call.compute = cublas_compute_of(handle, call.a, call.compute);            \
		math_begin(&entry, &call);                                                         \
		result = real arguments;                                                           \
		math_end(&entry, result);                                                          \
		return result;                                                                     \
	}

#define TYPES(t)    .a = IN_##t, .b = IN_##t, .c = OUT_##t, .compute = BY_##t
#define TYPES_2(t)  .a = IN_##t, .b = IN_##t, .compute = BY_##t
#define TYPES_AC(t) .a = IN_##t, .c = OUT_##t, .compute = BY_##t

#define ONCE(step_a, step_b)                                                                       \
	(uint8_t)(((step_a) ? 0 : GT_MATH_SAME_A) | ((step_b) ? 0 : GT_MATH_SAME_B))

#define GEMV(symbol, I, t)                                                                         \
	WRAP(symbol,                                                                               \
	     (void *handle, int trans, I m, I n, const void *alpha, const void *a, I lda,          \
	      const void *x, I incx, const void *beta, void *y, I incy),                           \
	     (handle, trans, m, n, alpha, a, lda, x, incx, beta, y, incy), TYPES(t),               \
	     .sizes = M | N, .m = m, .n = n, .transa = operation(trans))
#define GEMV_BATCHED(symbol, I, t)                                                                 \
	WRAP(symbol,                                                                               \
	     (void *handle, int trans, I m, I n, const void *alpha, const void *a, I lda,          \
	      const void *x, I incx, const void *beta, void *y, I incy, I batch),                  \
	     (handle, trans, m, n, alpha, a, lda, x, incx, beta, y, incy, batch), TYPES(t),        \
	     .sizes = M | N | BATCH, .m = m, .n = n, .batch = batch, .transa = operation(trans))
#define GEMV_STRIDED(symbol, I, t)                                                                 \
	WRAP(symbol,                                                                               \
	     (void *handle, int trans, I m, I n, const void *alpha, const void *a, I lda,          \
	      long long step_a, const void *x, I incx, long long step_x, const void *beta,         \
	      void *y, I incy, long long step_y, I batch),                                         \
	     (handle, trans, m, n, alpha, a, lda, step_a, x, incx, step_x, beta, y, incy, step_y,  \
	      batch),                                                                              \
	     TYPES(t), .sizes = M | N | BATCH, .m = m, .n = n, .batch = batch,                     \
	     .transa = operation(trans), .once = ONCE(step_a, step_x))
#define TRMV(symbol, I, t)                                                                         \
	WRAP(symbol,                                                                               \
	     (void *handle, int uplo, int trans, int diag, I n, const void *a, I lda, void *x,     \
	      I incx),                                                                             \
	     (handle, uplo, trans, diag, n, a, lda, x, incx), TYPES_2(t), .sizes = N, .n = n,      \
	     .transa = operation(trans))
#define SYMV(symbol, I, t)                                                                         \
	WRAP(symbol,                                                                               \
	     (void *handle, int uplo, I n, const void *alpha, const void *a, I lda, const void *x, \
	      I incx, const void *beta, void *y, I incy),                                          \
	     (handle, uplo, n, alpha, a, lda, x, incx, beta, y, incy), TYPES(t), .sizes = N,       \
	     .n = n)
#define GER(symbol, I, t)                                                                          \
	WRAP(symbol,                                                                               \
	     (void *handle, I m, I n, const void *alpha, const void *x, I incx, const void *y,     \
	      I incy, void *a, I lda),                                                             \
	     (handle, m, n, alpha, x, incx, y, incy, a, lda), TYPES(t), .sizes = M | N, .m = m,    \
	     .n = n)

/* What all forms of a product have in common. */
#define SIZES_OF_PRODUCT                                                                           \
	.m = m, .n = n, .k = k, .transa = operation(transa), .transb = operation(transb)
#define GIVEN_TYPES .a = plus_1(atype), .b = plus_1(btype), .c = plus_1(ctype)
#define ALGORITHM   .has_algorithm = true, .algorithm = algorithm
#define GIVEN_WAY   .compute = compute_of(compute), ALGORITHM

#define GEMM(symbol, I, t)                                                                         \
	WRAP(symbol,                                                                               \
	     (void *handle, int transa, int transb, I m, I n, I k, const void *alpha,              \
	      const void *a, I lda, const void *b, I ldb, const void *beta, void *c, I ldc),       \
	     (handle, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc), TYPES(t),     \
	     .sizes = M | N | K, SIZES_OF_PRODUCT)
#define GEMM_TYPED(symbol, I, t)                                                                   \
	WRAP(symbol,                                                                               \
	     (void *handle, int transa, int transb, I m, I n, I k, const void *alpha,              \
	      const void *a, int atype, I lda, const void *b, int btype, I ldb, const void *beta,  \
	      void *c, int ctype, I ldc),                                                          \
	     (handle, transa, transb, m, n, k, alpha, a, atype, lda, b, btype, ldb, beta, c,       \
	      ctype, ldc),                                                                         \
	     GIVEN_TYPES, .compute = BY_##t, .sizes = M | N | K, SIZES_OF_PRODUCT)
#define GEMM_EX(symbol, I, t)                                                                      \
	WRAP(symbol,                                                                               \
	     (void *handle, int transa, int transb, I m, I n, I k, const void *alpha,              \
	      const void *a, int atype, I lda, const void *b, int btype, I ldb, const void *beta,  \
	      void *c, int ctype, I ldc, int compute, int algorithm),                              \
	     (handle, transa, transb, m, n, k, alpha, a, atype, lda, b, btype, ldb, beta, c,       \
	      ctype, ldc, compute, algorithm),                                                     \
	     GIVEN_TYPES, GIVEN_WAY, .sizes = M | N | K, SIZES_OF_PRODUCT)
#define GEMM_BATCHED(symbol, I, t)                                                                 \
	WRAP(symbol,                                                                               \
	     (void *handle, int transa, int transb, I m, I n, I k, const void *alpha,              \
	      const void *a, I lda, const void *b, I ldb, const void *beta, void *c, I ldc,        \
	      I batch),                                                                            \
	     (handle, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, batch),        \
	     TYPES(t), .sizes = M | N | K | BATCH, SIZES_OF_PRODUCT, .batch = batch)
#define GEMM_BATCHED_EX(symbol, I, t)                                                              \
	WRAP(symbol,                                                                               \
	     (void *handle, int transa, int transb, I m, I n, I k, const void *alpha,              \
	      const void *a, int atype, I lda, const void *b, int btype, I ldb, const void *beta,  \
	      void *c, int ctype, I ldc, I batch, int compute, int algorithm),                     \
	     (handle, transa, transb, m, n, k, alpha, a, atype, lda, b, btype, ldb, beta, c,       \
	      ctype, ldc, batch, compute, algorithm),                                              \
	     GIVEN_TYPES, GIVEN_WAY, .sizes = M | N | K | BATCH, SIZES_OF_PRODUCT, .batch = batch)
#define GEMM_STRIDED(symbol, I, t)                                                                 \
	WRAP(symbol,                                                                               \
	     (void *handle, int transa, int transb, I m, I n, I k, const void *alpha,              \
	      const void *a, I lda, long long step_a, const void *b, I ldb, long long step_b,      \
	      const void *beta, void *c, I ldc, long long step_c, I batch),                        \
	     (handle, transa, transb, m, n, k, alpha, a, lda, step_a, b, ldb, step_b, beta, c,     \
	      ldc, step_c, batch),                                                                 \
	     TYPES(t), .sizes = M | N | K | BATCH, SIZES_OF_PRODUCT, .batch = batch,               \
	     .once = ONCE(step_a, step_b))
#define GEMM_STRIDED_EX(symbol, I, t)                                                              \
	WRAP(symbol,                                                                               \
	     (void *handle, int transa, int transb, I m, I n, I k, const void *alpha,              \
	      const void *a, int atype, I lda, long long step_a, const void *b, int btype, I ldb,  \
	      long long step_b, const void *beta, void *c, int ctype, I ldc, long long step_c,     \
	      I batch, int compute, int algorithm),                                                \
	     (handle, transa, transb, m, n, k, alpha, a, atype, lda, step_a, b, btype, ldb,        \
	      step_b, beta, c, ctype, ldc, step_c, batch, compute, algorithm),                     \
	     GIVEN_TYPES, GIVEN_WAY, .sizes = M | N | K | BATCH, SIZES_OF_PRODUCT, .batch = batch, \
	     .once = ONCE(step_a, step_b))

#define SYRK(symbol, I, t)                                                                         \
	WRAP(symbol,                                                                               \
	     (void *handle, int uplo, int trans, I n, I k, const void *alpha, const void *a,       \
	      I lda, const void *beta, void *c, I ldc),                                            \
	     (handle, uplo, trans, n, k, alpha, a, lda, beta, c, ldc), TYPES_AC(t),                \
	     .sizes = N | K, .n = n, .k = k, .transa = operation(trans))
#define SYRK_TYPED(symbol, I, t)                                                                   \
	WRAP(symbol,                                                                               \
	     (void *handle, int uplo, int trans, I n, I k, const void *alpha, const void *a,       \
	      int atype, I lda, const void *beta, void *c, int ctype, I ldc),                      \
	     (handle, uplo, trans, n, k, alpha, a, atype, lda, beta, c, ctype, ldc),               \
	     .a = plus_1(atype), .c = plus_1(ctype), .compute = BY_##t, .sizes = N | K, .n = n,    \
	     .k = k, .transa = operation(trans))
#define SYR2K(symbol, I, t)                                                                        \
	WRAP(symbol,                                                                               \
	     (void *handle, int uplo, int trans, I n, I k, const void *alpha, const void *a,       \
	      I lda, const void *b, I ldb, const void *beta, void *c, I ldc),                      \
	     (handle, uplo, trans, n, k, alpha, a, lda, b, ldb, beta, c, ldc), TYPES(t),           \
	     .sizes = N | K, .n = n, .k = k, .transa = operation(trans))
#define SYMM(symbol, I, t)                                                                         \
	WRAP(symbol,                                                                               \
	     (void *handle, int side, int uplo, I m, I n, const void *alpha, const void *a, I lda, \
	      const void *b, I ldb, const void *beta, void *c, I ldc),                             \
	     (handle, side, uplo, m, n, alpha, a, lda, b, ldb, beta, c, ldc), TYPES(t),            \
	     .sizes = M | N, .m = m, .n = n, .side = side_of(side))
#define TRSM(symbol, I, t)                                                                         \
	WRAP(symbol,                                                                               \
	     (void *handle, int side, int uplo, int trans, int diag, I m, I n, const void *alpha,  \
	      const void *a, I lda, void *b, I ldb),                                               \
	     (handle, side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb), TYPES_2(t),           \
	     .sizes = M | N, .m = m, .n = n, .side = side_of(side), .transa = operation(trans))
#define TRSM_BATCHED(symbol, I, t)                                                                 \
	WRAP(symbol,                                                                               \
	     (void *handle, int side, int uplo, int trans, int diag, I m, I n, const void *alpha,  \
	      const void *a, I lda, void *b, I ldb, I batch),                                      \
	     (handle, side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb, batch), TYPES_2(t),    \
	     .sizes = M | N | BATCH, .batch = batch, .m = m, .n = n, .side = side_of(side),        \
	     .transa = operation(trans))
#define TRMM(symbol, I, t)                                                                         \
	WRAP(symbol,                                                                               \
	     (void *handle, int side, int uplo, int trans, int diag, I m, I n, const void *alpha,  \
	      const void *a, I lda, const void *b, I ldb, void *c, I ldc),                         \
	     (handle, side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb, c, ldc), TYPES(t),     \
	     .sizes = M | N, .m = m, .n = n, .side = side_of(side), .transa = operation(trans))

/* Has descriptors in place of arguments: cublas_lt.c. */
#define LT_MATMUL(symbol, I, t)

#define GT_CUBLAS(family, formula, symbol, name, index, types) family(symbol, index, types)
#include "core/schema/cublas.def"

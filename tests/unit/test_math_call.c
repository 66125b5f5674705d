/* SPDX-License-Identifier: Apache-2.0
 *
 * How much a call computes, against sums that count one operation after the other.
 */
#include <criterion/criterion.h>

#include <string.h>

#include "core/schema/calls/shapes.h"
#include "core/schema/library_call.h"

#define FLOAT   1
#define COMPLEX 5

static struct gt_math_call counted(struct gt_math_call call)
{
	if (!call.a)
		call.a = FLOAT;
	gt_math_count(&call);
	return call;
}

Test(math_call, product)
{
	struct gt_math_call call = {
		.function = GT_MATH_cublasSgemm_v2, .m = 3, .n = 4, .k = 5, .b = FLOAT, .c = FLOAT};

	cr_assert_eq(counted(call).flops, 2 * 3 * 4 * 5);
	cr_assert_eq(counted(call).bytes, 4 * (15 + 20 + 12));
	call.a = COMPLEX;
	cr_assert_eq(counted(call).flops, 8 * 3 * 4 * 5);
	call.k = 0;
	cr_assert_eq(counted(call).flops, 0);
	call.k = -1;
	cr_assert_eq(counted(call).flops, 0);
	cr_assert(!counted(call).overflow);
}

Test(math_call, batch_that_shares_a_matrix)
{
	struct gt_math_call call = {.function = GT_MATH_cublasSgemmStridedBatched,
				    .m = 3,
				    .n = 4,
				    .k = 5,
				    .batch = 7,
				    .sizes = GT_MATH_BATCH,
				    .b = FLOAT,
				    .c = FLOAT,
				    .once = GT_MATH_SAME_A};

	cr_assert_eq(counted(call).flops, 7 * 2 * 3 * 4 * 5);
	cr_assert_eq(counted(call).bytes, 4 * (15 + 7 * 20 + 7 * 12));
	call.once = GT_MATH_SAME_B;
	cr_assert_eq(counted(call).bytes, 4 * (7 * 15 + 20 + 7 * 12));
}

/* As FFTW counts, rounded; a real side is half of the other, and one. */
Test(math_call, transform)
{
	struct gt_math_call call = {.function = GT_MATH_cufftExecC2C,
				    .sizes = GT_MATH_M | GT_MATH_BATCH,
				    .m = 1024,
				    .batch = 3,
				    .a = COMPLEX,
				    .c = COMPLEX};

	cr_assert_eq(counted(call).flops, 3 * 5 * 1024 * 10);
	cr_assert_eq(counted(call).bytes, 3 * 2 * 8 * 1024);
	call.m = 1000; /* 149486.76 */
	cr_assert_eq(counted(call).flops, 149487);
	call.sizes |= GT_MATH_N;
	call.n = 7;
	call.a = FLOAT; /* 670589.81 */
	cr_assert_eq(counted(call).flops, 670590);
	cr_assert_eq(counted(call).bytes, 3 * (4 * 7000 + 8 * 1000 * 4));
	call.m = 1;
	call.n = 1;
	cr_assert_eq(counted(call).flops, 0);
	call.batch = 0;
	cr_assert(!counted(call).overflow);
}

Test(math_call, transform_that_is_too_large)
{
	struct gt_math_call call = {.function = GT_MATH_cufftXtExec,
				    .sizes = GT_MATH_M | GT_MATH_N,
				    .m = 1ll << 28,
				    .n = 1ll << 26,
				    .a = COMPLEX,
				    .c = COMPLEX};

	cr_assert_eq(counted(call).flops, 5 * (UINT64_C(1) << 54) * 54);
	call.n = 1ll << 28; /* 2.0e19 */
	cr_assert(counted(call).overflow);
	cr_assert_eq(counted(call).flops, 0);
	cr_assert_eq(counted(call).bytes, UINT64_C(1) << 60);
	call.n = 1ll << 40;
	cr_assert(counted(call).overflow);
	cr_assert_eq(counted(call).bytes, 0);
}

static const struct gt_shapes convolution = {.rank = 4,
					     .is_convolution = true,
					     .input = {8, 64, 56, 57},
					     .channels = 128,
					     .groups = 2,
					     .filter = {3, 5},
					     .padding = {1, 2},
					     .stride = {2, 1},
					     .dilation = {1, 2}};

Test(math_call, convolution)
{
	struct gt_shapes again;
	uint8_t bytes[GT_SHAPES_BYTES];

	cr_assert(gt_shapes_code(&convolution, bytes));
	cr_assert(gt_shapes_decode(bytes, &again));
	cr_assert_eq(gt_shapes_output(&again, 0), 28);
	cr_assert_eq(gt_shapes_output(&again, 1), 53);
	again.stride[0] = 0;
	cr_assert_eq(gt_shapes_output(&again, 0), 0);
	again.rank = 40;
	cr_assert(!gt_shapes_code(&again, bytes));
	cr_assert(!gt_shapes_decode(bytes, &again));
}

/* Any bytes are read without harm, and what does not fit is left out. */
Test(math_call, any_shapes)
{
	struct gt_shapes shapes;
	uint8_t bytes[GT_SHAPES_BYTES];
	char text[GT_SHAPES_TEXT];

	for (unsigned int i = 0; i < 4096; i++) {
		for (unsigned int j = 0; j < sizeof(bytes); j++)
			bytes[j] = (uint8_t)((i + 1) * 2654435761u * (j + 1) >> (i % 23));
		bytes[0] = (uint8_t)(128 | (3 + i % 3));
		if (!gt_shapes_decode(bytes, &shapes))
			continue;
		for (int part = 0; part < GT_SHAPES_PART_COUNT_; part++)
			cr_assert(gt_shapes_text(&shapes, (enum gt_shapes_part)part, text) <
				  sizeof(text));
	}
	memset(bytes, 255, sizeof(bytes));
	cr_assert(!gt_shapes_decode(bytes, &shapes));
	shapes = convolution;
	for (int i = 0; i < 4; i++)
		shapes.input[i] = UINT64_MAX;
	cr_assert(!gt_shapes_code(&shapes, bytes));
	cr_assert_eq(bytes[0], 0);
}

/* What is written of a call of cuDNN is read again. */
Test(math_call, network)
{
	struct gt_library_call call = {.is_math = true, .result = 0}, again = {.is_math = true};
	char text[GT_LIBRARY_TEXT_MAX];
	size_t length;

	call.math.function = GT_MATH_cudnnBackendExecute;
	call.math.operations = GT_MATH_CONVOLUTION | GT_MATH_POINTWISE << 4 | GT_MATH_MORE << 8;
	call.math.a = FLOAT;
	cr_assert(gt_shapes_code(&convolution, call.math.shapes));
	length = gt_library_text(&call, true, text);
	cr_assert(strstr(text, "input: 8x64x56x57, filter: 128x32x3x5, output: 8x128x28x53"));
	cr_assert(strstr(text, "operations: conv+pointwise+more"));
	gt_library_parse(text, length, &again);
	cr_assert(!memcmp(&again, &call, sizeof(call)));
}

/* x[i] = (b[i] - sum over j < i of a[i][j] x[j]) / a[i][i], for each column. */
Test(math_call, solution)
{
	for (int64_t m = 0; m < 9; m++) {
		struct gt_math_call call = {
			.function = GT_MATH_cublasStrsm_v2, .m = m, .n = 5, .side = 1, .b = FLOAT};
		uint64_t operations = 0, complex_ones = 0;

		for (int64_t i = 0; i < m; i++) {
			operations += (uint64_t)(5 * (2 * i + 1));
			complex_ones += (uint64_t)(5 * (8 * i + 6));
		}
		cr_assert_eq(counted(call).flops, operations);
		call.a = COMPLEX;
		cr_assert_eq(counted(call).flops, complex_ones);
		call = (struct gt_math_call){
			.function = GT_MATH_cublasStrsm_v2, .m = 5, .n = m, .side = 2, .b = FLOAT};
		cr_assert_eq(counted(call).flops, operations);
	}
}

/* LU and Cholesky, one element after the other; a square root counts as a multiplication, as does
 * the reciprocal of a pivot. */
Test(math_call, factorization)
{
	for (int64_t m = 0; m < 9; m++)
		for (int64_t n = 0; n < 9; n++) {
			struct gt_math_call call = {
				.function = GT_MATH_cusolverDnSgetrf, .m = m, .n = n};
			uint64_t multiplications = 0, additions = 0;

			for (int64_t i = 0; i < m && i < n; i++) {
				multiplications += (uint64_t)(1 + (m - 1 - i) * (n - i));
				additions += (uint64_t)((m - 1 - i) * (n - 1 - i));
			}
			cr_assert_eq(counted(call).flops, multiplications + additions);
			call.a = COMPLEX;
			cr_assert_eq(counted(call).flops, 6 * multiplications + 2 * additions);
			cr_assert_eq(counted(call).bytes, (uint64_t)(8 * m * n));
		}
	for (int64_t n = 0; n < 9; n++) {
		struct gt_math_call call = {.function = GT_MATH_cusolverDnSpotrf, .n = n};
		uint64_t operations = 0;

		for (int64_t i = 0; i < n; i++)
			operations += (uint64_t)(1 + 2 * i + (n - 1 - i) * (2 * i + 1));
		cr_assert_eq(counted(call).flops, operations);
	}
}

/* By hand, from the formulas of the note. */
Test(math_call, orthogonal)
{
	struct gt_math_call call = {.function = GT_MATH_cusolverDnSgeqrf, .m = 3, .n = 5};

	cr_assert_eq(counted(call).flops, 73 + 49);
	call = (struct gt_math_call){.function = GT_MATH_cusolverDnSorgqr, .m = 6, .n = 4, .k = 4};
	cr_assert_eq(counted(call).flops, 84 + 68);
	call = (struct gt_math_call){
		.function = GT_MATH_cusolverDnSormqr, .m = 5, .n = 7, .k = 3, .side = 2};
	cr_assert_eq(counted(call).flops, 198 + 180);
	call.k = 1000; /* more reflectors than there can be */
	cr_assert_eq(counted(call).flops, 0);
	cr_assert(!counted(call).overflow);
	call.function = GT_MATH_cusolverDnSpotri;
	call.n = 3;
	cr_assert_eq(counted(call).flops, 20 + 5);
	call.n = INT64_MAX;
	cr_assert(counted(call).overflow);
}

/* The largest size whose count fits into 63 bits, from sums of unlimited length, and the next. */
Test(math_call, border_of_solutions)
{
	static const struct {
		struct gt_math_call call;
		int64_t largest;
		uint64_t flops;
	} rows[] = {
		{{.function = GT_MATH_cusolverDnSgeqrf, .n = 7},
		 87841638446235961,
		 9223372036854775758u},
		{{.function = GT_MATH_cusolverDnSgetrs, .n = 3},
		 614891469123651720,
		 9223372036854775800u},
		{{.function = GT_MATH_cusolverDnSormqr, .m = 5, .k = 3, .side = 1},
		 180850432095191682,
		 9223372036854775782u},
		{{.function = GT_MATH_cusolverDnSorgqr, .n = 4, .k = 4},
		 329406144173384850,
		 9223372036854775784u},
		{{.function = GT_MATH_cusolverDnSgetrf, .n = 2},
		 2305843009213693952,
		 9223372036854775805u},
		{{.function = GT_MATH_cusolverDnSgetrf, .m = 2},
		 4611686018427387903,
		 9223372036854775807u},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct gt_math_call call = rows[i].call;
		int64_t *grows = !call.m ? &call.m : !call.n ? &call.n : &call.k;

		grows = i == 1 ? &call.k : grows;
		*grows = rows[i].largest;
		cr_assert_eq(counted(call).flops, rows[i].flops, "%zu", i);
		cr_assert(!counted(call).overflow, "%zu", i);
		++*grows;
		cr_assert_eq(counted(call).flops, 0, "%zu", i);
		cr_assert(counted(call).overflow, "%zu", i);
	}
}

/* The half of a product of an n x k matrix with its transpose that is stored. */
Test(math_call, half_of_a_product)
{
	for (int64_t n = 0; n < 9; n++) {
		struct gt_math_call call = {
			.function = GT_MATH_cublasSsyrk_v2, .n = n, .k = 4, .c = FLOAT};
		uint64_t elements = 0;

		for (int64_t i = 0; i < n; i++)
			elements += (uint64_t)i + 1;
		cr_assert_eq(counted(call).flops, elements * 2 * 4);
		cr_assert_eq(counted(call).bytes, 4 * ((uint64_t)n * 4 + elements));
	}
}

Test(math_call, too_large_is_said)
{
	struct gt_math_call call = {.function = GT_MATH_cublasSgemm_v2_64,
				    .n = 1ll << 31,
				    .k = 1,
				    .b = FLOAT,
				    .c = FLOAT};

	call.m = 1ll << 30;
	cr_assert_eq(counted(call).flops, 1ull << 62);
	cr_assert(!counted(call).overflow);
	call.m = 1ll << 31;
	cr_assert(counted(call).overflow);
	cr_assert_eq(counted(call).flops, 0);
	call.m = INT64_MAX;
	call.n = INT64_MAX;
	call.k = INT64_MAX;
	cr_assert(counted(call).overflow);
	cr_assert_eq(counted(call).bytes, 0);
	call.k = 0; /* nothing to do */
	cr_assert(!counted(call).overflow);
}

Test(math_call, nothing_is_claimed_of_what_is_not_known)
{
	struct gt_math_call call = {.function = GT_MATH_cublasGemmEx,
				    .m = 2,
				    .n = 2,
				    .k = 2,
				    .a = 200,
				    .b = FLOAT,
				    .c = FLOAT};

	cr_assert_eq(counted(call).flops, 0);
	call.function = GT_MATH_FUNCTION_COUNT_;
	call.a = FLOAT;
	cr_assert_eq(counted(call).flops, 0);
}

Test(math_call, names_lead_back)
{
	for (unsigned int i = 1; i < GT_MATH_FUNCTION_COUNT_; i++) {
		const char *name = gt_math_function(i);

		cr_assert_eq(gt_math_find_function(name, strlen(name)), i, "%s", name);
	}
	for (uint32_t i = 0; i < 2048; i++) {
		const char *name = gt_math_epilogue(i);

		if (name)
			cr_assert_eq(gt_math_find_epilogue(name, strlen(name)), i, "%s", name);
	}
	cr_assert_null(gt_math_epilogue(1));
	for (unsigned int i = 0; i < 256; i++) {
		const char *name = gt_math_compute((uint8_t)i);

		if (name)
			cr_assert_eq(gt_math_find_compute(name, strlen(name)), i, "%s", name);
	}
}

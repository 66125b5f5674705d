/* SPDX-License-Identifier: Apache-2.0
 *
 * How much a call computes, against sums that count one operation after the other.
 */
#include <criterion/criterion.h>

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

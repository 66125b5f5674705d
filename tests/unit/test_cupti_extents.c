/* SPDX-License-Identifier: Apache-2.0
 *
 * What the parameters of a call say about its extent.
 */
#include "collectors/cupti/library/extents.h"

#include <criterion/criterion.h>
#include <cupti.h>

Test(cupti_extents, copies)
{
	cudaMemcpyAsync_v3020_params copy = {.count = 0};
	cudaMemcpy2DAsync_v3020_params rows = {.width = 4, .height = 0};

	cr_assert(gt_cupti_is_of_nothing(GT_API_RUNTIME, 41, &copy));
	copy.count = (size_t)1 << 40;
	cr_assert_not(gt_cupti_is_of_nothing(GT_API_RUNTIME, 41, &copy));
	cr_assert(gt_cupti_is_of_nothing(GT_API_RUNTIME, 44, &rows));
	rows.height = 1;
	cr_assert_not(gt_cupti_is_of_nothing(GT_API_RUNTIME, 44, &rows));
	rows.width = 0;
	cr_assert(gt_cupti_is_of_nothing(GT_API_RUNTIME, 44, &rows));
}

Test(cupti_extents, driver)
{
	cuMemsetD8Async_params set = {.N = 0};
	cuMemcpyHtoD_v2_params copy = {.ByteCount = 3};

	cr_assert(gt_cupti_is_of_nothing(GT_API_DRIVER, 216, &set));
	cr_assert_not(gt_cupti_is_of_nothing(GT_API_DRIVER, 276, &copy));
}

Test(cupti_extents, other_calls)
{
	char zeros[256] = {0};

	cr_assert_not(gt_cupti_is_of_nothing(GT_API_RUNTIME, 211, zeros), "cudaLaunchKernel");
	cr_assert_not(gt_cupti_is_of_nothing(GT_API_RUNTIME, 100000, zeros));
	cr_assert_not(gt_cupti_is_of_nothing(GT_API_RUNTIME, 41, NULL));
}

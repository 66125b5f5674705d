/* SPDX-License-Identifier: Apache-2.0
 *
 * What a call that ends a context leaves (collectors/cupti/contexts.h).
 */
#include <criterion/criterion.h>
#include <cupti.h>

#include "collectors/cupti/contexts.h"

#define DRIVER(symbol) GT_API_DRIVER, CUPTI_DRIVER_TRACE_CBID_##symbol

/* CUPTI's functionParams. */
struct retain {
	CUcontext *context;
	CUdevice device;
};

static void retain(CUdevice device)
{
	struct retain params = {NULL, device};

	gt_cupti_contexts_retained(&params);
}

static enum gt_cupti_left release(CUdevice device)
{
	return gt_cupti_contexts_after(DRIVER(cuDevicePrimaryCtxRelease_v2), &device);
}

static enum gt_cupti_left destroy(void)
{
	return gt_cupti_contexts_after(DRIVER(cuCtxDestroy_v2), NULL);
}

TestSuite(contexts, .init = gt_cupti_contexts_forget);

Test(contexts, the_last_one_leaves_none)
{
	gt_cupti_contexts_created();
	cr_assert_eq(destroy(), GT_CUPTI_LEFT_NONE);
}

Test(contexts, others_are_left)
{
	gt_cupti_contexts_created();
	gt_cupti_contexts_created();
	cr_assert_eq(destroy(), GT_CUPTI_LEFT_OTHERS);
	gt_cupti_contexts_destroyed();
	cr_assert_eq(destroy(), GT_CUPTI_LEFT_NONE);
}

Test(contexts, unknown_ones_are_not_counted)
{
	gt_cupti_contexts_destroyed();
	gt_cupti_contexts_destroyed();
	cr_assert_eq(destroy(), GT_CUPTI_LEFT_NONE);
	gt_cupti_contexts_created();
	gt_cupti_contexts_created();
	cr_assert_eq(destroy(), GT_CUPTI_LEFT_OTHERS);
}

Test(contexts, only_the_last_reference_ends_a_primary_context)
{
	gt_cupti_contexts_created();
	retain(0);
	retain(0);
	retain(1);
	cr_assert_eq(release(0), GT_CUPTI_LEFT_ALL);
	cr_assert_eq(release(0), GT_CUPTI_LEFT_NONE);
	cr_assert_eq(release(1), GT_CUPTI_LEFT_NONE);
}

Test(contexts, references_taken_unseen_end_it)
{
	gt_cupti_contexts_created();
	cr_assert_eq(release(0), GT_CUPTI_LEFT_NONE);
	cr_assert_eq(release(-1), GT_CUPTI_LEFT_NONE);
	cr_assert_eq(release(INT32_MAX), GT_CUPTI_LEFT_NONE);
	retain(-1);
	retain(INT32_MAX);
}

Test(contexts, a_reset_ends_it_in_spite_of_references)
{
	CUdevice device = 3;

	gt_cupti_contexts_created();
	retain(3);
	retain(3);
	cr_assert_eq(gt_cupti_contexts_after(DRIVER(cuDevicePrimaryCtxReset_v2), &device),
		     GT_CUPTI_LEFT_NONE);
	retain(3);
	cr_assert_eq(release(3), GT_CUPTI_LEFT_NONE);
}

Test(contexts, a_green_context_leaves_its_own)
{
	gt_cupti_contexts_created();
	cr_assert_eq(gt_cupti_contexts_after(DRIVER(cuGreenCtxDestroy), NULL),
		     GT_CUPTI_LEFT_OTHERS);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Which calls of a newer CUDA are recorded, with a fake CUPTI that has some.
 */
#include "collectors/cupti/newer.h"

#include <criterion/criterion.h>

#include "collectors/cupti/internal.h"

static const char *const runtime_names[] = {
	"cudaMemcpyAcrossGalaxiesAsync_v15000", "cudaGraphNodeGetMood_v15000", NULL,
	"cudaDeviceSetMood_v15000", "cudaLaunchCluster_ptsz_v15000"};
static const char *const driver_names[] = {"cuGraphReplay", "cuMemsetD128Async", "cuCtxGetMood"};
static uint32_t asked; /* ids that the table has */

static CUptiResult get_name(CUpti_CallbackDomain domain, uint32_t cbid, const char **name)
{
	bool is_runtime = domain == CUPTI_CB_DOMAIN_RUNTIME_API;
	uint32_t end = gt_cuda_api_end(is_runtime ? GT_API_RUNTIME : GT_API_DRIVER);
	uint32_t count = is_runtime ? sizeof(runtime_names) / sizeof(runtime_names[0])
				    : sizeof(driver_names) / sizeof(driver_names[0]);

	asked += cbid < end;
	if (cbid < end || cbid - end >= count)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*name = is_runtime ? runtime_names[cbid - end] : driver_names[cbid - end];
	return CUPTI_SUCCESS;
}

/* A bit for each name of the domain, and one for all others. */
static uint32_t found(const struct gt_cuda_set *set, enum gt_api_domain domain)
{
	uint32_t bits = 0, end = gt_cuda_api_end(domain);

	for (uint32_t cbid = 0; cbid < GT_CUDA_SET_BITS; cbid++) {
		if (gt_cuda_set_has(set, domain, cbid))
			bits |= 1u << (cbid < end || cbid > end + 30 ? 31 : cbid - end);
	}
	return bits;
}

static void take(bool all, struct gt_cuda_set *ret_set)
{
	*ret_set = (struct gt_cuda_set){0};
	gt_cupti.api.cuptiGetCallbackName = get_name;
	gt_cupti_newer_calls(all, ret_set);
	cr_assert_eq(asked, 0);
}

Test(cupti_newer, takes_what_starts_work_or_changes_graphs)
{
	struct gt_cuda_set set;

	take(false, &set);
	cr_assert_eq(found(&set, GT_API_RUNTIME), 1u << 0 | 1u << 4);
	cr_assert_eq(found(&set, GT_API_DRIVER), 1u << 0 | 1u << 1);
}

Test(cupti_newer, takes_all_that_have_a_name)
{
	struct gt_cuda_set set;

	take(true, &set);
	cr_assert_eq(found(&set, GT_API_RUNTIME), 1u << 0 | 1u << 1 | 1u << 3 | 1u << 4);
	cr_assert_eq(found(&set, GT_API_DRIVER), 7u);
}

Test(cupti_newer, takes_none_without_names)
{
	struct gt_cuda_set set = {0};

	gt_cupti.api.cuptiGetCallbackName = NULL;
	gt_cupti_newer_calls(true, &set);
	cr_assert_eq(found(&set, GT_API_RUNTIME) | found(&set, GT_API_DRIVER), 0);
}

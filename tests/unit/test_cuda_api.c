/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of CUDA calls: lookup by cbid, names, and the decisions that users see (what is
 * recorded by default, what counts as a launch, which calls are preceded by a flush).
 */
#include <string.h>

#include <criterion/criterion.h>
#include <cupti.h>

#include "core/schema/cuda_api.h"

static unsigned int flags_of(enum gt_api_domain domain, uint32_t cbid)
{
	const struct gt_cuda_api *api = gt_cuda_api_find(domain, cbid);

	cr_assert_not_null(api, "domain %d cbid %u is not in the table", domain, cbid);
	return api->flags & ~GT_CUDA_KNOWN;
}

#define RUNTIME(token) flags_of(GT_API_RUNTIME, CUPTI_RUNTIME_TRACE_CBID_##token)
#define DRIVER(token)  flags_of(GT_API_DRIVER, CUPTI_DRIVER_TRACE_CBID_##token)

Test(cuda_api, finds_rows_by_cbid)
{
	const struct gt_cuda_api *api;

	api = gt_cuda_api_find(GT_API_RUNTIME, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
	cr_assert_str_eq(gt_cuda_api_name(api), "cudaLaunchKernel");
	cr_assert_eq(api->class, GT_CUDA_LAUNCH);
	api = gt_cuda_api_find(GT_API_DRIVER, CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2);
	cr_assert_str_eq(gt_cuda_api_name(api), "cuMemcpyHtoDAsync_v2");
	cr_assert_eq(api->class, GT_CUDA_COPY);
}

Test(cuda_api, unknown_cbids_have_no_row)
{
	cr_assert_null(gt_cuda_api_find(GT_API_RUNTIME, 0));
	cr_assert_null(gt_cuda_api_find(GT_API_DRIVER, 0));
	cr_assert_null(gt_cuda_api_find(GT_API_RUNTIME, gt_cuda_api_end(GT_API_RUNTIME)));
	cr_assert_null(gt_cuda_api_find(GT_API_DRIVER, gt_cuda_api_end(GT_API_DRIVER)));
	cr_assert_null(gt_cuda_api_find(GT_API_DRIVER, UINT32_MAX));
	/* Direct3D is left out on purpose */
	cr_assert_null(
		gt_cuda_api_find(GT_API_RUNTIME, CUPTI_RUNTIME_TRACE_CBID_cudaD3D9Begin_v3020));
}

Test(cuda_api, name_is_what_users_wrote)
{
	const struct gt_cuda_api *api;

	api = gt_cuda_api_find(GT_API_RUNTIME, 505);
	cr_assert_str_eq(gt_cuda_api_name(api), "cudaLaunchKernel");
	api = gt_cuda_api_find(GT_API_RUNTIME, 506);
	cr_assert_str_eq(gt_cuda_api_name(api), "cudaLaunchKernel_ptsz");
}

Test(cuda_api, every_name_is_a_name)
{
	uint32_t rows = 0;

	for (int domain = 0; domain < GT_API_DOMAIN_COUNT_; domain++) {
		for (uint32_t cbid = 0; cbid < gt_cuda_api_end(domain); cbid++) {
			const struct gt_cuda_api *api = gt_cuda_api_find(domain, cbid);

			if (!api)
				continue;
			rows++;
			cr_assert(!strncmp(gt_cuda_api_name(api), "cu", 2), "cbid %u", cbid);
			cr_assert(api->class < GT_CUDA_CLASS_COUNT_);
		}
	}
	cr_assert_gt(rows, 1000);
}

Test(cuda_api, launches_enqueue_and_are_recorded)
{
	const unsigned int launch = GT_CUDA_DEFAULT | GT_CUDA_ENQUEUES;

	cr_assert_eq(RUNTIME(cudaLaunchKernel_v7000), launch);
	cr_assert_eq(RUNTIME(cudaLaunchKernel_ptsz_v7000), launch);
	cr_assert_eq(RUNTIME(cudaLaunchKernelExC_v11060), launch);
	cr_assert_eq(RUNTIME(cudaLaunchKernelExC_ptsz_v11060), launch);
	cr_assert_eq(RUNTIME(cudaLaunchCooperativeKernel_v9000), launch);
	cr_assert_eq(RUNTIME(cudaGraphLaunch_v10000), launch);
	cr_assert_eq(RUNTIME(cudaMemcpyAsync_ptsz_v7000), launch);
	cr_assert_eq(RUNTIME(cudaMemcpy3DPeer_v4000), launch);
	cr_assert_eq(RUNTIME(cudaMemset2DAsync_v3020), launch);
	cr_assert_eq(DRIVER(cuLaunchKernel), launch);
	cr_assert_eq(DRIVER(cuLaunchKernel_ptsz), launch);
	cr_assert_eq(DRIVER(cuLaunchKernelEx), launch);
	cr_assert_eq(DRIVER(cuLaunchKernelEx_ptsz), launch);
	cr_assert_eq(DRIVER(cuGraphLaunch), launch);
	cr_assert_eq(DRIVER(cuGraphLaunch_ptsz), launch);
	cr_assert_eq(DRIVER(cuMemsetD8Async), launch);
}

Test(cuda_api, waits_allocations_streams_are_recorded)
{
	cr_assert_eq(RUNTIME(cudaDeviceSynchronize_v3020),
		     GT_CUDA_DEFAULT | GT_CUDA_BLOCKS | GT_CUDA_WAITS | GT_CUDA_WAITS_FOR_ALL);
	cr_assert_eq(RUNTIME(cudaStreamSynchronize_ptsz_v7000),
		     GT_CUDA_DEFAULT | GT_CUDA_BLOCKS | GT_CUDA_WAITS);
	cr_assert_eq(RUNTIME(cudaStreamWaitEvent_ptsz_v7000), GT_CUDA_DEFAULT);
	cr_assert_eq(RUNTIME(cudaMallocFromPoolAsync_ptsz_v11020), GT_CUDA_DEFAULT);
	cr_assert_eq(RUNTIME(cudaFree_v3020), GT_CUDA_DEFAULT | GT_CUDA_BLOCKS);
	cr_assert_eq(RUNTIME(cudaStreamBeginCapture_v10000), GT_CUDA_DEFAULT);
	cr_assert_eq(RUNTIME(cudaGraphInstantiate_v12000), GT_CUDA_DEFAULT);
	cr_assert_eq(RUNTIME(cudaLaunchHostFunc_v10000), GT_CUDA_DEFAULT);
	cr_assert_eq(DRIVER(cuMemPrefetchAsync_ptsz), GT_CUDA_DEFAULT);
	cr_assert_eq(DRIVER(cuStreamCreateWithPriority), GT_CUDA_DEFAULT);
	cr_assert_eq(DRIVER(cuEventRecord), GT_CUDA_DEFAULT);
	cr_assert_eq(DRIVER(cuMemMap), GT_CUDA_DEFAULT);
}

Test(cuda_api, getters_and_polls_are_not)
{
	cr_assert_eq(RUNTIME(cudaGetDevice_v3020), 0);
	cr_assert_eq(RUNTIME(cudaGetLastError_v3020), 0);
	cr_assert_eq(RUNTIME(cudaPeekAtLastError_v3020), 0);
	cr_assert_eq(RUNTIME(cudaStreamIsCapturing_v10000), 0);
	cr_assert_eq(RUNTIME(cudaEventQuery_v3020), 0);
	cr_assert_eq(DRIVER(cuKernelGetAttribute), 0);
	cr_assert_eq(DRIVER(cuDevicePrimaryCtxGetState), 0);
	cr_assert_eq(DRIVER(cuCtxGetCurrent), 0);
	cr_assert_eq(DRIVER(cuPointerGetAttributes), 0);
	cr_assert_eq(DRIVER(cuStreamQuery), 0);
}

Test(cuda_api, teardown_is_flushed_before)
{
	const unsigned int teardown = GT_CUDA_DEFAULT | GT_CUDA_FLUSH_BEFORE;

	cr_assert_eq(RUNTIME(cudaDeviceReset_v3020), teardown);
	cr_assert_eq(DRIVER(cuCtxDestroy), teardown);
	cr_assert_eq(DRIVER(cuCtxDestroy_v2), teardown);
	cr_assert_eq(DRIVER(cuDevicePrimaryCtxReset), teardown);
	cr_assert_eq(DRIVER(cuDevicePrimaryCtxReset_v2), teardown);
	cr_assert_eq(DRIVER(cuDevicePrimaryCtxRelease), teardown);
	cr_assert_eq(DRIVER(cuDevicePrimaryCtxRelease_v2), teardown);
}

Test(cuda_api, calls_after_13_0)
{
	const unsigned int enqueue = GT_CUDA_DEFAULT | GT_CUDA_ENQUEUES;

	cr_assert_eq(flags_of(GT_API_RUNTIME, 554), enqueue); /* cudaMemcpyWithAttributesAsync */
	cr_assert_eq(flags_of(GT_API_RUNTIME, 550), GT_CUDA_DEFAULT); /* cudaLaunchHostFunc_v2 */
	cr_assert_eq(flags_of(GT_API_DRIVER, 840),
		     enqueue); /* cuMemcpy3DWithAttributesAsync_ptsz */
	cr_assert_eq(flags_of(GT_API_DRIVER, 819), enqueue); /* cuGraphLaunchWithArguments */
	cr_assert_eq(flags_of(GT_API_DRIVER, 863), GT_CUDA_DEFAULT); /* cuGraphAddNode_v3 */
	cr_assert_str_eq(gt_cuda_api_name(gt_cuda_api_find(GT_API_RUNTIME, 557)),
			 "cudaMemcpy3DWithAttributesAsync_ptsz");
}

Test(cuda_api, set_holds_what_was_asked)
{
	struct gt_cuda_set set, all;

	gt_cuda_set_init(&set, GT_CUDA_ENQUEUES);
	gt_cuda_set_init(&all, GT_CUDA_KNOWN);
	cr_assert(gt_cuda_set_has(&set, GT_API_RUNTIME, 211));
	cr_assert_not(gt_cuda_set_has(&set, GT_API_RUNTIME, 17)); /* cudaGetDevice */
	cr_assert(gt_cuda_set_has(&all, GT_API_RUNTIME, 17));
	cr_assert_not(gt_cuda_set_has(&set, GT_API_DRIVER, 211));
	cr_assert(gt_cuda_set_has(&set, GT_API_DRIVER, 307));
	cr_assert_not(gt_cuda_set_has(&all, GT_API_RUNTIME, 0));
	cr_assert_not(gt_cuda_set_has(&all, GT_API_DRIVER, GT_CUDA_SET_BITS));
	cr_assert_not(gt_cuda_set_has(&all, GT_API_DRIVER, UINT32_MAX));
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds what a call does by its name, for every spelling that occurs in traces.
 */
#include "trace/cuda_call.h"

#include <string.h>

#include <criterion/criterion.h>

#include "core/schema/cuda_api.h"

#define BLOCKS   GT_CUDA_CALL_BLOCKS
#define ENQUEUES GT_CUDA_CALL_ENQUEUES
#define OTHER    GT_CUDA_CALL_OTHER

static const struct {
	const char *name;
	enum gt_cuda_call call;
} known[] = {
	{"cudaLaunchKernel", ENQUEUES},
	{"cudaLaunchKernel_v7000", ENQUEUES},
	{"cudaLaunchKernelExC_ptsz", ENQUEUES},
	{"cuLaunchKernelEx", ENQUEUES},
	{"cudaLaunchHostFunc", ENQUEUES},
	{"cudaGraphLaunch", ENQUEUES},
	{"cudaMemcpyAsync", ENQUEUES},
	{"cuMemcpyHtoDAsync_v2_ptsz", ENQUEUES},
	{"cudaMemset", ENQUEUES}, /* returns before the device has done it */
	{"cuMemsetD8_v2", ENQUEUES},
	{"cuMemcpyDtoD_v2", ENQUEUES},
	{"cudaMemcpyPeer", ENQUEUES},
	{"cudaMemcpy", BLOCKS},
	{"cudaMemcpy_ptds", BLOCKS},
	{"cudaMemcpy2D", BLOCKS},
	{"cudaMemcpyToSymbol", BLOCKS},
	{"cuMemcpyDtoH_v2", BLOCKS},
	{"cudaDeviceSynchronize", BLOCKS},
	{"cudaEventSynchronize_v3020", BLOCKS},
	{"cuCtxSynchronize", BLOCKS},
	{"cudaFree", BLOCKS},
	{"cuMemFree_v2", BLOCKS},
	{"cudaFreeHost", BLOCKS},
	{"cudaFreeAsync", OTHER},
	{"cudaMalloc", OTHER},
	{"cudaStreamWaitEvent", OTHER},
	{"hipLaunchKernel", ENQUEUES},
	{"hipModuleLaunchKernel", ENQUEUES},
	{"hipMemcpyAsync", ENQUEUES},
	{"hipMemcpyWithStream", BLOCKS},
	{"hipMemcpyDtoH", BLOCKS},
	{"hipDeviceSynchronize", BLOCKS},
	{"hipMalloc", OTHER},
	{"urEnqueueKernelLaunch", ENQUEUES},
	{"urEnqueueUSMMemcpy", ENQUEUES},
	{"urEventWait", BLOCKS},
	{"urEventWaitNot", OTHER},
	{"urQueueFinish", BLOCKS},
	{"piEnqueueKernelLaunch", ENQUEUES},
	{"zeCommandListAppendLaunchKernel", ENQUEUES},
	{"zeEventHostSynchronize", BLOCKS},
	{"urUSMDeviceAlloc", OTHER},
	{"SynchronizeLaunchMemcpy", OTHER}, /* no part of a name decides */
	{"_ptsz", OTHER},
	{"", OTHER},
};

Test(cuda_call, by_name)
{
	char longest[1000];

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		cr_assert_eq(gt_cuda_call_of(known[i].name), known[i].call, "%s", known[i].name);
	memset(longest, 'a', sizeof(longest));
	longest[sizeof(longest) - 1] = 0;
	cr_assert_eq(gt_cuda_call_of(longest), OTHER);
}

static enum gt_cuda_call in_table(const struct gt_cuda_api *row)
{
	if (row->flags & GT_CUDA_BLOCKS)
		return BLOCKS;
	return row->flags & GT_CUDA_ENQUEUES ? ENQUEUES : OTHER;
}

/* Classes of the table, whatever suffix or vendor. */
Test(cuda_call, classes)
{
	static const struct {
		const char *name;
		enum gt_cuda_class class;
	} rows[] = {
		{"cudaMalloc", GT_CUDA_ALLOC},
		{"cuMemFree_v2", GT_CUDA_FREE},
		{"cudaMemcpy_ptds", GT_CUDA_COPY},
		{"cudaStreamSynchronize_v3020", GT_CUDA_SYNC},
		{"hipDeviceSynchronize", GT_CUDA_SYNC},
		{"hipMemcpyHtoD", GT_CUDA_COPY},
		{"hipNothing", GT_CUDA_CLASS_COUNT_},
		{"nothing", GT_CUDA_CLASS_COUNT_},
		{"", GT_CUDA_CLASS_COUNT_},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_assert_eq(gt_cuda_class_of(rows[i].name), rows[i].class, "%s", rows[i].name);
}

/* Every row is found by its own name; calls that always wait are also marked as possibly waiting.
 */
Test(cuda_call, agrees_with_the_table)
{
	for (int domain = 0; domain < GT_API_DOMAIN_COUNT_; domain++) {
		for (uint32_t cbid = 0; cbid < gt_cuda_api_end(domain); cbid++) {
			const struct gt_cuda_api *row = gt_cuda_api_find(domain, cbid);
			const char *name = row ? gt_cuda_api_name(row) : NULL;

			if (!row)
				continue;
			if (row->class != GT_CUDA_HOST_FUNC)
				cr_assert_eq(gt_cuda_call_of(name), in_table(row), "%s", name);
			cr_assert(!(row->flags & GT_CUDA_WAITS) || row->flags & GT_CUDA_BLOCKS,
				  "%s", name);
		}
	}
}

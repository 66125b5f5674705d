/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. No driver, and one of an older major version, are found before CUPTI is called
 * (collectors/cupti/library/load.c), so NOT_INITIALIZED does not mean them.
 */
#include "collectors/cupti/library/refusal.h"

#include <cupti.h>

#include "core/guest/text.h"

#define OTHER_CUPTI "update the driver, or use the CUPTI of its CUDA version (--cupti)"

static const struct {
	int result;
	const char *text;
} reasons[] = {
	{CUPTI_ERROR_NOT_INITIALIZED, "CUPTI does not start on this driver or GPU: " OTHER_CUPTI},
	{CUPTI_ERROR_NOT_SUPPORTED, "CUPTI does not support this driver: " OTHER_CUPTI},
	{CUPTI_ERROR_INSUFFICIENT_PRIVILEGES,
	 "the driver does not let this user profile: see ERR_NVGPUCTRPERM at NVIDIA"},
	{CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED,
	 "another tool holds CUPTI in this process (nsys, ncu, cuda-gdb, torch.profiler)"},
	{CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED, "this virtual GPU does not allow profiling"},
	{CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED,
	 "confidential computing mode does not allow profiling"},
	{CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED, "this GPU model does not allow profiling"},
	{CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED, "it is not possible on this system"},
	{CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_ON_DEVICE, "it is not possible on this GPU"},
	{CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_ON_NON_P2P_DEVICES,
	 "it is not possible with GPUs that do not reach each other's memory: see "
	 "CUDA_VISIBLE_DEVICES"},
	{CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_WITH_MPS, "it is not possible with MPS"},
	{CUPTI_ERROR_UNKNOWN,
	 "CUPTI gives no reason, it may not support this driver or GPU: " OTHER_CUPTI},
};

void gt_cupti_refusal(const char *step, int result, char *ret_why, size_t size)
{
	const char *text = "see cupti_result.h";

	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		if (reasons[i].result == result)
			text = reasons[i].text;
	}
	gt_text_format(ret_why, size, "%s failed with %d: %s", step, result, text);
}

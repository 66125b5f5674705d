/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. No driver, and one of an older major version, are found before CUPTI is called
 * (collectors/cupti/library/load.c), so NOT_INITIALIZED does not mean them.
 */
#include "collectors/cupti/library/refusal.h"

#include <cupti.h>

#include "core/guest/text.h"

/* Those of the header of 13.5; some are newer than the oldest one that we are built with. */
static const char *const names[] = {
	[1] = "CUPTI_ERROR_INVALID_PARAMETER",
	[2] = "CUPTI_ERROR_INVALID_DEVICE",
	[3] = "CUPTI_ERROR_INVALID_CONTEXT",
	[7] = "CUPTI_ERROR_INVALID_OPERATION",
	[8] = "CUPTI_ERROR_OUT_OF_MEMORY",
	[9] = "CUPTI_ERROR_HARDWARE",
	[10] = "CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT",
	[11] = "CUPTI_ERROR_API_NOT_IMPLEMENTED",
	[12] = "CUPTI_ERROR_MAX_LIMIT_REACHED",
	[13] = "CUPTI_ERROR_NOT_READY",
	[14] = "CUPTI_ERROR_NOT_COMPATIBLE",
	[15] = "CUPTI_ERROR_NOT_INITIALIZED",
	[18] = "CUPTI_ERROR_QUEUE_EMPTY",
	[19] = "CUPTI_ERROR_INVALID_HANDLE",
	[20] = "CUPTI_ERROR_INVALID_STREAM",
	[21] = "CUPTI_ERROR_INVALID_KIND",
	[23] = "CUPTI_ERROR_DISABLED",
	[24] = "CUPTI_ERROR_INVALID_MODULE",
	[26] = "CUPTI_ERROR_HARDWARE_BUSY",
	[27] = "CUPTI_ERROR_NOT_SUPPORTED",
	[28] = "CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED",
	[29] = "CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_ON_DEVICE",
	[30] = "CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_ON_NON_P2P_DEVICES",
	[31] = "CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_WITH_MPS",
	[32] = "CUPTI_ERROR_CDP_TRACING_NOT_SUPPORTED",
	[33] = "CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED",
	[34] = "CUPTI_ERROR_CUDA_COMPILER_NOT_COMPATIBLE",
	[35] = "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES",
	[36] = "CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED",
	[38] = "CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED",
	[39] = "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED",
	[40] = "CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES",
	[41] = "CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED",
	[42] = "CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED",
	[43] = "CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED",
	[44] = "CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED",
	[45] = "CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED",
	[47] = "CUPTI_ERROR_HES_TRACE_NOT_SUPPORTED_ON_MPS",
};

#define OTHER_CUPTI "update the driver, or use the CUPTI of its CUDA version (--cupti)"

static const struct {
	int result;
	const char *text;
} reasons[] = {
	{CUPTI_ERROR_NOT_READY, "CUPTI was not ready for it as long as the program ran"},
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

const char *gt_cupti_result_name(int result)
{
	if (result == CUPTI_ERROR_UNKNOWN)
		return "CUPTI_ERROR_UNKNOWN";
	if (result < 0 || (size_t)result >= sizeof(names) / sizeof(names[0]) || !names[result])
		return "an error";
	return names[result];
}

void gt_cupti_refusal(const char *step, int result, char *ret_why, size_t size)
{
	const char *text = "see cupti_result.h";

	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		if (reasons[i].result == result)
			text = reasons[i].text;
	}
	gt_text_format(ret_why, size, "%s failed with %s (%d): %s", step,
		       gt_cupti_result_name(result), result, text);
}

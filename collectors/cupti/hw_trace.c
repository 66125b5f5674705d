/* SPDX-License-Identifier: Apache-2.0
 *
 * The hardware event system, see the header.
 */
#include "collectors/cupti/hw_trace.h"

#include "collectors/cupti/internal.h"
#include "collectors/cupti/library/quirks.h"
#include "collectors/cupti/library/refusal.h"
#include "core/guest/log.h"
#include "core/guest/text.h"

#define WHY_BYTES 160

/* The results that mean it, of its declaration in CUPTI's header. */
static bool is_refusal(int result)
{
	static const int refusals[] = {
		CUPTI_ERROR_NOT_SUPPORTED,
		CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED,
		CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED,
		CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED,
		43, /* MIG_DEVICE_NOT_SUPPORTED; this and the next ones are newer than 11.8 */
		44, /* SLI_DEVICE_NOT_SUPPORTED */
		45, /* WSL_DEVICE_NOT_SUPPORTED */
		47, /* HES_TRACE_NOT_SUPPORTED_ON_MPS */
	};

	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		if (refusals[i] == result)
			return true;
	}
	return false;
}

static void refuse(struct gt_cupti_status *status, const char *why)
{
	gt_text_format(status->hw_trace, sizeof(status->hw_trace), "off: %s", why);
	gt_log_say("--hw-trace=on is not possible, CUPTI times GPU work as without it: %s", why);
}

static void refuse_result(struct gt_cupti_status *status, const char *verb, int result)
{
	char why[WHY_BYTES];

	gt_text_format(why, sizeof(why), "CUPTI %s %s (%d)%s", verb, gt_cupti_result_name(result),
		       result,
		       result == CUPTI_ERROR_NOT_SUPPORTED
			       ? ": it needs a GPU of the Blackwell generation or later, and "
				 "libnvperf_host.so beside libcupti"
			       : "");
	refuse(status, why);
}

/* NULL: it may be asked for. */
static const char *why_not(const struct gt_config *config, uint32_t version)
{
	if (gt_config_bool(config, GT_CONFIG_LATENCY))
		return "CUPTI does not combine it with --latency";
	if (gt_cupti_has_quirk(version, GT_QUIRK_HW_TRACE_CORRUPTS))
		return gt_cupti_quirk_text(GT_QUIRK_HW_TRACE_CORRUPTS);
	if (!gt_cupti.api.cuptiActivityEnableHWTrace)
		return "this CUPTI has no cuptiActivityEnableHWTrace";
	return gt_cupti.is_late ? "CUPTI was another tool's when the program started" : NULL;
}

void gt_cupti_hw_trace_enable(const struct gt_config *config, struct gt_cupti_status *status)
{
	const char *why;
	CUptiResult result;

	if (!gt_config_number(config, GT_CONFIG_HW_TRACE) || *status->hw_trace)
		return;
	why = why_not(config, status->version);
	if (why) {
		refuse(status, why);
		return;
	}
	result = gt_cupti.api.cuptiActivityEnableHWTrace(1);
	if (result == CUPTI_SUCCESS)
		gt_text_format(status->hw_trace, sizeof(status->hw_trace), "on");
	else
		refuse_result(status, "answered", (int)result);
}

void gt_cupti_hw_trace_reported(int result)
{
	if (is_refusal(result))
		atomic_store(&gt_cupti.hw_trace_lost, result);
}

bool gt_cupti_lost_hw_trace(struct gt_cupti_status *status)
{
	int result = atomic_exchange(&gt_cupti.hw_trace_lost, 0);

	if (!result)
		return false;
	refuse_result(status, "reported", result);
	return true;
}

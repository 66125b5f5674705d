/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "collectors/nvml/gpm.h"

#include <stdbool.h>

/* Closer samples say little; at 10 rounds a second each one takes part. */
#define LEAST_NS 90000000ull

/* nvmlGpmMetricId_t */
static const unsigned int ids[GT_NVML_GPM_METRICS_] = {
	[GT_NVML_GPM_SM] = 2,
	[GT_NVML_GPM_OCCUPANCY] = 3,
	[GT_NVML_GPM_TENSOR] = 5,
	[GT_NVML_GPM_DRAM] = 10,
};

static enum gt_nvml_result prepare(const struct gt_nvml_library *nvml, struct gt_nvml_gpm *gpm,
				   gt_nvml_device device)
{
	struct gt_nvml_gpm_support support = {.version = GT_NVML_GPM_VERSION};

	if (gpm->sample[1])
		return GT_NVML_SUCCESS;
	if (!nvml->nvmlGpmQueryDeviceSupport || !nvml->nvmlGpmSampleAlloc ||
	    !nvml->nvmlGpmSampleGet || !nvml->nvmlGpmMetricsGet ||
	    nvml->nvmlGpmQueryDeviceSupport(device, &support) != GT_NVML_SUCCESS ||
	    !support.is_supported)
		return GT_NVML_NOT_SUPPORTED;
	for (int i = 0; i < 2; i++)
		if (!gpm->sample[i] && nvml->nvmlGpmSampleAlloc(&gpm->sample[i]) != GT_NVML_SUCCESS)
			return GT_NVML_NOT_SUPPORTED;
	return GT_NVML_SUCCESS;
}

/* In hundredths of a percent; not a number is nothing. */
static uint64_t hundredths(double percent)
{
	return percent > 0 && percent < 1e6 ? (uint64_t)(percent * 100 + 0.5) : 0;
}

static enum gt_nvml_result compare(const struct gt_nvml_library *nvml, struct gt_nvml_gpm *gpm)
{
	static struct gt_nvml_gpm_request request; /* large: a newer NVML knows more metrics */
	enum gt_nvml_result result;

	request = (struct gt_nvml_gpm_request){.version = GT_NVML_GPM_VERSION,
					       .count = GT_NVML_GPM_METRICS_,
					       .before = gpm->sample[1],
					       .after = gpm->sample[0]};
	for (int i = 0; i < GT_NVML_GPM_METRICS_; i++)
		request.metrics[i].id = ids[i];
	result = nvml->nvmlGpmMetricsGet(&request);
	for (int i = 0; i < GT_NVML_GPM_METRICS_; i++) {
		gpm->has[i] = (enum gt_nvml_result)request.metrics[i].result;
		gpm->value[i] = hundredths(request.metrics[i].value);
	}
	return result;
}

static enum gt_nvml_result take(const struct gt_nvml_library *nvml, struct gt_nvml_gpm *gpm,
				gt_nvml_device device, uint64_t now)
{
	enum gt_nvml_result result = prepare(nvml, gpm, device);
	gt_nvml_gpm_sample oldest = gpm->sample[1];
	bool is_first = !gpm->at;

	if (result != GT_NVML_SUCCESS)
		return result;
	if (!is_first && now - gpm->at < LEAST_NS)
		return GT_NVML_TIMEOUT;
	result = nvml->nvmlGpmSampleGet(device, oldest);
	if (result != GT_NVML_SUCCESS)
		return result;
	gpm->sample[1] = gpm->sample[0];
	gpm->sample[0] = oldest;
	gpm->at = now;
	return is_first ? GT_NVML_TIMEOUT : compare(nvml, gpm);
}

enum gt_nvml_result gt_nvml_gpm_ask(const struct gt_nvml_library *nvml, struct gt_nvml_gpm *gpm,
				    gt_nvml_device device, enum gt_nvml_gpm_metric metric,
				    uint64_t now, uint64_t *ret_value)
{
	if (!gpm->at || gpm->given >> metric & 1 || gpm->result != GT_NVML_SUCCESS) {
		gpm->result = take(nvml, gpm, device, now);
		gpm->given = 0;
	}
	if (gpm->result != GT_NVML_SUCCESS)
		return gpm->result;
	gpm->given |= 1u << metric;
	*ret_value = gpm->value[metric];
	return gpm->has[metric];
}

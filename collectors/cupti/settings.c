/* SPDX-License-Identifier: Apache-2.0
 *
 * CUPTI's settings, see the header. One row each.
 */
#include "collectors/cupti/settings.h"

#include <string.h>

#include "collectors/cupti/hw_trace.h"
#include "collectors/cupti/internal.h"
#include "collectors/cupti/library/quirks.h"
#include "collectors/cupti/library/refusal.h"
#include "core/guest/log.h"
#include "core/guest/text.h"

/* The attribute keeps CUPTI's own value. */
#define LEAVE          UINT64_MAX

/* CUPTI's buffers on the GPU: its own size, and more than the 3 that it makes ready for each
 * context. With a limit of 2 CUPTI 13.0 crashed in launches, with 4 it did not. */
#define DEVICE_BYTES   3200000u
#define DEVICE_BUFFERS 4u
#define DEVICE_LEAST   (1u << 20)
#define READY_BUFFERS  32u /* 100 MB */

void gt_cupti_note_refused(struct gt_cupti_status *status, const char *what, int result)
{
	size_t used = strlen(status->refused);

	if (result != CUPTI_SUCCESS)
		gt_text_format(status->refused + used, sizeof(status->refused) - used,
			       "%s%s: %s (%d)", used ? ", " : "", what,
			       gt_cupti_result_name(result), result);
}

/* Zeroed buffers spare the application's thread a memset of megabytes (REQ-28, 29). */
static uint64_t zeroed(const struct gt_config *config, uint32_t version)
{
	(void)config;
	(void)version;
	return 1;
}

/* Threads contend for one shared buffer; since 13.0 CUPTI has one for each by itself. */
static uint64_t per_thread(const struct gt_config *config, uint32_t version)
{
	(void)config;
	return gt_cupti_has_quirk(version, GT_QUIRK_SHARED_BUFFER) ? 1 : LEAVE;
}

/* CUPTI keeps the times of work in buffers on the GPU, a number of them per context. */
static uint64_t device_buffer_bytes(const struct gt_config *config, uint32_t version)
{
	uint64_t all = gt_config_number(config, GT_CONFIG_GPU_MEMORY);

	(void)version;
	if (!all)
		return LEAVE;
	if (all < DEVICE_LEAST)
		all = DEVICE_LEAST;
	return all / DEVICE_BUFFERS < DEVICE_BYTES ? all / DEVICE_BUFFERS : DEVICE_BYTES;
}

static uint64_t device_buffers(const struct gt_config *config, uint32_t version)
{
	uint64_t all = gt_config_number(config, GT_CONFIG_GPU_MEMORY);
	uint64_t bytes = device_buffer_bytes(config, version);

	if (bytes == LEAVE)
		return LEAVE;
	return all / bytes > DEVICE_BUFFERS ? all / bytes : DEVICE_BUFFERS;
}

/* Those that are allocated with the context, not by a launch. */
static uint64_t ready_device_buffers(const struct gt_config *config, uint32_t version)
{
	uint64_t most = device_buffers(config, version);

	if (!gt_config_bool(config, GT_CONFIG_LATENCY) ||
	    !gt_cupti_has_quirk(version, GT_QUIRK_LATENCY_DEADLOCKS))
		return LEAVE;
	return most < READY_BUFFERS ? most : READY_BUFFERS;
}

static const struct {
	const char *name;
	CUpti_ActivityAttribute attribute;
	size_t bytes;
	uint64_t (*value)(const struct gt_config *config, uint32_t version);
} attributes[] = {
	{"ZEROED_OUT_ACTIVITY_BUFFER", CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, 1, zeroed},
	{"PER_THREAD_ACTIVITY_BUFFER", CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, 1,
	 per_thread},
	{"DEVICE_BUFFER_SIZE", CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, 8, device_buffer_bytes},
	{"DEVICE_BUFFER_POOL_LIMIT", CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, 8,
	 device_buffers},
	{"DEVICE_BUFFER_PRE_ALLOCATE_VALUE", CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE,
	 8, ready_device_buffers},
};

static void enable_latency(struct gt_cupti_status *status)
{
	bool is_first = !gt_cupti.has_buffers;

	if (is_first && gt_cupti_has_quirk(status->version, GT_QUIRK_LATENCY_DEADLOCKS))
		gt_log_say("%s", gt_cupti_quirk_text(GT_QUIRK_LATENCY_DEADLOCKS));
	gt_cupti_note_refused(status, "LATENCY_TIMESTAMPS",
			      gt_cupti.api.cuptiActivityEnableLatencyTimestamps(1));
}

void gt_cupti_settings_apply(const struct gt_config *config, struct gt_cupti_status *status)
{
	const struct gt_cupti_api *api = &gt_cupti.api;

	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
		uint64_t value = attributes[i].value(config, status->version);
		size_t bytes = attributes[i].bytes;

		if (api->cuptiActivitySetAttribute && value != LEAVE)
			gt_cupti_note_refused(status, attributes[i].name,
					      api->cuptiActivitySetAttribute(
						      attributes[i].attribute, &bytes, &value));
	}
	gt_cupti_hw_trace_enable(config, status);
	if (gt_config_bool(config, GT_CONFIG_LATENCY) && api->cuptiActivityEnableLatencyTimestamps)
		enable_latency(status);
}

bool gt_cupti_settings_per_thread(uint32_t version)
{
	return !gt_cupti_has_quirk(version, GT_QUIRK_NO_PER_THREAD_ATTRIBUTE);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * CUPTI's settings, see the header. One row each.
 */
#include "collectors/cupti/settings.h"

#include <string.h>

#include "collectors/cupti/internal.h"
#include "collectors/cupti/quirks.h"
#include "core/guest/text.h"

/* The attribute keeps CUPTI's own value. */
#define LEAVE UINT64_MAX

void gt_cupti_note_refused(struct gt_cupti_status *status, const char *what, int result)
{
	size_t used = strlen(status->refused);

	if (result != CUPTI_SUCCESS)
		gt_text_format(status->refused + used, sizeof(status->refused) - used, "%s%s=%d",
			       used ? " " : "", what, result);
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

static const struct {
	const char *name;
	CUpti_ActivityAttribute attribute;
	size_t bytes;
	uint64_t (*value)(const struct gt_config *config, uint32_t version);
} attributes[] = {
	{"ZEROED_OUT_ACTIVITY_BUFFER", CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, 1, zeroed},
	{"PER_THREAD_ACTIVITY_BUFFER", CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, 1,
	 per_thread},
};

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
	if (gt_config_bool(config, GT_CONFIG_LATENCY) && api->cuptiActivityEnableLatencyTimestamps)
		gt_cupti_note_refused(status, "LATENCY_TIMESTAMPS",
				      api->cuptiActivityEnableLatencyTimestamps(1));
}

bool gt_cupti_settings_per_thread(uint32_t version)
{
	return !gt_cupti_has_quirk(version, GT_QUIRK_NO_PER_THREAD_ATTRIBUTE);
}

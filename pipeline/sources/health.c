/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "pipeline/sources/health.h"

#include <string.h>

#include "collectors/nvml/nvml.h"
#include "core/config.h"
#include "core/guest/background.h"
#include "core/guest/clock.h"
#include "core/guest/log.h"
#include "core/guest/text.h"
#include "core/intern.h"
#include "core/schema/metadata.h"
#include "pipeline/output/outlet.h"
#include "pipeline/sources/collector.h"

/* NVML's, which has local arrays of some KiB. */
#define STACK_BYTES (512u << 10)

/* Some of its calls sleep for 20 ms. */
#define STOP_MAX_NS 100000000u

static void *run(void *unused)
{
	gt_background_enter("gputrace-n");
	gt_nvml_run(unused);
	gt_background_leave();
	return NULL;
}

static int start(void *part)
{
	struct gt_health *health = part;
	uint32_t hz = (uint32_t)gt_config_number(health->config, GT_CONFIG_NVML);

	if (hz == 0)
		return 0;
	gt_nvml_configure(hz);
	health->has_thread = gt_background_start(run, NULL, STACK_BYTES) == 0;
	if (!health->has_thread)
		gt_log_say("--nvml is off: no thread could be started");
	return 0;
}

static void stop(void *part)
{
	const struct gt_health *health = part;

	if (health->has_thread)
		gt_nvml_stop(STOP_MAX_NS);
}

static uint32_t threads(const void *part)
{
	const struct gt_health *health = part;

	return health->has_thread && !gt_nvml_why_not();
}

/* ---- what is asked ---- */

static bool is_in_window(const struct gt_metadata *metadata)
{
	return metadata->window_begin != UINT64_MAX && !metadata->window_end;
}

static void watch_devices(struct gt_health *health)
{
	const struct gt_metadata *metadata = health->metadata;

	if (health->generation == metadata->generation)
		return;
	health->generation = metadata->generation;
	for (uint32_t i = 0; i < metadata->device_count; i++)
		if (metadata->devices[i].id != UINT32_MAX && *metadata->devices[i].uuid)
			gt_nvml_watch(i, metadata->devices[i].uuid);
}

/* Once: whether there is an NVML. */
static void tell_state(struct gt_health *health)
{
	struct gt_metadata *metadata = health->metadata;
	const char *why = gt_nvml_why_not(), *driver = gt_nvml_driver();

	if (metadata->mode && !strcmp(metadata->mode, "hooks only"))
		why = "without CUPTI it is not known which GPUs are used";
	if (health->told || (!why && !*driver))
		return;
	health->told = true;
	metadata->generation++;
	if (!why) {
		gt_text_format(metadata->nvml, sizeof(metadata->nvml), "%u per second, driver %s",
			       (uint32_t)gt_config_number(health->config, GT_CONFIG_NVML), driver);
		return;
	}
	gt_text_format(metadata->nvml, sizeof(metadata->nvml), "off: %s", why);
	gt_log_say("--nvml: power and clocks are not recorded: %s", why);
}

/* ---- what comes ---- */

static void put_counter(const struct gt_health *health, const struct gt_nvml_sample *sample)
{
	const struct gt_health_name *name = &gt_health_names[sample->what];
	struct gt_event event = {.kind = GT_EVENT_COUNTER};

	event.start = event.end = gt_clock_from_monotonic(health->clock, sample->at);
	event.place.device = sample->device;
	event.counter.name = gt_intern_cstr(health->strings, name->counter);
	event.counter.series = gt_intern_cstr(health->strings, name->series);
	event.counter.on_gpu = true;
	event.counter.is_real = name->units != 1;
	event.counter.value = (int64_t)sample->value;
	event.counter.real = (double)sample->value / name->units;
	gt_outlet_event(health->outlet, &event);
}

static void put_note(const struct gt_health *health, const char *name, const char *text)
{
	gt_outlet_note(health->outlet,
		       &(struct gt_note_event){.name = name,
					       .what = gt_intern_cstr(health->strings, text)->text,
					       .cause = "NVML"});
	gt_log_verbose("%s: %s", name, text);
}

static void put_news(const struct gt_health *health, const struct gt_nvml_sample *sample)
{
	char text[160];

	switch (sample->what) {
	case GT_NVML_XID:
		gt_text_format(text, sizeof(text), "%lu on GPU %u", (unsigned long)sample->value,
			       sample->device);
		put_note(health, "XID", text);
		return;
	case GT_NVML_SHARED:
		gt_text_format(text, sizeof(text),
			       "GPU %u is an instance (MIG): power, clocks and the like are of the "
			       "whole GPU",
			       sample->device);
		put_note(health, "shared GPU", text);
		return;
	default:
		gt_text_format(text, sizeof(text),
			       "power and clocks of GPU %u are no longer read: NVML returns %lu%s",
			       sample->device, (unsigned long)sample->value,
			       sample->value == 15 ? ", the GPU is lost" : "");
		put_note(health, "capture gap", text);
	}
}

/* A call that does not return, and when it does. */
static void tell_stuck(struct gt_health *health)
{
	bool stuck = gt_nvml_is_stuck();

	if (stuck == health->told_stuck)
		return;
	health->told_stuck = stuck;
	if (stuck)
		put_note(health, "capture gap",
			 "power and clocks are no longer read: a call of NVML does not return");
	else
		put_note(health, "capture resumed", "NVML answers again");
}

static uint64_t drain(void *part)
{
	struct gt_health *health = part;
	struct gt_nvml_sample sample;
	bool records = is_in_window(health->metadata);
	uint64_t taken = 0;

	if (!health->has_thread)
		return 0;
	tell_state(health);
	watch_devices(health);
	gt_nvml_set_active(records);
	if (records)
		tell_stuck(health);
	for (; gt_nvml_take(&sample); taken++) {
		if (!records)
			continue;
		if (sample.what < GT_HEALTH_READINGS_)
			put_counter(health, &sample);
		else
			put_news(health, &sample);
	}
	return taken;
}

/* ---- what is counted ---- */

static uint64_t read_values(const void *part)
{
	(void)part;
	return gt_nvml_count().read;
}

static uint64_t lost_values(const void *part)
{
	(void)part;
	return gt_nvml_count().lost;
}

static uint64_t failed_values(const void *part)
{
	(void)part;
	return gt_nvml_count().failed;
}

static const struct gt_collector_count counts[] = {
	{read_values, GT_LEDGER_NVML_READ, NULL, NULL, NULL, NULL},
	{lost_values, GT_LEDGER_NVML_LOST, "LOST", "room for values of NVML full", "values of NVML",
	 "the drain thread came too late: --nvml with fewer Hz"},
	{failed_values, GT_LEDGER_NVML_FAILED, NULL, NULL, NULL, NULL},
};

/* --nvml. */
const struct gt_collector gt_health_collector = {
	.name = "health",
	.start = start,
	.drain = drain,
	.counts = counts,
	.count_count = sizeof(counts) / sizeof(counts[0]),
	.threads = threads,
	.stop = stop,
};

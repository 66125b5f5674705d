/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. A sample waits for nothing and nothing waits for it: no correlation, no launch.
 */
#include "pipeline/sources/samples.h"

#include "collectors/call/call.h"
#include "collectors/sampler/sampler.h"
#include "core/config.h"
#include "core/guest/background.h"
#include "core/guest/clock.h"
#include "core/guest/log.h"
#include "core/guest/seccomp.h"
#include "core/schema/ledger.h"
#include "pipeline/output/outlet.h"
#include "pipeline/sources/collector.h"
#include "pipeline/sources/stacks.h"

#define STACK_BYTES (256u << 10)

/* The sampler's thread finishes a look of microseconds; it may have to wait for a processor. */
#define STOP_MAX_NS 200000000u

static void *run(void *unused)
{
	gt_background_enter("gputrace-s");
	return gt_sampler_run(unused);
}

/* Without stacks a sample would say nothing. */
static int start(void *part)
{
	struct gt_samples *samples = part;
	uint32_t hz = (uint32_t)gt_config_number(samples->config, GT_CONFIG_SAMPLE_CPU);

	if (hz == 0 || samples->stacks->captured_frames == 0)
		return 0;
	gt_sampler_configure(hz, samples->stacks->captured_frames);
	samples->has_sampler = gt_background_start(run, NULL, STACK_BYTES) == 0;
	if (!samples->has_sampler)
		gt_log_say("--sample-cpu is off: no thread could be started");
	return 0;
}

static void stop(void *part)
{
	const struct gt_samples *samples = part;

	if (samples->has_sampler)
		gt_sampler_stop(STOP_MAX_NS);
}

static uint32_t threads(const void *part)
{
	const struct gt_samples *samples = part;

	return samples->has_sampler;
}

void gt_samples_take(const struct gt_samples *samples, const struct gt_call_record *record)
{
	struct gt_event event = {
		.kind = GT_EVENT_SAMPLE,
		.tid = record->tid,
		.start = gt_clock_from_monotonic(samples->clock, record->start),
		.stack = gt_call_stacks_of_sample(samples->stacks, record),
		.sample = {.waiting = record->head.flags & GT_CALL_WAITING},
	};

	event.end = event.start;
	gt_ledger_add(samples->ledger, GT_LEDGER_SAMPLES_RECEIVED, 1);
	gt_outlet_event(samples->outlet, &event);
}

/* Once: threads that run can no longer be sampled. */
static void report(void *part)
{
	static const struct gt_note_event notes[] = {
		{.name = "capture gap",
		 .what = "the program has a handler for SIGURG: threads are sampled only while "
			 "they "
			 "wait",
		 .cause = "signal in use"},
		{.name = "capture gap",
		 .what = "the program has a seccomp filter: threads are sampled only while they "
			 "wait",
		 .cause = "seccomp filter"}};
	struct gt_samples *samples = part;
	bool filtered = gt_seccomp_seen() == GT_SECCOMP_OWN;

	if (!samples->has_sampler || samples->reported_signal || gt_sampler_count().has_signal)
		return;
	samples->reported_signal = true;
	gt_outlet_note(samples->outlet, &notes[filtered]);
	gt_log_say("the program %s: --sample-cpu sees threads only while they wait",
		   filtered ? "has a seccomp filter" : "uses SIGURG");
}

static void count(void *part, struct gt_ledger *ledger)
{
	const struct gt_samples *samples = part;
	struct gt_sampler_counts counts;

	if (!samples->has_sampler)
		return;
	counts = gt_sampler_count();
	ledger->count[GT_LEDGER_SAMPLES_SKIPPED] = counts.skipped;
	ledger->count[GT_LEDGER_SAMPLES_LOST] = counts.lost;
	ledger->count[GT_LEDGER_SAMPLES_LATE] = counts.late;
}

/* --sample-cpu. Its records lie in a ring like those of threads. */
const struct gt_collector gt_samples_collector = {
	.name = "samples",
	.start = start,
	.report = report,
	.count = count,
	.threads = threads,
	.stop = stop,
};

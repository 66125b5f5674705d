/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. A sample waits for nothing and nothing waits for it: no correlation, no launch.
 */
#include "pipeline/samples.h"

#include "collectors/call/call.h"
#include "collectors/sampler/sampler.h"
#include "core/guest/background.h"
#include "core/guest/log.h"
#include "pipeline/collector.h"
#include "pipeline/session.h"
#include "pipeline/stacks.h"

#define STACK_BYTES (256u << 10)

/* The sampler's thread finishes a look of microseconds; it may have to wait for a processor. */
#define STOP_MAX_NS 200000000u

static void *run(void *unused)
{
	gt_background_enter("gputrace-s");
	return gt_sampler_run(unused);
}

/* Without stacks a sample would say nothing. */
static int start(struct gt_session *session)
{
	uint32_t hz = (uint32_t)gt_config_number(&session->config, GT_CONFIG_SAMPLE_CPU);

	if (hz == 0 || session->captured_frames == 0)
		return 0;
	gt_sampler_configure(hz, session->captured_frames);
	session->has_sampler = gt_background_start(run, NULL, STACK_BYTES) == 0;
	if (!session->has_sampler)
		gt_log_say("--sample-cpu is off: no thread could be started");
	return 0;
}

static void stop(struct gt_session *session)
{
	if (session->has_sampler)
		gt_sampler_stop(STOP_MAX_NS);
}

void gt_samples_take(struct gt_session *session, const struct gt_call_record *record)
{
	struct gt_event event = {
		.kind = GT_EVENT_SAMPLE,
		.tid = record->tid,
		.start = gt_clock_from_monotonic(&session->clock, record->start),
		.stack = gt_stacks_of_sample(session, record),
		.sample = {.waiting = record->head.flags & GT_CALL_WAITING},
	};

	event.end = event.start;
	gt_ledger_add(&session->ledger, GT_LEDGER_SAMPLES_RECEIVED, 1);
	gt_emit_event(session, &event);
}

/* Once: threads that run can no longer be sampled. */
static void report(struct gt_session *session)
{
	if (!session->has_sampler || session->reported_signal || gt_sampler_count().has_signal)
		return;
	session->reported_signal = true;
	gt_emit_note(
		session, "capture gap",
		"the program has a handler for SIGURG: threads are sampled only while they wait",
		"signal in use", NULL, 0);
	gt_log_say("the program uses SIGURG: --sample-cpu sees threads only while they wait");
}

static void count(struct gt_session *session)
{
	struct gt_sampler_counts counts;

	if (!session->has_sampler)
		return;
	counts = gt_sampler_count();
	session->ledger.count[GT_LEDGER_SAMPLES_SKIPPED] = counts.skipped;
	session->ledger.count[GT_LEDGER_SAMPLES_LOST] = counts.lost;
}

/* --sample-cpu. Its records lie in a ring like those of threads. */
const struct gt_collector gt_samples_collector = {
	.name = "samples",
	.start = start,
	.report = report,
	.count = count,
	.stop = stop,
};

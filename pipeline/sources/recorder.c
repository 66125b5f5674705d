/* SPDX-License-Identifier: Apache-2.0
 *
 * --flight-recorder as a part of the session: it is made before there are events, and grows older
 * in each round.
 */
#include "pipeline/recorder/recorder.h"

#include "core/guest/clock.h"
#include "pipeline/sources/collector.h"

static int start(void *part)
{
	struct gt_recorder *recorder = part;

	return recorder->plan.keep_ns ? gt_recorder_start(recorder) : 0;
}

static uint64_t drain(void *part)
{
	struct gt_recorder *recorder = part;

	if (recorder->store)
		gt_recorder_age(recorder, gt_clock_from_monotonic(recorder->clock, gt_clock_now()));
	return 0;
}

static void count(void *part, struct gt_ledger *ledger)
{
	const struct gt_recorder *recorder = part;

	if (recorder->store)
		gt_recorder_count(recorder->store, recorder->old, ledger);
}

/* Keeps events, makes none. */
const struct gt_collector gt_recorder_collector = {
	.name = "flight recorder",
	.start = start,
	.drain = drain,
	.count = count,
};

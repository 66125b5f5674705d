/* SPDX-License-Identifier: Apache-2.0
 *
 * --sample-cpu: the records of the sampler (collectors/sampler/sampler.h) as events.
 */
#ifndef GT_PIPELINE_SOURCES_SAMPLES_H
#define GT_PIPELINE_SOURCES_SAMPLES_H

#include <stdatomic.h>
#include <stdbool.h>

struct gt_call_record;
struct gt_call_stacks;
struct gt_clock;
struct gt_config;
struct gt_ledger;
struct gt_outlet;

/* Given: the first five; the rest is zero at first. */
struct gt_samples {
	const struct gt_config *config;
	const struct gt_clock *clock;
	struct gt_ledger *ledger;
	struct gt_call_stacks *stacks;
	struct gt_outlet *outlet;
	_Atomic bool has_sampler; /* there is a thread; the exiting thread asks, too */
	bool reported_signal;
};

/* A record of the sampler. Drain thread. */
void gt_samples_take(const struct gt_samples *samples, const struct gt_call_record *record);

#endif

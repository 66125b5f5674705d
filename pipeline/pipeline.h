/* SPDX-License-Identifier: Apache-2.0
 *
 * The composition: all parts of a pipeline, each with pointers to what it hands down to. Known only
 * to who starts, turns and replays one (tests/structure/sources.py); a part knows its own context.
 *
 *   sources -> join -> ranges -> output
 *
 * Owned by whoever holds it: the starting thread, then the drain thread, at the very end perhaps
 * the exiting one (pipeline/drain.c).
 */
#ifndef GT_PIPELINE_PIPELINE_H
#define GT_PIPELINE_PIPELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/budget.h"
#include "core/config.h"
#include "core/guest/clock.h"
#include "core/guest/seccomp.h"
#include "core/schema/ledger.h"
#include "core/schema/metadata.h"
#include "pipeline/hang/hang.h"
#include "pipeline/join/join.h"
#include "pipeline/join/origins.h"
#include "pipeline/output/outlet.h"
#include "pipeline/output/output.h"
#include "pipeline/recorder/recorder.h"
#include "pipeline/sources/calls.h"
#include "pipeline/sources/coexist.h"
#include "pipeline/sources/collector.h"
#include "pipeline/sources/cost.h"
#include "pipeline/frameworks.h"
#include "pipeline/sources/gpu.h"
#include "pipeline/sources/health.h"
#include "pipeline/sources/holdings.h"
#include "pipeline/sources/release.h"
#include "pipeline/sources/rings.h"
#include "pipeline/sources/samples.h"
#include "pipeline/sources/stacks.h"
#include "pipeline/sources/stores.h"
#include "pipeline/sources/thread_names.h"
#include "pipeline/spool/spooled.h"
#include "pipeline/window.h"

/* All parts. Filled by who starts it, in this order: config, clock, metadata, window; then
 * gt_pipeline_link. */
struct gt_pipeline {
	/* shared by the parts that have a pointer to it */
	struct gt_config config;
	struct gt_budget budget;
	struct gt_clock clock;
	struct gt_fast_clock_pilot fast_clock;
	struct gt_metadata metadata;
	struct gt_ledger ledger;
	struct gt_stores stores;
	struct gt_window window;
	struct gt_config shown; /* as the trace that is being written has it, after a set */
	bool has_shown;
	/* output */
	struct gt_spooling spooling;
	struct gt_filters filters; /* .asked is given */
	struct gt_recorder recorder;
	struct gt_output output;
	struct gt_outlet outlet;
	/* ranges */
	struct gt_ranges *ranges;
	/* join */
	struct gt_origins origins;
	struct gt_call_join join;
	/* sources */
	struct gt_release release;
	struct gt_thread_names threads;
	struct gt_call_stacks stacks;
	struct gt_calls calls;
	struct gt_holdings holdings;
	struct gt_samples samples;
	struct gt_rings rings;
	struct gt_gpu gpu;
	struct gt_coexist coexist;
	struct gt_frameworks frameworks;
	struct gt_cost cost;
	struct gt_health health;
	struct gt_collectors collectors;
	/* beside them */
	struct gt_hang hang;
	/* the turns of the drain thread: CLOCK_MONOTONIC ns */
	uint64_t next_flush, next_clock, next_tell;
	uint64_t flushes; /* that are over */
	struct {
		uint32_t made, left; /* contexts when it was looked last; flushes */
		uint64_t next;
	} soon;                  /* for devices that --nvml is to read: CUPTI has records of them */
	struct gt_ledger closed; /* of the file of the last window */
	enum gt_seccomp seccomp; /* as the metadata has it */
};

/* Ties spool and output to what they share, and finds the folder of the trace. Makes nothing. */
void gt_pipeline_link(struct gt_pipeline *pipeline);

/* Makes the stores and all parts behind the spool, which may have been started by then. @watch_end:
 * see struct gt_gpu. -ENOMEM: _fini is still due. */
int gt_pipeline_init(struct gt_pipeline *pipeline, void (*watch_end)(void));

/* Frees what _init made; only for a pipeline without threads (recovery). Also of a zeroed
 * struct. */
void gt_pipeline_fini(struct gt_pipeline *pipeline);

#endif

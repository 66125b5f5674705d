/* SPDX-License-Identifier: Apache-2.0
 *
 * What tracing costs the process, by the tracer's own counts (docs/benchmarks/overhead.md has the
 * definitions), as a counter track, in the ledger and in the metadata; and --max-overhead, which
 * has less recorded when it is too much. Drain thread.
 */
#ifndef GT_PIPELINE_SOURCES_COST_H
#define GT_PIPELINE_SOURCES_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "core/overhead/cost.h"
#include "core/overhead/governor.h"

struct gt_clock;
struct gt_config;
struct gt_intern;
struct gt_metadata;
struct gt_outlet;
struct gt_string;

/* Sums since the start of the process, ns. */
struct gt_cost_reading {
	uint64_t at;      /* CLOCK_MONOTONIC */
	uint64_t added;   /* to the program's threads: calls and ranges, by sampled stamps */
	uint64_t own;     /* processor time of our threads */
	uint64_t process; /* processor time of the process, with both */
	uint64_t threads; /* time that threads which call CUDA have lived */
	uint64_t calls;   /* seen */
};

/* Between two readings. Pure. */
struct gt_cost_shares gt_cost_between(const struct gt_cost_reading *from,
				      const struct gt_cost_reading *to);

/* Given: the first five; the rest is zero at first. */
struct gt_cost {
	const struct gt_config *config;
	const struct gt_clock *clock;
	struct gt_intern *strings;
	struct gt_outlet *outlet;
	struct gt_metadata *metadata;
	struct gt_governor governor;
	struct gt_cost_reading first, last;
	struct gt_cost_reading since; /* the start of this trace */
	uint64_t next;                /* CLOCK_MONOTONIC ns: end of the period */
	uint32_t named_steps;         /* at the end of the last one */
};

/* Another --max-overhead, in hundredths of a percent; 0: none, and all is recorded. */
void gt_cost_set_max(struct gt_cost *cost, uint32_t max);

/* The trace ends: metadata.cost. */
void gt_cost_finish(struct gt_cost *cost);

#endif

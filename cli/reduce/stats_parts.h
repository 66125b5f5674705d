/* SPDX-License-Identifier: Apache-2.0
 *
 * What `gputrace stats` prints, as groups of a share of the traces: made by the process that has
 * read it, printed from what all shares add up to. main only.
 */
#ifndef GT_CLI_REDUCE_STATS_PARTS_H
#define GT_CLI_REDUCE_STATS_PARTS_H

#include "analysis/group_merge.h"
#include "analysis/stats.h"
#include "analysis/table/mangled.h"
#include "analysis/table/table.h"

#define GT_STATS_PARTS_MOST 40 /* tables */

/* A number that is summed over all traces. */
enum gt_stats_fact {
	GT_STATS_GRAPHS, /* traces with whole graphs */
	GT_STATS_CODE,   /* with call stacks */
	GT_STATS_MARKED, /* shares in which it is known whose code a frame is */
	GT_STATS_SILENT, /* ns, and what follows: struct gt_stats_backward */
	GT_STATS_ACCUMULATED,
	GT_STATS_UNKNOWN,
	GT_STATS_LOST_OF,
	GT_STATS_TIED,
	GT_STATS_PASSES,    /* shares in which something passes the filter */
	GT_STATS_PROCESSES, /* and what follows: struct gt_stats_cost */
	GT_STATS_COST_ADDED,
	GT_STATS_COST_OWN,
	GT_STATS_COST_ELAPSED,
	GT_STATS_COST_PROCESS,
	GT_STATS_COST_THREADS,
	GT_STATS_FACT_COUNT_
};

/* Lines about each trace. */
enum gt_stats_lines {
	GT_STATS_TRACES,
	GT_STATS_DEVICES,
	GT_STATS_LOSSES,
	GT_STATS_EVENTS,
};

/* A table that was asked for. */
struct gt_stats_part {
	struct gt_report report;
	size_t set;     /* of its groups; 0: it has none, and is made of the traces */
	bool is_mapped; /* the groups are there */
};

/* An answer. */
struct gt_stats_parts {
	struct gt_group_set sets[GT_STATS_PARTS_MOST + 2]; /* the first one: lines and facts */
	size_t mangled; /* the set of mangled names of kernels; 0: nobody asked for them */
	size_t set_count;
	struct gt_stats_part part[GT_STATS_PARTS_MOST];
	size_t count;
};

/* Starts an answer without tables. 0 or -ENOMEM; free with gt_stats_parts_fini in either case. */
int gt_stats_parts_init(struct gt_stats_parts *parts);
void gt_stats_parts_fini(struct gt_stats_parts *parts);

/* Adds a table, of GT_STATS_PARTS_MOST at most. -ENOMEM. */
int gt_stats_parts_want(struct gt_stats_parts *parts, const struct gt_report *report);

/* Adds the mangled names of kernels. -ENOMEM. */
int gt_stats_parts_want_mangled(struct gt_stats_parts *parts);

/* What takes time and is not always printed. */
struct gt_stats_asked {
	bool devices;  /* their lines */
	bool backward; /* gt_stats_backward */
	bool tables;   /* that shares are merged into: else each is made when it is filled */
};

/* Adds what the traces of @job say. 0 or -ENOMEM. */
int gt_stats_parts_map(struct gt_stats_parts *parts, const struct gt_job *job,
		       const struct gt_filter *filter, struct gt_stats_asked asked);

/* Makes table number @part of the groups of all shares, or of @job, of this process alone, where
 * they are not made yet; they are gone then. 0 or -ENOMEM. */
int gt_stats_parts_fill(struct gt_stats_parts *parts, size_t part, const struct gt_job *job,
			const struct gt_filter *filter, struct gt_table *ret_table);

/* Of all shares. */
int64_t gt_stats_parts_fact(struct gt_stats_parts *parts, enum gt_stats_fact fact);

/* What the backward pass launched has no line where the trace does not tell the place of its
 * forward operator: how much, and why. False: nothing. */
bool gt_stats_parts_backward(struct gt_stats_parts *parts, char *ret_line, size_t size);

/* The mangled names of all shares, in a table that is zeroed and valid as long as @parts. -ENOMEM.
 */
int gt_stats_parts_mangled(struct gt_stats_parts *parts, struct gt_mangled_names *names);

/* Hands out the lines of one kind, as they are and without their end, in the order of the traces.
 */
void gt_stats_parts_lines(const struct gt_stats_parts *parts, enum gt_stats_lines kind,
			  void (*take)(const char *line, void *data), void *data);

/* What the traces do not hold, and what was noted: gt_cmdline_losses of all shares. */
void gt_shares_losses(const struct gt_stats_parts *parts, const struct gt_print *how);

#endif

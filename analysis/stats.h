/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums over a job: the tables that `nsys stats` prints, under its names and columns, and the same
 * by stack, line, operator, step... Pure over constant models; one thread per table.
 */
#ifndef GT_ANALYSIS_STATS_H
#define GT_ANALYSIS_STATS_H

#include "analysis/group.h"
#include "analysis/intervals.h"
#include "analysis/key.h"
#include "analysis/table/table.h"
#include "trace/job.h"

/* A report of `gputrace stats`: its name and how its table is made. One with a map is made of
 * groups: those that several processes have of parts of a job can be merged (group_merge.h). */
struct gt_report {
	const char *name; /* as written behind --report= */
	const char *title;
	int (*build)(const struct gt_report *report, const struct gt_job *job,
		     const struct gt_filter *filter, struct gt_table *ret_table);
	bool percentiles; /* set in a copy: P90 and P99 of times, where it has a median */
	bool is_short;    /* fewer columns for people */
	int (*map)(const struct gt_report *report, const struct gt_job *job,
		   const struct gt_filter *filter, struct gt_groups *groups);
	int (*fill)(const struct gt_report *report, struct gt_groups *groups,
		    struct gt_table *ret_table);
	enum gt_key key;    /* what its groups are, if it is made of GPU operations */
	unsigned int kinds; /* which ones: bit GT_OP_x */
	bool bytes;         /* their sizes, not their times */
	bool is_any_frame;  /* with keys of frames: the innermost one, whosever it is */
	enum gt_tag_join joins[GT_GROUP_TAGS];
};

/* The build of those that are made of groups: map, then fill. */
int gt_stats_by_groups(const struct gt_report *report, const struct gt_job *job,
		       const struct gt_filter *filter, struct gt_table *ret_table);

/* All reports, ended by a NULL name. */
extern const struct gt_report gt_reports[];

#define GT_STATS_SHORT 4

/* The short tables of a plain `stats`: kernels, CUDA API, copies, whole graphs. */
extern const struct gt_report gt_stats_short[GT_STATS_SHORT];

/* How many of them, from the first on, there is something for: the last one only where traces have
 * whole graphs. */
size_t gt_stats_short_count(const struct gt_job *job);

/* The map of groups of GPU operations: by report->key, those of report->kinds. */
int gt_stats_map_ops(const struct gt_report *report, const struct gt_job *job,
		     const struct gt_filter *filter, struct gt_groups *groups);

/* GPU operations summed under a key. @is_any_frame: gt_stats_any_frame. */
struct gt_report gt_stats_by(enum gt_key key, bool is_any_frame);

/* Does the launching frame of a stack stand for itself, whosever it is? */
bool gt_stats_any_frame(const struct gt_job *job);

/* What one device of one process did. */
struct gt_device_use {
	const struct gt_model *model;
	const struct gt_device_track *track; /* its operations in the model */
	uint16_t device;
	const char *name;    /* "" when the header does not tell */
	int64_t first, last; /* of its operations that the filter lets pass, ns; as all below */
	int64_t from,
		until;  /* the window that was looked at: gt_filter_window, and they lie in it */
	int64_t before; /* when none ran, not even others, from there up to first */
	int64_t after;  /* the same from last on */
	int64_t busy;   /* union of all operations */
	int64_t idle;   /* when none ran, not even others, up to one of them, since first */
	int64_t kernel, copy; /* union of kernels, of copies and sets */
	int64_t comm;         /* union of collectives */
	int64_t kernel_copy;  /* kernels and copies at the same time */
	int64_t compute_comm; /* other kernels and collectives at the same time */
	int64_t graph;        /* union of whole graphs, whose kernels and copies are not known */
	int64_t kernel_graph; /* kernels and whole graphs at the same time */
	uint64_t count[GT_OP_KIND_COUNT_];
};

/* One entry per process and device, in that order. Returns their number (the caller frees
 * *ret_uses) or -ENOMEM. */
int gt_stats_devices(const struct gt_job *job, const struct gt_filter *filter,
		     struct gt_device_use **ret_uses);

/* Whether a model has call stacks or functions of Python. */
bool gt_stats_has_code(const struct gt_job *job);

/* GPU time that threads of PyTorch's backward pass launched without a frame of the user's, for
 * which a line must be known by its forward operator; by why there is none. */
struct gt_stats_backward {
	int64_t silent;      /* that operator launched nothing, as one that makes a view */
	int64_t accumulated; /* AccumulateGrad: it belongs to a parameter, not to an operator */
	int64_t unknown;     /* the trace does not tell that operator */
	int64_t all;
	bool is_tied; /* the trace knows forward operators, but not those */
};

/* Where a model is marked (trace/user_code.h). 0 or -ENOMEM. */
int gt_stats_backward(const struct gt_job *job, const struct gt_filter *filter,
		      struct gt_stats_backward *ret_sum);

/* What tracing cost, by its own count: sums that can be added to those of other processes. */
struct gt_stats_cost {
	uint64_t processes, added, own, elapsed, process, threads;
};

/* Of all processes of the job together. */
struct gt_stats_cost gt_stats_cost(const struct gt_job *job);

/* "1.20 % of the process's time ..."; false: no trace tells. */
bool gt_stats_cost_text(const struct gt_stats_cost *cost, char *ret_text, size_t size);

#endif

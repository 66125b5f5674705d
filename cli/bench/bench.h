/* SPDX-License-Identifier: Apache-2.0
 *
 * What the parts of `gputrace bench` share:
 *
 *   tables.c   workloads, levels (tracers and how much they record)
 *   run.c      one run of one workload under one level
 *   report.c   medians, what was added, the split; table, json, markdown
 *
 * The command, cli/commands/bench.c: which runs, in which order.
 *
 * One thread.
 */
#ifndef GT_CLI_BENCH_BENCH_H
#define GT_CLI_BENCH_BENCH_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "analysis/table/table.h"

/* How a level gets into the process. */
enum gt_bench_way {
	GT_BENCH_PLAIN,   /* not at all */
	GT_BENCH_PRELOAD, /* LD_PRELOAD, without the driver's injection */
	GT_BENCH_FLOOR,   /* the minimal CUPTI tool */
	GT_BENCH_INJECT,  /* as gputrace run: both */
	GT_BENCH_TORCH,   /* another profiler, of --peers */
	GT_BENCH_NSYS,
};

/* When a level is measured without being named. */
enum gt_bench_when {
	GT_BENCH_ALWAYS,
	GT_BENCH_PEERS, /* with --peers */
	GT_BENCH_NAMED, /* never */
};

/* What is measured: no tracer, the floor, or gputrace with certain options. */
struct gt_bench_level {
	const char *name;
	const char *title;
	enum gt_bench_way way;
	bool python; /* the workload runs below ten Python frames */
	enum gt_bench_when when;
	const char *const *settings; /* "GPUTRACE_...=..."; of a peer: its own words. NULL-ended */
};

/* A workload, and how its launches are timed. */
struct gt_bench_workload {
	const char *name;
	const char *title;
	uint32_t launches; /* a thread and part; 0: by the rate */
	uint32_t parts;
	uint32_t rate;
	bool quick;   /* also with --quick */
	bool runtime; /* calls of the runtime, which is what hooks see */
};

/* The levels and workloads there are, in the order of the tables. */
extern const struct gt_bench_level gt_bench_levels[];
extern const size_t gt_bench_level_count;
extern const struct gt_bench_workload gt_bench_workloads[];
extern const size_t gt_bench_workload_count;

#define GT_BENCH_MAX_LEVELS    40
#define GT_BENCH_MAX_WORKLOADS 24
#define GT_BENCH_MAX_RUNS      31

/* The figures of one run. A NaN: not told. */
enum gt_bench_figure {
	GT_BENCH_NS,   /* of a launch, on the thread that makes it */
	GT_BENCH_WALL, /* the two times of which one is NS */
	GT_BENCH_CPU,
	GT_BENCH_BYTES, /* of file, a launch */
	GT_BENCH_DROPS, /* calls, records and events that the trace says were lost */
	GT_BENCH_LEFT,  /* calls and ranges that were left out by rule (--thin), so cost less */
	GT_BENCH_DRAIN, /* ns of processor of the tracer's thread, a launch */
	GT_BENCH_SHARE, /* of one processor that this thread took, % */
	GT_BENCH_RSS,   /* MiB, largest */
	GT_BENCH_CLOCK, /* ns of one reading of the clock */
	GT_BENCH_FIGURES_
};

/* All repetitions of one workload at one level. */
struct gt_bench_runs {
	double figure[GT_BENCH_FIGURES_][GT_BENCH_MAX_RUNS];
	size_t count;
	char missing[256]; /* why there is no figure, "": there is */
};

/* A whole measurement. */
struct gt_bench {
	const char *library;   /* libgputrace.so */
	const char *parts;     /* folder of workload and floor */
	char folder[PATH_MAX]; /* scratch, for traces */
	bool quick, peers, by_cpu;
	size_t repetitions;
	bool wanted_workload[GT_BENCH_MAX_WORKLOADS], wanted_level[GT_BENCH_MAX_LEVELS];
	char device[128];
	bool simulated;
	struct gt_bench_runs runs[GT_BENCH_MAX_WORKLOADS][GT_BENCH_MAX_LEVELS];
};

/* Runs @workload once under @level and adds its figures, or why there are none. */
void gt_bench_run(struct gt_bench *bench, size_t workload, size_t level);

/* Removes the scratch folder. */
void gt_bench_clean(const struct gt_bench *bench);

/* "" when the level can run here, else why not. */
const char *gt_bench_obstacle(const struct gt_bench *bench, size_t level);

/* One figure over the repetitions. */
struct gt_bench_spread {
	double median, least, largest;
};

/* Median, least and largest of the reported values. False: there are none. */
bool gt_bench_spread(const struct gt_bench *bench, size_t workload, size_t level,
		     enum gt_bench_figure figure, struct gt_bench_spread *ret);

/* Prints the tables in the format of @print. */
void gt_bench_print(const struct gt_bench *bench, const struct gt_print *how, FILE *out);

#endif

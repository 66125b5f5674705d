/* SPDX-License-Identifier: Apache-2.0
 *
 * Why does the process hang: a report of what is in flight on the GPU and of where the threads are,
 * with a verdict. Asked for by --watchdog when nothing moves, or from outside. Nothing here calls
 * CUPTI or the driver. Drain thread, which holds the pipeline.
 */
#ifndef GT_PIPELINE_HANG_HANG_H
#define GT_PIPELINE_HANG_HANG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pipeline/hang/watchdog.h"

struct gt_calls;
struct gt_config;
struct gt_demangle;
struct gt_json;
struct gt_output;
struct gt_ranges;
struct gt_thread_names;

/* Given: all but the last two, which are zero at first but for watchdog.done and .of. */
struct gt_hang {
	const struct gt_config *config;
	struct gt_calls *calls; /* with their stacks, their join and the outlet behind it */
	struct gt_thread_names *names;
	struct gt_demangle *demangle;
	const struct gt_output *output;
	const struct gt_ranges *ranges;
	uint64_t (*flushing)(uint64_t now); /* for how long CUPTI's flush has not returned, ns */
	uint32_t reports;                   /* files written so far */
	struct gt_watchdog watchdog;
};

/* Checks what moves, and reports when nothing has for as long as --watchdog says: by a file
 * beside the trace, a note in it, a line on stderr. @now: CLOCK_MONOTONIC ns, as below. True: this
 * is the moment, once for each stall. */
bool gt_hang_watch(struct gt_hang *hang, uint64_t now);

/* The trace is being closed: a stall that has ended a moment ago is said to have. */
void gt_hang_end(struct gt_hang *hang, uint64_t now);

/* How a report is printed. */
struct gt_hang_form {
	bool as_json; /* one object in a line; else text */
	bool summary; /* behind it lines for a command that compares processes, collectives.h */
	size_t most;  /* bytes: of more, threads are left out at the end */
};

/* Fills the empty @out with the report. */
void gt_hang_print(struct gt_hang *hang, uint64_t now, const struct gt_hang_form *form,
		   struct gt_json *out);

#endif

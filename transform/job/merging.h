/* SPDX-License-Identifier: Apache-2.0
 *
 * A merge under way, for its parts: merge.c, copy.c, connect.c and frame.c. One thread per merge.
 */
#ifndef GT_TRANSFORM_JOB_MERGING_H
#define GT_TRANSFORM_JOB_MERGING_H

#include "core/schema/ledger.h"
#include "readers/chrome/reader.h"
#include "transform/job/rows.h"
#include "transform/job/sources.h"
#include "transform/job/window.h"

#define GT_MERGE_US_SIZE 32 /* bytes of a text of microseconds */

/* Numbers that mean something in their own process only. Each kind is shifted by itself: operators
 * are counted from 1000000000 on, and stacks must not become as large. */
enum gt_merge_id {
	GT_MERGE_ID_CALL, /* correlation, flows */
	GT_MERGE_ID_EXTERNAL,
	GT_MERGE_ID_STACK,
	GT_MERGE_ID_COUNT_,
};

/* What is added to the ids of one kind. */
struct gt_merge_ids {
	int64_t shift, largest; /* of the process in hand */
};

struct gt_merge_call; /* connect.c */

/* All of it. */
struct gt_merging {
	FILE *out;
	struct gt_merge_result *result;
	struct gt_merge_sources sources;
	struct gt_clocks clocks; /* by process */
	struct gt_merge_rows rows;
	struct gt_merge_devices devices;
	int64_t base;
	bool has_base;
	uint64_t row_names; /* that were added */
	struct gt_ledger ledger;
	bool has_ledger;
	struct gt_ledger left_out;   /* by the window: what was written less, and why */
	struct gt_as_json_wish wish; /* see struct gt_merge_request */

	/* the trace in hand */
	const struct gt_merge_source *source;
	const struct gt_clock_map *clock; /* of its process */
	int64_t ts_shift;
	bool moves;   /* its times change, lengths too */
	bool is_lost; /* it is not aligned: it does not tell what its times count from */
	bool is_ours; /* gputrace wrote it */
	struct gt_merge_ids ids[GT_MERGE_ID_COUNT_];
	struct gt_merge_call *calls; /* by id; NULL: the process has one file */
	int64_t now;                 /* ns, of the event in hand */
	struct gt_merge_window window;
	int64_t window_shift; /* time of the job = time of the merged file + this */
};

/* copy.c: an event as it stands but for the numbers that must change; the handler of a reading
 * with a struct gt_merging. -EIO. */
int gt_merge_copy_event(const struct gt_trace_event *record, const struct gt_header *header,
			void *merging);

/* The same, as if it were at m->now, to @out; where that is not m->out, with no comma. */
void gt_merge_put_event(struct gt_merging *m, const struct gt_trace_event *record, FILE *out);

/* The time on the clock of the merged file; one that no number holds becomes the nearest that one
 * does. */
int64_t gt_merge_time(const struct gt_merging *m, int64_t ns);

/* @ns in microseconds, as a "ts" has them; into @text of GT_MERGE_US_SIZE bytes, which it
 * returns. */
const char *gt_merge_us(int64_t ns, char *text);

/* The number of a pid of the trace in hand; the merged file says whose it is. */
int64_t gt_merge_pid(struct gt_merging *m, int64_t pid);

/* The sum of two ids; beyond what a number holds it wraps around. */
int64_t gt_merge_id_sum(int64_t a, int64_t b);

/* merge.c: opens the trace in hand as JSON. As gt_as_json_open. */
int gt_merge_open(const struct gt_merging *m, struct gt_as_json *trace);

/* merge.c: the trace in hand from now on, on its clock. */
void gt_merge_take_in_hand(struct gt_merging *m, const struct gt_merge_source *source);

/* connect.c: the process in hand has several files, between which flows are drawn. -ENOMEM. */
int gt_merge_connect_begin(struct gt_merging *m);
void gt_merge_connect(struct gt_merging *m, const struct gt_trace_event *record);
void gt_merge_connect_end(struct gt_merging *m);

/* frame.c: what stands before and behind the events. */
void gt_merge_put_head(struct gt_merging *m);
void gt_merge_put_tail(struct gt_merging *m);

#endif

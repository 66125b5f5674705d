/* SPDX-License-Identifier: Apache-2.0
 *
 * A merge of a window of time: where the window is on the clock of each process, and which events
 * of a JSON trace are in it. Slices that reach into it are kept whole, with the times that they
 * have; arrows if both of their ends are kept; the last value of a counter before the window stands
 * at its beginning. Each file is read once for its extent, and once for what the window needs of
 * the rest. One thread per merge.
 */
#ifndef GT_TRANSFORM_JOB_WINDOW_H
#define GT_TRANSFORM_JOB_WINDOW_H

#include "core/schema/ledger.h"
#include "readers/chrome/reader.h"
#include "readers/keymap.h"
#include "readers/pairmap.h"
#include "readers/vec.h"
#include "transform/job/edits.h"
#include "transform/job/sources.h"

struct gt_merging;

/* Puts the window of @request (with has_time) on the clock of the job, for each source: from, to,
 * first and last slice. 0 or -ENOMEM. */
int gt_merge_extents(struct gt_merge_sources *sources, const struct gt_clocks *clocks,
		     const struct gt_merge_request *request);

/* An event that waits: for its end, or for the next value of its counter. */
struct gt_merge_held {
	char *text; /* as it will stand; NULL: it is written, or left out */
	size_t size;
	int64_t ts;    /* of a counter */
	bool is_there; /* in the merged file */
	size_t below;  /* place + 1 of the one around it */
};

/* The window of the process in hand; zeroed: there is none. */
struct gt_merge_window {
	bool is_set;
	int64_t from, to;          /* as times of the merged file */
	struct gt_pairmap begun;   /* row, ts -> a slice of that begin is kept, though before */
	struct gt_keymap flows;    /* kind and id / 32 -> two bits each */
	struct gt_keymap stacks;   /* id / 63 + 1 -> bits: of what is kept */
	struct gt_keymap frame_of; /* stack -> place + 1 in frames, -1: they are in the file */
	GT_VEC(char *) frames;     /* that stood on events that are left out */
	char *modules;             /* the same of modules, members of an object */
	char *behind[3];           /* what goes behind the numbers of stacks of one event */
	const struct gt_merge_source *last_source; /* of the process */
	struct gt_pairmap counters;                /* row, name -> place in held + 1 */
	struct gt_pairmap opens; /* row, id -> place of the innermost open one in held + 1 */
	GT_VEC(struct gt_merge_held) held;
	size_t free_held; /* place + 1 of the first free one */
	uint64_t kept;    /* events of all processes */
};

/* Reads the files of the process that begins at @first for what their windows need. */
int gt_merge_window_begin(struct gt_merging *m, size_t first, size_t end);

/* Whether the event at m->now is in the merged file; where not, what it is needed for is kept.
 * -ENOMEM. */
int gt_merge_window_takes(struct gt_merging *m, const struct gt_trace_event *record);

/* The frames of stacks stand once, on the first slice: adds those that an event is now the first to
 * have. They live until the next event. */
void gt_merge_window_stacks(struct gt_merge_window *window, const struct gt_trace_event *record,
			    struct gt_edits *edits);

/* Notes the stacks of an event that is kept, before any is copied. -ENOMEM. */
int gt_merge_window_needs(struct gt_merge_window *window, const struct gt_trace_event *record);

/* Keeps what others need of the stacks of an event that is left out. -ENOMEM. */
int gt_merge_window_keep_stacks(struct gt_merge_window *window,
				const struct gt_trace_event *record);

/* Frees all that is known of stacks. */
void gt_merge_window_forget_stacks(struct gt_merge_window *window);

/* Writes what waits, and forgets the process. */
void gt_merge_window_end(struct gt_merging *m);

/* One event of @key is not in the merged file: @ledger counts such. */
void gt_merge_leave_out(struct gt_ledger *ledger, enum gt_ledger_key key);

/* Takes what @left_out has counted off @ledger, which then is that of the window; what was lost in
 * the whole trace stays. */
void gt_merge_settle(struct gt_ledger *ledger, const struct gt_ledger *left_out);

#endif

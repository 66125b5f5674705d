/* SPDX-License-Identifier: Apache-2.0
 *
 * The trace of one process in several files, each a trace by itself: when one has the size of
 * --max-size the next begins, and of all but the newest --keep the oldest goes. Drain thread.
 */
#ifndef GT_PIPELINE_OUTPUT_SEGMENTS_H
#define GT_PIPELINE_OUTPUT_SEGMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/losses.h"
#include "core/schema/event.h"
#include "core/schema/ledger.h"
#include "core/schema/metadata.h"

struct gt_file;
struct gt_output;
struct gt_writer;
struct gt_writer_ops;

/* Removed files whose place is not free yet: their work may be in the spool, too. */
#define GT_SEGMENTS_GOING 32u

/* A closed file that may have to go. */
struct gt_segment {
	struct gt_sink *sink;
	struct gt_ledger ledger;
};

/* The files of this process, for --keep. */
struct gt_segments {
	uint32_t keep;            /* files that stay; 0: all */
	bool remembers;           /* another window may follow: see below */
	bool possible;            /* another file may begin */
	bool turned;              /* one began since the spool was told, and --keep removes some */
	size_t next_bytes;        /* of memory, to open the next file */
	size_t reserved;          /* bytes charged for the writer of the next file, which exists
				   * before that of the full one is freed */
	uint64_t newest_call;     /* correlation id */
	uint64_t newest;          /* trace ns of the latest end */
	struct gt_ledger claimed; /* what closed files say in their ledgers */
	struct gt_event *named;   /* names of threads and streams, which each file tells again */
	uint32_t named_count, named_capacity;
	uint32_t named_next; /* whose place the next one gets when there are as many as may be */
	struct gt_segment *closed; /* a ring of keep - 1, the oldest at closed_at */
	uint32_t closed_at, closed_count;
	struct gt_sink *going[GT_SEGMENTS_GOING];
	uint32_t going_count;
	uint64_t removed; /* events in removed files that no note tells yet */
};

/* The files of one window. What those before it have told is kept. @keep: --keep. @possible: the
 * output is a file that can be followed by another. @next_bytes: of memory, to open that. */
void gt_segments_init(struct gt_segments *segments, uint32_t keep, bool possible,
		      size_t next_bytes);
void gt_segments_fini(struct gt_segments *segments);

/* What all files have told once the last one of the window, which tells @claim, is closed. */
struct gt_ledger gt_segments_claimed(const struct gt_segments *segments,
				     const struct gt_ledger *claim);

/* The last file of the window is closed, and the next window's tells what @claim does not. */
void gt_segments_end(struct gt_segments *segments, const struct gt_ledger *claim);

/* What the following files need to know of an event. */
void gt_segments_see(struct gt_segments *segments, const struct gt_event *event);

/* Writes the names that earlier files have. */
void gt_segments_tell_names(const struct gt_segments *segments, struct gt_writer *writer);

/* Closes the full file of @output behind the next one, which takes over. When that cannot be made,
 * the old one goes on to its limit, and no other has to go, unless that makes room. */
void gt_segments_turn(struct gt_output *output);

/* Writes a note of what was removed since the last one. */
void gt_segments_tell_removed(struct gt_output *output);

/* The work of all files but the newest has left the spool: those that had to go are removed. */
void gt_segments_discard(struct gt_segments *segments);

/* Leaves to the next file what was received and is neither in this one, whose counts are @written,
 * nor among the @lost (NULL: the next file tells those, too). */
void gt_segments_leave(struct gt_ledger *claim, const struct gt_ledger *written,
		       const struct gt_losses *lost);

/* All that a file without a ledger tells: what is @written in it. */
struct gt_ledger gt_segments_claim_written(const struct gt_ledger *written);
void gt_segments_say_unclosed(const struct gt_file *file, const char *what_of_it);

/* The ledger of the last file: what the earlier ones do not say. */
void gt_segments_rest(const struct gt_segments *segments, struct gt_ledger *ledger);

#endif

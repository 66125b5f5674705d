/* SPDX-License-Identifier: Apache-2.0
 *
 * Which row of a trace a GPU slice is drawn on. A row never holds two slices that overlap partly:
 * viewers draw such a pair wrong or drop one. Work of one stream can overlap (dependent launches,
 * graphs, records that come late), and stream ids are unique in their context only, so a row is the
 * stream's id where that is unambiguous and free, else a number made of (context, stream, k).
 * Drain thread only; memory is bounded, beyond it every slice gets a row of its own.
 */
#ifndef GT_WRITERS_TRACKS_H
#define GT_WRITERS_TRACKS_H

#include <stdbool.h>
#include <stdint.h>

/* What runs on a row; each kind of one stream has rows of its own. */
enum gt_track_kind {
	GT_TRACK_WORK,       /* kernels, copies, sets: never one inside another */
	GT_TRACK_SYNC,       /* waits; may lie one inside another */
	GT_TRACK_ANNOTATION, /* shadows of named ranges; the same */
	GT_TRACK_OVERHEAD,   /* host side, "stream" is the thread; the same */
	GT_TRACK_RANGE,      /* the same: ranges that need not nest with the thread's calls */
	GT_TRACK_SAMPLE,     /* one row a thread, of instants */
	GT_TRACK_STACK, /* one row a thread: its slices are made so that they nest, in any order */
	GT_TRACK_KIND_COUNT_
};

/* "stream" is a thread, and the row is one of the process. */
static inline bool gt_track_is_on_host(enum gt_track_kind kind)
{
	return kind >= GT_TRACK_OVERHEAD && kind <= GT_TRACK_STACK;
}

/* The row `stream + 1000000` is the stream's first one for GT_TRACK_SYNC (trace-format section
 * 2). */
#define GT_TRACK_BLOCK    1000000u

/* From here on rows have no meaning but "another one". */
#define GT_TRACK_OVERFLOW 2147000000u

/* The track of one slice. */
struct gt_track {
	uint32_t tid;
	uint32_t k;   /* 0: the first row of its stream */
	bool foreign; /* another context has a stream of the same id */
	bool fresh;   /* first slice on this row in the file: it has no name yet */
};

struct gt_tracks;

/* NULL: no memory. */
struct gt_tracks *gt_tracks_new(void);
void gt_tracks_free(struct gt_tracks *lanes);

/* Another file begins, where no row has a name yet. */
void gt_tracks_forget_names(struct gt_tracks *lanes);

/* What a slice has to say to get a row. */
struct gt_track_request {
	enum gt_track_kind kind;
	uint32_t device, context, stream;
	uint64_t start, end; /* ns, end >= start */
};

/* The row of a slice, which is taken as drawn there from now on. Slices may come in any order; the
 * better sorted by start, the fewer rows. */
void gt_tracks_get(struct gt_tracks *lanes, const struct gt_track_request *request,
		   struct gt_track *ret_lane);

#endif

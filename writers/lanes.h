/* SPDX-License-Identifier: Apache-2.0
 *
 * Which row of a trace a GPU slice is drawn on. A row never holds two slices that overlap partly:
 * viewers draw such a pair wrong or drop one. Work of one stream can overlap (dependent launches,
 * graphs, records that come late), and stream ids are unique in their context only, so a row is the
 * stream's id where that is unambiguous and free, else a number made of (context, stream, k).
 * Drain thread only; memory is bounded, beyond it every slice gets a row of its own.
 */
#ifndef GT_WRITERS_LANES_H
#define GT_WRITERS_LANES_H

#include <stdbool.h>
#include <stdint.h>

/* What runs on a row; each kind of one stream has rows of its own. */
enum gt_lane_kind {
	GT_LANE_WORK,       /* kernels, copies, sets: never one inside another */
	GT_LANE_SYNC,       /* waits; may lie one inside another */
	GT_LANE_ANNOTATION, /* shadows of named ranges; the same */
	GT_LANE_OVERHEAD,   /* host side, "stream" is the thread; the same */
	GT_LANE_RANGE,      /* the same: ranges that need not nest with the thread's calls */
	GT_LANE_SAMPLE,     /* one row a thread, of instants */
	GT_LANE_STACK, /* one row a thread: its slices are made so that they nest, in any order */
	GT_LANE_KIND_COUNT_
};

/* "stream" is a thread, and the row is one of the process. */
static inline bool gt_lane_is_on_host(enum gt_lane_kind kind)
{
	return kind >= GT_LANE_OVERHEAD && kind <= GT_LANE_STACK;
}

/* The row `stream + 1000000` is the stream's first one for GT_LANE_SYNC (trace-format section 2). */
#define GT_LANE_BLOCK    1000000u

/* From here on rows have no meaning but "another one". */
#define GT_LANE_OVERFLOW 2147000000u

struct gt_lane {
	uint32_t tid;
	uint32_t k;   /* 0: the first row of its stream */
	bool foreign; /* another context has a stream of the same id */
	bool fresh;   /* first slice on this row in the file: it has no name yet */
};

struct gt_lanes;

/* NULL: no memory. */
struct gt_lanes *gt_lanes_new(void);
void gt_lanes_free(struct gt_lanes *lanes);

/* Another file begins, where no row has a name yet. */
void gt_lanes_forget_names(struct gt_lanes *lanes);

/* What a slice has to say to get a row. */
struct gt_lane_request {
	enum gt_lane_kind kind;
	uint32_t device, context, stream;
	uint64_t start, end; /* ns, end >= start */
};

/* The row of a slice, which is taken as drawn there from now on. Slices may come in any order; the
 * better sorted by start, the fewer rows. */
void gt_lanes_get(struct gt_lanes *lanes, const struct gt_lane_request *request,
		  struct gt_lane *ret_lane);

#endif

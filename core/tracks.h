/* SPDX-License-Identifier: Apache-2.0
 *
 * The track of a GPU slice. No two slices of a track overlap partly: viewers draw such a pair wrong
 * or drop one. Work of one stream can overlap (dependent launches, graphs, late records), and
 * stream ids are unique only within their context. So the number of a track is the stream's id
 * where that is unambiguous and free, else a number made of (context, stream, k).
 *
 * Drain thread only; memory is bounded, beyond it every slice gets its own track.
 */
#ifndef GT_CORE_TRACKS_H
#define GT_CORE_TRACKS_H

#include <stdbool.h>
#include <stdint.h>

/* Kind of slices on a track; each kind of one stream has its own tracks. */
enum gt_track_kind {
	GT_TRACK_WORK,       /* kernels, copies, sets: never in each other, but in shadows */
	GT_TRACK_SYNC,       /* waits; may be nested */
	GT_TRACK_ANNOTATION, /* shadows that do not nest with the work of their stream; the same */
	GT_TRACK_OVERHEAD,   /* host side, "stream" is the thread; the same */
	GT_TRACK_RANGE,      /* the same: ranges that need not nest with the thread's calls */
	GT_TRACK_SAMPLE,     /* one track per thread, of instants */
	GT_TRACK_STACK,      /* one track per thread; slices always nest, in any order */
	GT_TRACK_UNIFIED,    /* "stream" is a gt_unified_row; may be nested */
	GT_TRACK_KIND_COUNT_
};

/* "stream" is a thread, and the track is one of the process. */
static inline bool gt_track_is_on_host(enum gt_track_kind kind)
{
	return kind >= GT_TRACK_OVERHEAD && kind <= GT_TRACK_UNIFIED;
}

/* Track `stream + 1000000` is the stream's first one for GT_TRACK_SYNC (docs/FORMAT.md). */
#define GT_TRACK_BLOCK    1000000u

/* The row of the step of a trace that has none: above all additional tracks of threads. */
#define GT_TRACK_WHOLE    50331648u

/* From here on track numbers have no meaning. */
#define GT_TRACK_OVERFLOW 2147000000u

/* The track of one slice. */
struct gt_track {
	enum gt_track_kind kind; /* WORK for a shadow that is on the track of its work */
	uint32_t tid;
	uint32_t k;   /* 0: the first track of its stream */
	bool foreign; /* another context has a stream of the same id */
	bool fresh;   /* first slice on this track in the file: it has no name yet */
};

/* What follows "thread 4100" or "stream 7" in the name of such a track. */
const char *gt_track_suffix(enum gt_track_kind kind);

struct gt_tracks;

/* NULL: no memory. */
struct gt_tracks *gt_tracks_new(void);
void gt_tracks_free(struct gt_tracks *tracks);

/* Begins a new file, in which no track has a name yet. */
void gt_tracks_forget_names(struct gt_tracks *tracks);

/* What determines the track of a slice. A shadow begins with a slice of its stream, and ends with
 * one or less than GT_ROW_SLACK (core/row/row.h) ns later; inner ones come first. */
struct gt_track_request {
	enum gt_track_kind kind;
	uint32_t device, context, stream;
	uint64_t start, end; /* ns, end >= start */
};

/* What determines a track of thread @tid. */
static inline struct gt_track_request gt_track_of_thread(enum gt_track_kind kind, uint32_t tid,
							 uint64_t start, uint64_t end)
{
	return (struct gt_track_request){
		.kind = kind, .device = UINT32_MAX, .stream = tid, .start = start, .end = end};
}

/* Assigns a slice to a track: work to the first one where it overlaps none, in whatever order it
 * comes, as far as the slices are remembered (core/row/busy.h). A shadow shares the track of work
 * that came before it. */
void gt_tracks_get(struct gt_tracks *tracks, const struct gt_track_request *request,
		   struct gt_track *ret_track);

/* Restores a slice that is already in the file, on track @tid. */
void gt_tracks_recall(struct gt_tracks *tracks, const struct gt_track_request *request,
		      uint32_t tid, struct gt_track *ret_track);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * The traces that are put together, as their headers tell: which processes they are of, and how
 * these' clocks are related. One thread per set.
 */
#ifndef GT_TRANSFORM_JOB_SOURCES_H
#define GT_TRANSFORM_JOB_SOURCES_H

#include "transform/job/merge.h"

/* A process of JSON that was merged before. */
struct gt_merge_inner {
	int64_t was, rank;      /* its number in that file */
	size_t process;         /* as of struct gt_merge_source */
	struct gt_span members; /* its metadata, in inner_text; of no object: none */
	struct gt_clock_source clock;
	struct gt_clock_line line; /* by which it was moved, used 0: it was not, or not known */
};

/* One trace. */
struct gt_merge_source {
	const char *path; /* the caller's */
	int64_t rank, world_size;
	int64_t pid;         /* 0: not known */
	int64_t base;        /* baseTimeNanoseconds; 0 without has_base */
	int64_t border;      /* of the segment, 0: its first file */
	int64_t first, last; /* when it began and ended, ns of its clock; 0: not known */
	/* with a window of time, on the clock of the job: the window; the first and last moment of
	 * any of its slices, first_slice > last_slice: it has none */
	int64_t from, to, first_slice, last_slice;
	size_t process; /* counted from 0, in the order of the set */
	uint32_t part;  /* of its file, which may hold several processes */
	bool is_part;   /* only that of the file, which others have, too */
	bool is_many;   /* JSON that was merged before: its rank is none's */
	bool has_base, is_pftrace;
	uint32_t parts;                     /* that the file says it holds; of JSON 0 */
	char *devices, *metadata, *segment; /* JSON; NULL: it has none */
	char *backend;                      /* of distributedInfo, or NULL */
	char launch[80], launcher[64];      /* core/run_name.h; empty: not known */
	int64_t starts;                     /* the same; 0: not known */
	struct gt_span device_list;         /* in devices */
	struct gt_span members;             /* in metadata */
	struct gt_clock_source clock;
	struct gt_merge_inner *inner; /* by number; NULL: it is a trace of one process */
	size_t inner_count;
	char *inner_text;
};

#define GT_MERGE_PARTS 256 /* processes of a file that was merged before: it is read for each */

/* All of a job by rank, the files of a process together. */
struct gt_merge_sources {
	struct gt_merge_source *of;
	size_t count, processes;
	bool is_apart; /* each process of a .pftrace that holds several is a trace */
};

/* Reads the headers of all that are traces; others are counted in @result. @takes_apart: each
 * process of a .pftrace that holds several is a trace. 0; -EBADMSG: all are others; -E2BIG: one
 * holds too many processes; -ENOMEM. Free with gt_merge_sources_fini in any case. */
int gt_merge_sources_read(char *const *paths, size_t count, bool takes_apart,
			  struct gt_merge_sources *ret_sources, struct gt_merge_result *result);

/* Says in @result that a file holds more processes than it is read for. -E2BIG. */
int gt_merge_sources_refuse(const char *path, uint32_t parts, struct gt_merge_result *result);
void gt_merge_sources_fini(struct gt_merge_sources *sources);

/* Files of a process are neighbours: the index behind those of the one that begins at @first. Pure.
 */
size_t gt_merge_process_end(const struct gt_merge_sources *sources, size_t first);

/* The clocks of all processes. -EDOM: a bound of their error could be had but cannot (@force takes
 * them all the same), @result says so. Free with gt_clocks_fini in any case. */
int gt_merge_sources_clocks(struct gt_merge_sources *sources, bool force,
			    struct gt_clocks *ret_clocks, struct gt_merge_result *result);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Several traces as one: each process keeps rows of its own, ids stay unique, clocks with different
 * bases and of several hosts are brought together. Streams: memory grows with the largest process
 * of several hosts, not with the files. One thread per merge.
 */
#ifndef GT_TRANSFORM_JOB_MERGE_H
#define GT_TRANSFORM_JOB_MERGE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "trace/file/origins.h"
#include "transform/as_json.h"
#include "transform/job/clocks.h"

/* What is asked for. */
struct gt_merge_request {
	bool force; /* also where clocks of two hosts are related by nothing but what they show */
	bool has_time;
	int64_t from, to;            /* ns behind the first slice of the job */
	struct gt_as_json_wish wish; /* how a .pftrace becomes JSON; its part is not asked for */
};

/* What a merge came to. */
struct gt_merge_result {
	uint64_t events;
	uint64_t cut;            /* files that end before their JSON does */
	const char *cut_path;    /* the first of them, of @paths */
	uint64_t without_ledger; /* those, and files that were closed without a ledger */
	uint64_t
		baseless; /* files without baseTimeNanoseconds beside files with one: not aligned */
	uint64_t kept;    /* with a window of time: events in it */
	uint64_t left_out;      /* files that are no traces */
	char left_out_why[768]; /* the first of them, and why */
	uint64_t twice;         /* ranks that several processes have */
	char twice_why[768];    /* two of the first one's, and what is known of them */
	struct gt_job_origins origins;
	struct gt_merge_clocks clocks;
	char error[768];
};

/* Writes the closed object form of all @paths (in order of rank) to @out. Files that are no traces
 * are left out and counted; -EBADMSG: all are. */
int gt_merge(char *const *paths, size_t count, const struct gt_merge_request *request, FILE *out,
	     struct gt_merge_result *ret_result);

#endif

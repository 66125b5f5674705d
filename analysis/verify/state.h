/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside of analysis/verify/verify.c: what is collected while a file is read, for the checks that
 * need all of it. One thread per file, behind the last event two (both.c).
 */
#ifndef GT_ANALYSIS_VERIFY_STATE_H
#define GT_ANALYSIS_VERIFY_STATE_H

#include "analysis/verify/sorted.h"
#include "analysis/verify/verify.h"
#include "core/schema/ledger.h"
#include "readers/chrome/reader.h"
#include "readers/pairmap.h"
#include "readers/vec.h"

enum gt_verify_role { /* what a slice's category makes of it */
		      GT_VERIFY_HOST,
		      GT_VERIFY_CALL,
		      GT_VERIFY_KERNEL,
		      GT_VERIFY_COPY,
		      GT_VERIFY_SET,
		      GT_VERIFY_GRAPH,
		      GT_VERIFY_SYNC,
		      GT_VERIFY_OVERHEAD,
		      GT_VERIFY_RANGE,
		      GT_VERIFY_FRAME,
		      GT_VERIFY_SHADOW,
		      GT_VERIFY_ROLE_COUNT_
};

/* Roles of other items than slices. */
#define GT_VERIFY_FLOW_START GT_VERIFY_CALL   /* what it must be at */
#define GT_VERIFY_FLOW_END   GT_VERIFY_KERNEL /* or other GPU work */
#define GT_VERIFY_OPERATOR   GT_VERIFY_RANGE  /* whose External id it is, any other role names it */

#define GT_VERIFY_PROCESS    (-1) /* as a tid: the process as a whole */

struct gt_verify_track { /* that has a thread_name, or process that has a name */
	int64_t pid, tid;
	uint64_t line;
};

struct gt_verify_stack { /* a call stack where it is first on an event */
	int64_t id;
	uint64_t line;
	bool has_frames;
};

/* What is looked at when all is there, each in the order that its checks need. */
enum gt_verify_list {
	GT_VERIFY_BY_TRACK, /* slices */
	GT_VERIFY_BY_CALL,  /* slices with a correlation id, GPU work also with id 0 */
	GT_VERIFY_FLOWS,
	GT_VERIFY_EXTERNALS, /* External ids on calls, GPU work and operators */
	GT_VERIFY_LISTS
};

/* One file under verification. */
struct gt_verify {
	const char *path;
	uint32_t part, parts; /* of a .pftrace: the process to check, how many there are */
	const struct gt_verify_options *options;
	FILE *out;
	struct gt_verify_result *result;
	struct gt_reading reading;
	struct gt_verify_sorted lists[GT_VERIFY_LISTS];
	GT_VEC(struct gt_verify_track) named;
	GT_VEC(struct gt_verify_stack) stacks;   /* each once */
	struct gt_pairmap stack_of;              /* id, 0 -> place in stacks + 1 */
	uint64_t written[GT_VERIFY_ROLE_COUNT_]; /* slices in the file */
	uint64_t flow_starts, samples, tensors, marks, counters, names;
	int64_t early;     /* GPU work before its call that the ledger accounts for and was not met
			    * yet */
	int64_t unlinked;  /* the same of GPU work without a call */
	bool was_short;    /* of memory for calls: the ledger says so */
	uint64_t notes;    /* LOST and other gputrace instants */
	bool ended;        /* the last event was Record Window End */
	bool ours;         /* written by gputrace: has its metadata */
	int64_t border;    /* one of several files: calls up to this id may be in an earlier one */
	bool is_part;      /* one of several files: what belongs together may be in another one */
	bool without_flow; /* written with --details=few */
	bool repaired;     /* the process died: its last flows may miss an end */
};

/* One finding at @line (0: the file as a whole). */
void gt_verify_find(struct gt_verify *v, enum gt_check check, uint64_t line, const char *format,
		    ...) __attribute__((format(printf, 4, 5)));

/* What the ledger of the file says; 0 without one. */
int64_t gt_verify_count(const struct gt_verify *v, enum gt_ledger_key key);

/* Is it the role of GPU work? */
bool gt_verify_is_gpu(uint32_t role);

/* Keeps a slice. 0 or -ENOMEM. */
int gt_verify_take_slice(struct gt_verify *v, const struct gt_verify_item *slice);

/* Before the first event, and behind the last one: the lists can be read. 0 or -ENOMEM. */
void gt_verify_begin_lists(struct gt_verify *v);
int gt_verify_end_lists(struct gt_verify *v);

/* The checks that are made behind the last event, each over the whole file. */
void gt_verify_lists(struct gt_verify *v); /* the next three */
void gt_verify_tracks(struct gt_verify *v);
void gt_verify_flows(struct gt_verify *v);
void gt_verify_externals(struct gt_verify *v);
void gt_verify_stacks(struct gt_verify *v);
void gt_verify_ledger(struct gt_verify *v);
void gt_verify_header(struct gt_verify *v);
void gt_verify_file_form(struct gt_verify *v);

/* Reads a .pftrace into @v: what the checks of the whole file need. 0 or a negative errno, with
 * v->reading filled as gt_reader_read fills it. */
int gt_verify_read_pftrace(struct gt_verify *v, struct gt_input *in);

/* Well-formed UTF-8 without other escapes than those that every reader takes. */
void gt_verify_text(struct gt_verify *v, const char *text, size_t len, uint64_t line);

#endif

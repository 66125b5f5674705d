/* SPDX-License-Identifier: Apache-2.0
 *
 * Why was the GPU idle? Every moment between the first and the last operation of a device ("wall")
 * at which none ran, put down to what the host was doing then on the thread that started the next
 * one. With a filter: of those moments between the first and the last that it lets pass which one
 * of these ended. The pieces of a gap add up to the gap. Pure over constant models; one thread per
 * set.
 */
#ifndef GT_ANALYSIS_GAPS_GAPS_H
#define GT_ANALYSIS_GAPS_GAPS_H

#include "analysis/gaps/texts.h"
#include "analysis/group_merge.h"
#include "analysis/key.h"
#include "analysis/table/table.h"
#include "trace/job.h"

/* Why a device was idle. */
enum gt_cause {
	GT_CAUSE_LAUNCH,   /* the launch was under way, or just over: CPU and driver latency */
	GT_CAUSE_SYNC,     /* the host was still in a synchronizing call */
	GT_CAUSE_LOADING,  /* in a call that loaded or compiled kernels: lazy loading, a module */
	GT_CAUSE_API,      /* in another CUDA call: allocation, ... */
	GT_CAUSE_DATA,     /* loading data */
	GT_CAUSE_HOST,     /* other host work */
	GT_CAUSE_BLOCKED,  /* in a call of the operating system; known only with run --osrt */
	GT_CAUSE_COPY,     /* the work was queued, behind a copy */
	GT_CAUSE_QUEUED,   /* the work was queued, behind an event, another stream or process */
	GT_CAUSE_FUNCTION, /* the stream waited for a host function; known only with run --sync */
	GT_CAUSE_UNKNOWN,  /* its call is not in the trace */
	GT_CAUSE_COUNT_
};

/* Names for tables, indexed by enum gt_cause. */
extern const char *const gt_cause_names[GT_CAUSE_COUNT_];

/* A time in which nothing ran on a device; ns of the trace's clock. */
struct gt_gap {
	const struct gt_model *model;
	struct gt_gaps_texts *texts; /* of all gaps of the job */
	int64_t start, end;
	uint32_t op;     /* the operation that ends it */
	uint32_t before; /* the one that ended last before it */
	uint16_t device;
};

/* A gap as it is kept; the rest follows from these. */
struct gt_gap_row {
	uint32_t op, before;
};

/* A device, and where its gaps begin in the list. */
struct gt_gaps_device {
	const struct gt_model *model;
	size_t first;
	uint16_t device;
};

/* All gaps of a job, and what its devices did otherwise. */
struct gt_gaps {
	const struct gt_job *job;
	GT_VEC(struct gt_gap_row) list; /* gt_gaps_get() */
	GT_VEC(struct gt_gaps_device) devices;
	int64_t wall;               /* sum over devices from the first to the last operation */
	int64_t idle;               /* sum of all gaps, also of those shorter than the minimum */
	int64_t window;             /* sum over devices of what was looked at */
	uint64_t shorter;           /* gaps, and idle times around wall, below the minimum */
	int64_t longest_shorter;    /* ns, of them */
	struct gt_gaps_edge {       /* idle time in it around wall */
		int64_t total, max; /* ns; of one device */
		uint64_t count;     /* of devices */
	} before, after;
	struct gt_gaps_texts *texts;
};

/* All gaps of @min_ns or longer. */
int gt_gaps_build(const struct gt_job *job, const struct gt_filter *filter, int64_t min_ns,
		  struct gt_gaps *ret_gaps);
void gt_gaps_fini(struct gt_gaps *gaps);

/* Gap number @i; and a pointer to it, valid to the end of the block that it is written in. */
struct gt_gap gt_gaps_get(const struct gt_gaps *gaps, size_t i);
#define gt_gaps_at(gaps, i) ((const struct gt_gap[1]){gt_gaps_get((gaps), (i))})

/* A part of a gap's time. The texts are valid inside the callback. */
struct gt_piece {
	enum gt_cause cause;
	const char *where;
	bool is_kept; /* it is one of the gap's texts, which are equal where they are one */
	int64_t start, ns;
	uint32_t thread;    /* of the host, when it made no call then: samples tell more. GT_NONE */
	const char *inside; /* thread and range, for what samples tell */
	uint32_t os_call;   /* of the model's, which tells where (gt_gaps_os_call); GT_NONE */
};

/* Receives a piece; a negative errno ends the walk. */
typedef int (*gt_gap_piece)(const struct gt_gap *gap, const struct gt_piece *piece, void *data);

/* Hands out the pieces of one gap, in order of time. One thread for all gaps of a job. */
int gt_gaps_explain(const struct gt_gap *gap, gt_gap_piece piece, void *data);

/* The groups that the tables of idle time are made of. */
enum gt_gaps_set {
	GT_GAPS_SUMS,     /* struct gt_gaps, samples, whose frames the places are */
	GT_GAPS_BASES,    /* time by cause and place: analysis/share.h */
	GT_GAPS_PLACES,   /* the same, by samples in it */
	GT_GAPS_FILES,    /* that calls of the operating system waited for */
	GT_GAPS_KEYS,     /* time, and */
	GT_GAPS_LAUNCHES, /* the last launches before it: analysis/gaps/before.h */
	GT_GAPS_DEVICES,  /* numbers of struct gt_device_use */
	GT_GAPS_SET_COUNT_
};

/* What a part of the traces says of idle time. */
struct gt_gaps_parts {
	struct gt_group_set sets[GT_GAPS_SET_COUNT_];
};

/* Starts empty ones. 0 or -ENOMEM; free with gt_gaps_parts_fini in either case. */
int gt_gaps_parts_init(struct gt_gaps_parts *parts);
void gt_gaps_parts_fini(struct gt_gaps_parts *parts);

/* Adds the gaps of @min_ns or longer and the use of the devices. 0 or -ENOMEM. */
int gt_gaps_map(struct gt_gaps_parts *parts, const struct gt_job *job,
		const struct gt_filter *filter, int64_t min_ns);

/* Sums of all traces, by name: tags are added, or the greatest one counts, or that of the first
 * trace. */
enum gt_gaps_tag { GT_GAPS_TAG_SUM, GT_GAPS_TAG_MAX, GT_GAPS_TAG_FRAME };
#define GT_GAPS_WALL    "wall"
#define GT_GAPS_IDLE    "idle"
#define GT_GAPS_WINDOW  "window"
#define GT_GAPS_GAPS    "gaps"
#define GT_GAPS_SHORTER "shorter" /* and the longest of them */
#define GT_GAPS_BEFORE  "before"  /* and the longest; its count is another one */
#define GT_GAPS_AFTER   "after"
#define GT_GAPS_COUNT   " count"
#define GT_GAPS_FRAME   "frame"
#define GT_GAPS_TAKEN   "samples"

/* Whose frames the places are: a trace has some, and whose they are is known. */
enum gt_gaps_frame { GT_GAPS_FRAME_NONE, GT_GAPS_FRAME_USER, GT_GAPS_FRAME_INNERMOST };

/* One of the sums. */
struct gt_group *gt_gaps_sum(struct gt_gaps_parts *parts, const char *name);
int64_t gt_gaps_total(struct gt_gaps_parts *parts, const char *name);

/* Sees a piece. */
typedef void (*gt_gap_see)(const struct gt_gap *gap, const struct gt_piece *piece, void *data);

/* Parts of gt_gaps_map: from gaps that are found. @see: sees all their pieces, or NULL. */
int gt_gaps_map_causes(struct gt_gaps_parts *parts, const struct gt_gaps *gaps, gt_gap_see see,
		       void *data);
void gt_gaps_map_sums(struct gt_gaps_parts *parts, const struct gt_gaps *gaps);
int gt_gaps_map_clocks(struct gt_gaps_parts *parts, const struct gt_job *job);

/* Of these the groups of devices. */
int gt_gaps_map_devices(const struct gt_job *job, const struct gt_filter *filter,
			struct gt_groups *groups);

/* One row per cause and place, largest first, with the number of gaps that it has a part in:
 * several rows share a gap. With samples (--sample-cpu) a column more, their number: a host's time
 * is split by them. Once. */
int gt_gaps_fill_causes(struct gt_gaps_parts *parts, struct gt_table *ret_table);

/* One row per process and device: busy, idle, compute, copy, communication, overlap. Processes of
 * the same rank are distinguished by their ids. */
int gt_gaps_fill_devices(struct gt_gaps_parts *parts, struct gt_table *ret_table);

/* One row per process and device: the time that was looked at (struct gt_device_use), how much of
 * it was busy and idle, and the idle time in it before the first and after the last operation. */
int gt_gaps_fill_windows(struct gt_gaps_parts *parts, struct gt_table *ret_table);

/* "No gap is as long as 1.000 s (--min): ...", where the minimum @min_ns hides them all. False: it
 * does not. */
bool gt_gaps_hidden(struct gt_gaps_parts *parts, int64_t min_ns, char *ret_text, size_t size);

/* "Samples: 221 of 753 due (29 %); 468 too late ...", where it is less than 95 %. False: it is not,
 * or the traces have no samples. Of the whole traces, whatever a filter leaves. */
bool gt_gaps_missed(struct gt_gaps_parts *parts, char *ret_text, size_t size);

/* "throttled: the clocks of rank 0 GPU 0 were kept down (power limit 12 %) ...", where run --nvml
 * saw it for 5 % of the time or more. False: it did not. Of the whole traces. */
bool gt_gaps_clocks(struct gt_gaps_parts *parts, char *ret_text, size_t size);

/* Did two processes of one host and rank use a device of the same number at the same time? Then
 * what is idle in one may be the other's work: a trace tells a device's number among those that its
 * process saw, not which one it is. */
bool gt_gaps_shared(struct gt_gaps_parts *parts);

/* The causes of the gaps of one set: gt_gaps_fill_causes of these alone. @see: as of
 * gt_gaps_map_causes. */
int gt_gaps_table(const struct gt_gaps *gaps, gt_gap_see see, void *data,
		  struct gt_table *ret_table);

#endif

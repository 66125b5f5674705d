/* SPDX-License-Identifier: Apache-2.0
 *
 * One clock for the processes of a job: that of the first process with collectives (of those that
 * count from 1970, if any do). Processes of
 * one boot of one machine share CLOCK_MONOTONIC, so their clocks are related exactly. Other
 * machines' clocks are brought together by collectives (meetings.h), which end on all at one time,
 * else by CLOCK_REALTIME. Each answer has the error within which it holds. Everything that compares
 * times of processes uses this. One thread per table.
 */
#ifndef GT_TRACE_CLOCKS_H
#define GT_TRACE_CLOCKS_H

#include "trace/meetings.h"

/* What a clock's place on that of the job was told by, best first. */
enum gt_clock_by {
	GT_CLOCK_BY_MONOTONIC,   /* the same boot of the same machine, or the very process */
	GT_CLOCK_BY_HOST,        /* a machine of the same name: one CLOCK_REALTIME, unless it was
				  * set between the starts of the two */
	GT_CLOCK_BY_COLLECTIVES, /* ends of collectives */
	GT_CLOCK_BY_REALTIME,    /* wall clocks, as somebody synchronizes them */
	GT_CLOCK_BY_NOTHING,     /* the trace counts from a moment that it does not tell */
	GT_CLOCK_BY_COUNT_
};

/* Why the collectives of two hosts do not relate their clocks; the later, the nearer they came. */
enum gt_clock_bar {
	GT_CLOCK_BAR_NONE,     /* one of them has none in which all members wait for all */
	GT_CLOCK_BAR_ONE_RANK, /* those of both are of one rank */
	GT_CLOCK_BAR_MANY,     /* too many processes were compared before */
	GT_CLOCK_BAR_APART,    /* they have none in common */
	GT_CLOCK_BAR_FEW,      /* too few */
	GT_CLOCK_BAR_UNCLEAR,  /* it is not clear which of them belong together */
	GT_CLOCK_BAR_SCATTER,  /* their ends are too far from any line of two clocks: ns */
	GT_CLOCK_BAR_DRIFT,    /* these would run apart too fast: ppm */
	GT_CLOCK_BAR_BROKEN,   /* members would have left before others came */
	GT_CLOCK_BAR_WRONG,    /* the same of numbered ones, on any two clocks: ns */
	GT_CLOCK_BAR_COUNT_
};

/* That, and by how much. */
struct gt_clock_bar_at {
	enum gt_clock_bar why;
	double by;
};

#define GT_CLOCK_ERROR_UNKNOWN (-1)

/* What is to be known of one process. */
struct gt_clock_source {
	char host[256], boot[128]; /* "": not known */
	int64_t monotonic;         /* and CLOCK_REALTIME at one moment, ns; both 0: not known */
	int64_t realtime;
	int64_t first, last; /* of the trace, ns of its clock */
	int64_t own_error;   /* ns within which its times are right by the clock of its host */
	bool has_base;       /* its clock counts from 1970 */
	bool has_rank;
	int64_t rank;    /* two processes of one rank have no collective in common */
	uint64_t merged; /* of those of one number all times are on one clock; 0: on its own */
	bool is_told;    /* how it was brought there */
	enum gt_clock_by told_by;
	int64_t told_error; /* ns; GT_CLOCK_ERROR_UNKNOWN */
	struct gt_meetings meetings;
};

/* Where the clock of a process is on that of the job. */
struct gt_clock_map {
	struct gt_clock_line line; /* time of the job = time + gt_clock_line_at(line, time) */
	int64_t error;             /* ns within which this holds, in the whole trace; or
				    * GT_CLOCK_ERROR_UNKNOWN */
	enum gt_clock_by by;
	struct gt_clock_bar_at bar; /* GT_CLOCK_BY_REALTIME: why it is nothing better */
	size_t used;                /* collectives */
};

/* Of all processes of a job, in their order. */
struct gt_clocks {
	struct gt_clock_map *of;
	size_t count;
	size_t reference; /* the process whose clock is the job's */
};

/* Takes what a header tells, without collectives: for clocks of one machine that is all. */
void gt_clock_source_header(const struct gt_header *header, struct gt_clock_source *ret_source);

/* Whether the clocks of both are related without collectives: one boot, or one host. */
bool gt_clock_sources_are_one(const struct gt_clock_source *a, const struct gt_clock_source *b);

/* Takes a model's times: all that is needed of one process alone. */
void gt_clock_source_span(const struct gt_model *model, struct gt_clock_source *source);

/* Takes the rest from a model: its times, and collectives. 0 or -ENOMEM. */
int gt_clock_source_meet(const struct gt_model *model, struct gt_clock_source *source);

/* Takes what is needed from a model, which may go afterwards. 0 or -ENOMEM; free with
 * gt_clock_source_fini in either case. */
int gt_clock_source_take(const struct gt_model *model, struct gt_clock_source *ret_source);
void gt_clock_source_fini(struct gt_clock_source *source);

/* Relates all clocks to that of one process. 0 or -ENOMEM; free with
 * gt_clocks_fini. */
int gt_clocks_find(const struct gt_clock_source *sources, size_t count,
		   struct gt_clocks *ret_clocks);
void gt_clocks_fini(struct gt_clocks *clocks);

/* The time of the job, saturated, for a time of a process's clock. */
int64_t gt_clock_map_time(const struct gt_clock_map *map, int64_t t);

/* "collectives within 120 ns", for the metadata of a merged file. Pure, any thread. */
void gt_clock_map_tell(const struct gt_clock_map *map, char *ret_text, size_t size);

/* Takes such a text for what a merged file says of the process. */
void gt_clock_source_tell(const char *text, struct gt_clock_source *source);

/* @map is of the file that @source was merged into before. Pure, any thread. */
void gt_clock_map_add_told(const struct gt_clock_source *source, struct gt_clock_map *map);

/* As a merged file has them: "monotonic". */
extern const char *const gt_clock_by_names[GT_CLOCK_BY_COUNT_];

#define GT_CLOCK_BAR_TEXT 320

/* "they have no collective in common", into @ret_text of GT_CLOCK_BAR_TEXT bytes, which it returns.
 * Pure, any thread. */
const char *gt_clock_bar_text(const struct gt_clock_bar_at *bar, char *ret_text);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Collectives as moments that several processes have in common: none can end before the last
 * member has begun, and all end together but for microseconds. Here they are taken from a model and
 * two processes' are paired. Pure over constant models, any thread.
 */
#ifndef GT_TRACE_MEETINGS_H
#define GT_TRACE_MEETINGS_H

#include <stdint.h>

#include "trace/clock_line.h"
#include "trace/model.h"

/* One collective in one process. */
struct gt_meeting {
	int64_t start, end; /* ns of the trace clock, which counts from 1970 where it has a base */
	uint64_t key;       /* the same in all members: of kernel, bytes and group */
	uint64_t place;  /* the same in all members and of no other one: of group and place in it;
			  * 0: not known */
	uint64_t other;  /* of sends and receives, whose place is that of a message between two, and
			  * which may have another one with a third; 0: none */
	bool is_message; /* place is that of a message */
	uint32_t op;     /* gt_meeting_op() */
};

/* What a meeting is: the kernel of that number in the model's ops, or behind them a call of MPI as
 * if it were one, without a device, a stream and a call. */
struct gt_op gt_meeting_op(const struct gt_model *model, uint32_t number);

/* It is a call of MPI. */
static inline bool gt_meeting_is_mpi(const struct gt_model *model, uint32_t number)
{
	return number >= model->ops.count;
}

/* Those of one process. */
struct gt_meetings {
	GT_VEC(struct gt_meeting) all; /* by start */
	uint32_t *by_key;              /* indices in all: by key, then start */
	uint32_t *
		by_place; /* indices in all, twice; plus 1: its other place. By place, then start */
	size_t place_count;
};

/* The place of an entry of by_place. */
static inline uint64_t gt_meeting_place(const struct gt_meetings *meetings, uint32_t at)
{
	const struct gt_meeting *meeting = &meetings->all.at[at / 2];

	return at % 2 ? meeting->other : meeting->place;
}

/* Whether the collective of that number, which is @op, is to be taken. */
typedef bool gt_meeting_test(const struct gt_model *model, uint32_t number, const struct gt_op *op,
			     const void *data);

/* Takes the collectives of @model, with those of MPI only if @with_mpi, for which @is_in says so;
 * NULL: those in which all members wait for all, as of others, a broadcast, one member may be ready
 * before another begins. 0 or -ENOMEM; free with gt_meetings_fini in either case. */
int gt_meetings_take(const struct gt_model *model, gt_meeting_test *is_in, const void *data,
		     bool with_mpi, struct gt_meetings *ret_meetings);
void gt_meetings_fini(struct gt_meetings *meetings);

/* Two processes' collectives that are the same one. */
struct gt_met {
	uint32_t a, b; /* index in each one's meetings */
};

/* All of two processes. */
struct gt_met_pairs {
	GT_VEC(struct gt_met) all; /* by the time of a */
};

/*
 * Pairs the collectives of @a and @b. Those whose place is known in both: by it. Else the nth of a
 * key with the nth, moved by as many as bring the differences of their ends onto one line, where
 * one of the processes began later or lost some.
 * No pairs: they have none in common, or it is not clear which belong together. 0 or -ENOMEM.
 */
int gt_meetings_pair(const struct gt_meetings *a, const struct gt_meetings *b,
		     struct gt_met_pairs *ret_pairs);

/* The ends of a collective scatter by less, ns; two crystals, and a clock being set right, run
 * apart by less. */
#define GT_MEETINGS_TOGETHER 1000000.0
#define GT_MEETINGS_DRIFT    (3 * GT_CLOCK_LINE_DRIFT)

/* How many of both have the same key, each counted once. */
size_t gt_meetings_common(const struct gt_meetings *a, const struct gt_meetings *b);

/* The line by which a time of @b's clock becomes one of @a's: through their ends, or where these
 * scatter too much for that, in the middle of what numbered ones allow, as none ends before all
 * members have begun. used 0: the pairs, if any, are not those of one job: scatter, drift and wrong
 * tell why. 0 or -ENOMEM. */
int gt_meetings_line(const struct gt_meetings *a, const struct gt_meetings *b,
		     const struct gt_met_pairs *pairs, struct gt_clock_line *ret_line);

#endif

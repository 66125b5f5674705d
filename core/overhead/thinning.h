/* SPDX-License-Identifier: Apache-2.0
 *
 * The control law of --thin: from how much waits to be written to how much is left out. No clock
 * and no state but the struct: a test gives it any history. One owner at a time.
 *
 * It leaves out one more kind of events when a ring was nearly full in some periods, few apart, or
 * is on its way there; at once when calls were lost, when much GPU work waits and it becomes more,
 * and, for ranges, when their memory fills. It records one again when for some periods little
 * waited. What had to be left out again soon is recorded again later the next time.
 */
#ifndef GT_CORE_OVERHEAD_THINNING_H
#define GT_CORE_OVERHEAD_THINNING_H

#include <stdbool.h>
#include <stdint.h>

/* What is left out, each with all before it: first what there is most of and says least. GPU work
 * never is. */
enum gt_thinning_level {
	GT_THINNING_NONE,
	GT_THINNING_RANGES, /* NVTX ranges that follow one another closely */
	GT_THINNING_CALLS,  /* calls that start no GPU work */
	GT_THINNING_SLICES, /* the slices and arrows of those that start some */
	GT_THINNING_LEVELS_
};

/* Zeroed: nothing is left out. */
struct gt_thinning {
	uint32_t level;                       /* enum gt_thinning_level */
	uint32_t full, calm, patience, since; /* periods */
	uint32_t rings, work;                 /* of the last one */
	bool was_restored;                    /* the last change was one */
};

/* The most that waited in a period, in thousandths of the room for it. */
struct gt_thinning_load {
	uint32_t rings;  /* in the fullest ring of a thread */
	uint32_t work;   /* in activity buffers */
	uint32_t ranges; /* for their GPU work */
	bool has_lost;   /* calls found their ring full */
};

/* A period of some hundredths of a second is over. Returns whether the level has changed. */
bool gt_thinning_period(struct gt_thinning *thinning, const struct gt_thinning_load *load);

/* What a level leaves out in addition to the one before, "calls that start no GPU work". */
const char *gt_thinning_name(uint32_t level);

#endif

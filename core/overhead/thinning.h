/* SPDX-License-Identifier: Apache-2.0
 *
 * The control law of --thin: from how full the rings of threads were to how much is left out. No
 * clock and no state but the struct: a test gives it any history. One owner at a time.
 *
 * It leaves out one more kind of events when a ring was nearly full in some periods, few apart, and
 * records one again when for some periods no ring was filled to a quarter. What had to be left out
 * again soon is recorded again later the next time.
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
	bool was_restored;                    /* the last change was one */
};

/* A period of some hundredths of a second is over, in which the fullest ring was so full, in
 * thousandths. Returns whether the level has changed. */
bool gt_thinning_period(struct gt_thinning *thinning, uint32_t fullest);

/* What a level leaves out in addition to the one before, "calls that start no GPU work". */
const char *gt_thinning_name(uint32_t level);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * The control law of --max-overhead: from the overhead of each period to how much is recorded. No
 * clock and no state but the struct: a test gives it any history. One owner at a time.
 *
 * It lowers one level when the overhead is over the maximum for two periods, and restores one when
 * for some periods the overhead would be well under the maximum even then, by what the level was
 * found to save. A level that had to be lowered again soon is restored later the next time.
 */
#ifndef GT_CORE_OVERHEAD_GOVERNOR_H
#define GT_CORE_OVERHEAD_GOVERNOR_H

#include <stdbool.h>
#include <stdint.h>

/* What is not recorded, each with all before it. From GT_GOVERNOR_STEPS on half of the steps, then
 * three quarters, ... */
enum gt_governor_level {
	GT_GOVERNOR_NONE,
	GT_GOVERNOR_STACKS,
	GT_GOVERNOR_PYTHON,
	GT_GOVERNOR_CALLS, /* those that start no GPU work */
	GT_GOVERNOR_STEPS,
	GT_GOVERNOR_LAST = GT_GOVERNOR_STEPS + 5,
	GT_GOVERNOR_LEVELS_
};

/* Overheads are in hundredths of a percent. Zeroed: no maximum. */
struct gt_governor {
	uint32_t max;
	uint32_t level;                          /* enum gt_governor_level */
	uint32_t changes;                        /* so far */
	uint32_t smooth;                         /* overhead */
	bool is_known;                           /* smooth is */
	uint32_t settling, over, calm, patience; /* periods */
	uint32_t since;                          /* periods since the level changed */
	bool was_restored;                       /* the last change was one */
	uint32_t before;                         /* overhead when the level was lowered */
	uint32_t saving[GT_GOVERNOR_LEVELS_];    /* of a level: before / after, in 1/256 */
};

/* The value of --max-overhead, "2%", "0.5"; empty: 0, there is no maximum. -EINVAL; -ERANGE: not
 * from 0.1 to 100. */
int gt_governor_parse(const char *text, uint32_t *ret_max);

/* @max: 0: the level never changes. */
void gt_governor_init(struct gt_governor *governor, uint32_t max);

/* Another maximum: the level stays where it is, until the next periods tell; 0: all is recorded. */
void gt_governor_set_max(struct gt_governor *governor, uint32_t max);

/* A period is over. @is_active: there were calls; else nothing can be learned from it. Returns
 * whether the level has changed. */
bool gt_governor_period(struct gt_governor *governor, uint32_t overhead, bool is_active);

/* Of this many steps one is recorded. */
uint32_t gt_governor_steps(uint32_t level);

/* What a level leaves out in addition to the one before, "call stacks". */
const char *gt_governor_name(uint32_t level);

#endif

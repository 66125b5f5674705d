/* SPDX-License-Identifier: Apache-2.0
 *
 * Which ranges are steps of a training, see steps.c. Drain thread.
 */
#ifndef GT_PIPELINE_RANGES_STEPS_H
#define GT_PIPELINE_RANGES_STEPS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/intern.h"

struct gt_range;

#define GT_RANGE_CANDIDATES 64u

/* What is known of the steps. Given: the first two; the rest is zero at first. */
struct gt_range_steps {
	const char *wanted; /* their name, "auto", or "" */
	struct gt_intern *strings;
	const struct gt_string *found; /* auto: their name, NULL: not known yet */
	uint32_t tid;                  /* auto: their thread */
	uint64_t count;
	uint32_t seen_count;
	struct { /* auto: the newest ranges that would be steps if they came again */
		uint32_t tid;
		const struct gt_string *name;
	} seen[GT_RANGE_CANDIDATES];
};

/* A range that begins is renamed if it is a step, which is returned; its label is not. */
bool gt_range_steps_begin(struct gt_range_steps *steps, struct gt_range *range);

/* A range is over. */
void gt_range_steps_end(struct gt_range_steps *steps, const struct gt_range *range);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Which ranges of the program make a window, and how many: --capture-range, --capture-range-end,
 * --schedule and --step-range together. Any thread; no allocation, no locale.
 */
#ifndef GT_CORE_WINDOW_CAPTURE_PLAN_H
#define GT_CORE_WINDOW_CAPTURE_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "core/window/capture_range.h"

/* The steps of --schedule, as torch.profiler's schedule has them. A step is a range. */
struct gt_capture_schedule {
	uint32_t skip_first;
	uint32_t wait, warmup, active; /* one cycle; active 0: there is no schedule */
	uint32_t repeat;               /* cycles, 0: without end */
};

/* What is done in a step. */
enum gt_capture_phase {
	GT_CAPTURE_REST,
	GT_CAPTURE_WARM_UP, /* CUPTI records, nothing is written */
	GT_CAPTURE_RECORD,
	GT_CAPTURE_RECORD_LAST, /* the last step of a window */
};

/* All of it. */
struct gt_capture_plan {
	struct gt_capture_range range;
	struct gt_capture_schedule schedule;
	bool ends;        /* a window ends with its range */
	uint32_t windows; /* how many there may be, 0: without end */
	bool shuts_down;  /* the program ends with the last one */
};

/* What --step-range says where it names no range. */
#define GT_CAPTURE_STEPS_FOUND "auto"

/* The texts of the options, @steps of --step-range; NULL is as empty. What is wrong is left out,
 * and its index, 0 to 3, set in *ret_wrong (-1: nothing). Without a range a schedule is one of
 * @steps, without a name there of "ProfilerStep#*". */
void gt_capture_plan_make(const char *range, const char *end, const char *schedule,
			  const char *steps, struct gt_capture_plan *ret_plan, int *ret_wrong);

/* Each alone. -EINVAL. _end: of *_shutdown, too, but for that. */
int gt_capture_end_parse(const char *text, bool *ret_ends, uint32_t *ret_windows);
int gt_capture_schedule_parse(const char *text, struct gt_capture_schedule *ret_schedule);

/* @step: from 0. */
enum gt_capture_phase gt_capture_phase_of(const struct gt_capture_schedule *schedule,
					  uint64_t step);

#endif

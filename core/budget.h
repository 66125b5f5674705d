/* SPDX-License-Identifier: Apache-2.0
 *
 * How much memory the tracer may take: by its options, and by the memory limit of the control group
 * (core/guest/cgroup.h), of which it takes a small part, because the rest is the program's.
 */
#ifndef GT_CORE_BUDGET_H
#define GT_CORE_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/guest/cgroup.h"
#include "core/config.h"

/* Address space without which tracing could make the program fail: the tables and threads of the
 * tracer and of CUPTI, and what malloc reserves for each thread that calls them. */
#define GT_BUDGET_SPACE ((uint64_t)512 << 20)

/* What the control group allows besides what is in the options. 0 bytes: no limit. */
struct gt_budget {
	struct gt_cgroup_limit cgroup;
	bool limits_memory; /* the tracer's memory is limited by the group, not by --max-rss */
	bool limits_space;  /* but by the address space */
	uint64_t unsaved;   /* bytes of a trace that may wait in the page cache for the disk */
	uint64_t in_memory; /* bytes of a trace on tmpfs */
};

/* Lowers the options about memory to what @cgroup, which is copied, allows. False: that is too
 * little to trace. Session start, and doctor. */
bool gt_budget_fit(struct gt_config *config, const struct gt_cgroup_limit *cgroup,
		   struct gt_budget *ret_budget);

/* Lowers them to what a limit of the address space allows, of which @free bytes are left. False:
 * that is too little to trace. Behind gt_budget_fit. */
bool gt_budget_fit_space(struct gt_config *config, uint64_t free, struct gt_budget *budget);

/* Lowers the size and number of the files of a trace on tmpfs, given as --max-size and --keep (0:
 * all are kept, then nothing is lowered). True: they were too much. */
bool gt_budget_fit_files(const struct gt_budget *budget, uint64_t *max_size, uint32_t *keep);

/* Writes the limit of the group and what is sized by it, one line; "" without a limit. */
void gt_budget_describe(const struct gt_budget *budget, const struct gt_config *config,
			char *ret_text, size_t size);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Call stacks with weights: who asked for how much GPU time, call time, bytes, operations or idle
 * time. CPU frames root first, the kernel or call as leaf. Printed folded (flamegraph.pl), as a
 * flame graph of its own, or for speedscope. Pure over constant models; one thread per set.
 */
#ifndef GT_ANALYSIS_STACKS_STACKS_H
#define GT_ANALYSIS_STACKS_STACKS_H

#include <stdint.h>
#include <stdio.h>

#include "analysis/key.h"
#include "trace/job.h"

/* What a stack is weighted by. */
enum gt_weight {
	GT_WEIGHT_GPU,   /* ns on the GPU */
	GT_WEIGHT_CPU,   /* ns of CUDA calls on the host */
	GT_WEIGHT_BYTES, /* copied or set */
	GT_WEIGHT_COUNT, /* GPU operations */
	GT_WEIGHT_IDLE,  /* ns that the GPU idled before the operation (analysis/gaps/gaps.h) */
	GT_WEIGHT_COUNT_
};

/* Words of --weight, indexed by enum gt_weight. */
extern const char *const gt_weight_names[GT_WEIGHT_COUNT_];
extern const char *const gt_weight_units[GT_WEIGHT_COUNT_]; /* as speedscope calls them */

/* One folded stack: its frames from the root, separated by ';', and its weight. */
struct gt_fold {
	const char *text; /* "main;step;gemm", owned by the set */
	int64_t weight;
};

/* All folded stacks of a job, sorted by their text. */
struct gt_folded {
	struct gt_names names;
	GT_VEC(struct gt_fold) folds; /* by text */
};

/* Sums the weights of equal stacks. @users: of stacks with frames of the user's code only those,
 * where models are marked (trace/user_code.h). */
int gt_folded_build(const struct gt_job *job, const struct gt_filter *filter, enum gt_weight weight,
		    bool users, struct gt_folded *ret_stacks);
void gt_folded_fini(struct gt_folded *stacks);

/* Prints them for flamegraph.pl, one stack a line. */
void gt_folded_print_folded(const struct gt_folded *stacks, FILE *out);

/* speedscope's own format: a sampled profile, so that equal frames are one frame. */
void gt_folded_print_speedscope(const struct gt_folded *stacks, enum gt_weight weight,
				const char *name, FILE *out);

/* One SVG file with its script: click to zoom, nothing from the network. @inner: only the <svg>
 * element, to be set into a page that has gt_folded_svg_script. */
void gt_folded_print_svg(const struct gt_folded *stacks, enum gt_weight weight, const char *title,
			 bool inner, FILE *out);
extern const char gt_folded_svg_script[];

/* Text of a page as gt_show_xml() has it, keeping line ends. */
void gt_folded_lines(const char *text, FILE *out);

#endif

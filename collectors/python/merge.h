/* SPDX-License-Identifier: Apache-2.0
 *
 * Merges two stacks: Python frames replace the evaluation loops that run them, and the
 * interpreter's other C frames are dropped. Drain thread; pure.
 */
#ifndef GT_COLLECTORS_PYTHON_MERGE_H
#define GT_COLLECTORS_PYTHON_MERGE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/stack.h"

/* A resolved Python frame. */
struct gt_python_frame {
	const struct gt_stack_frame *frame; /* NULL: an evaluation loop without a frame */
	bool is_entry;                      /* the last frame of its evaluation loop */
};

/* Both stacks innermost first. A stack that was cut has more frames. */
struct gt_python_stacks {
	const struct gt_stack_frame *const *native;
	uint32_t native_count;
	bool native_cut;
	const struct gt_python_frame *python;
	uint32_t python_count;
	bool python_cut;
	const struct gt_string *interpreter; /* the module that holds it; NULL: not known */
};

/*
 * Writes the merged stack, innermost first and at most @max frames, to @ret_frames; returns how
 * many. If loops and Python frames do not match, all Python frames replace the innermost loop; if
 * no loop has a name, the interpreter's innermost frame.
 */
uint32_t gt_python_merge(const struct gt_python_stacks *stacks, uint32_t max,
			 const struct gt_stack_frame **ret_frames);

#endif

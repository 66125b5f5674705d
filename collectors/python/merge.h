/* SPDX-License-Identifier: Apache-2.0
 *
 * One stack out of two: Python frames take the places of the evaluation loops that run them, and
 * what else the interpreter's C code put on the stack goes. Drain thread; pure.
 */
#ifndef GT_COLLECTORS_PYTHON_MERGE_H
#define GT_COLLECTORS_PYTHON_MERGE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/stack.h"

/* A Python frame of a stack, resolved. */
struct gt_python_frame {
	const struct gt_stack_frame *frame; /* NULL: an evaluation loop without a frame just now */
	bool is_entry;                      /* the last frame of its evaluation loop */
};

/* Both stacks nearest first. A stack that was cut may go on. */
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
 * Writes the merged stack, nearest first and at most @max frames, to @ret_frames; returns how many.
 * Where loops and Python frames do not fit each other, the Python frames stand together in the
 * place of the nearest loop; where no loop has a name, in the place of the interpreter's nearest
 * frame.
 */
uint32_t gt_python_merge(const struct gt_python_stacks *stacks, uint32_t max,
			 const struct gt_stack_frame **ret_frames);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * From what application threads delivered of Python stacks (collectors/python/python.h) to frames
 * with names and lines, each made once. Drain thread only.
 */
#ifndef GT_COLLECTORS_PYTHON_FRAMES_H
#define GT_COLLECTORS_PYTHON_FRAMES_H

#include <stddef.h>
#include <stdint.h>

#include "core/intern.h"
#include "core/stack.h"

struct gt_python_frames;

/* @max_bytes bounds the memory; over it frames are not made. NULL: no memory. */
struct gt_python_frames *gt_python_frames_new(struct gt_intern *strings, size_t max_bytes);
void gt_python_frames_free(struct gt_python_frames *frames);

/* The frame of a word that gt_python_capture delivered. NULL: its code object is not known, or
 * there is no memory. Lives as long as @frames. */
const struct gt_stack_frame *gt_python_frames_find(struct gt_python_frames *frames, uint64_t word);

#endif

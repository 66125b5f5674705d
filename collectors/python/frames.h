/* SPDX-License-Identifier: Apache-2.0
 *
 * Turns the Python stacks that application threads delivered (collectors/python/python.h) into
 * frames with names and lines, each made once. Drain thread only.
 */
#ifndef GT_COLLECTORS_PYTHON_FRAMES_H
#define GT_COLLECTORS_PYTHON_FRAMES_H

#include <stddef.h>
#include <stdint.h>

#include "core/intern.h"
#include "core/stack.h"

struct gt_python_frames;

/* @max_bytes bounds the memory; beyond it no frames are made. NULL: no memory. */
struct gt_python_frames *gt_python_frames_new(struct gt_intern *strings, size_t max_bytes);
void gt_python_frames_free(struct gt_python_frames *frames);

/* The frame of a word from gt_python_capture. NULL: its code object is unknown, or no memory. Lives
 * as long as @frames. */
const struct gt_stack_frame *gt_python_frames_find(struct gt_python_frames *frames, uint64_t word);

#endif

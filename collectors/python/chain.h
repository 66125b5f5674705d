/* SPDX-License-Identifier: Apache-2.0
 *
 * The fields of one interpreter frame, in place or in a copy. Any thread; the memory must be
 * readable.
 */
#ifndef GT_COLLECTORS_PYTHON_CHAIN_H
#define GT_COLLECTORS_PYTHON_CHAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "collectors/python/layout.h"
#include "collectors/python/read.h"

/* _PyInterpreterFrame.owner from here on: the frame of an evaluation loop itself. */
#define GT_PYTHON_OWNER_INTERPRETER 3

/* Tag bits in a pointer to a code object (3.14). */
#define GT_PYTHON_TAG_BITS          ((uint64_t)3)

/* Byte offset of a frame's instruction from the first one. */
static inline int32_t gt_python_frame_offset(const struct gt_python_layout *layout, uint64_t frame,
					     uint64_t code)
{
	uint64_t offset;

	if (layout->instruction_unit)
		return gt_python_int(frame, layout->frame_instruction) * layout->instruction_unit;
	offset = gt_python_word(frame, layout->frame_instruction) - code - layout->code_adaptive;
	return (int64_t)offset < 0 || offset > INT32_MAX ? -1 : (int32_t)offset;
}

/* Whether it is the frame of an evaluation loop itself, not of Python code. */
static inline bool gt_python_frame_is_loop(const struct gt_python_layout *layout, uint64_t frame)
{
	return layout->entry == GT_PYTHON_ENTRY_OWNER &&
	       gt_python_byte(frame, layout->frame_owner) >= GT_PYTHON_OWNER_INTERPRETER;
}

/* Whether an evaluation loop in C was entered with this frame. */
static inline bool gt_python_frame_is_entry(const struct gt_python_layout *layout, uint64_t frame)
{
	return layout->entry == GT_PYTHON_ENTRY_ALWAYS ||
	       (layout->entry == GT_PYTHON_ENTRY_FLAG &&
		gt_python_byte(frame, layout->frame_entry));
}

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * The line of an instruction from a code object's line table, in the three formats of CPython. The
 * table is untrusted: a malformed one gives a wrong line or none. Any thread; pure.
 */
#ifndef GT_COLLECTORS_PYTHON_LINES_H
#define GT_COLLECTORS_PYTHON_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "collectors/python/layout.h"

/* The line of the instruction @offset bytes after the first one; < 0: the function has not begun.
 * @first_line is the code object's co_firstlineno. 0: the instruction has no line. */
uint32_t gt_python_line(enum gt_python_table format, const uint8_t *table, size_t size,
			int32_t first_line, int32_t offset);

#endif

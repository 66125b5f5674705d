/* SPDX-License-Identifier: Apache-2.0
 *
 * The line of an instruction out of a code object's line table, in the three formats that CPython
 * has had. The table may hold anything: the answer is then a line that is not right, or none.
 * Any thread; pure.
 */
#ifndef GT_COLLECTORS_PYTHON_LINES_H
#define GT_COLLECTORS_PYTHON_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "collectors/python/layout.h"

/*
 * The line of the instruction @offset bytes behind the first one; < 0: before it, which is where a
 * function stands that has not begun. @first_line is the code object's co_firstlineno.
 * 0: the table gives the instruction no line.
 */
uint32_t gt_python_line(enum gt_python_table format, const uint8_t *table, size_t size,
			int32_t first_line, int32_t offset);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * The code objects seen on stacks. At first sight an application thread copies the names and the
 * line table, for the object may be gone when the drain thread needs them; later it is one look-up
 * in a table shared by all threads. Entries never change and are never removed: the interpreter
 * reuses addresses, so an entry is found by the object's content, not by its address.
 *
 * No lock, no allocation; system calls at first sight only (collectors/python/read.h).
 */
#ifndef GT_COLLECTORS_PYTHON_CODES_H
#define GT_COLLECTORS_PYTHON_CODES_H

#include <stdint.h>

#include "collectors/python/runtime.h"

/* Code objects that can be distinguished in one process. */
#define GT_PYTHON_CODES_MAX 32768u

/* Characters as the interpreter stores them: 1, 2 or 4 bytes each (Latin-1, UCS-2, UCS-4). */
struct gt_python_text {
	const uint8_t *bytes;
	uint32_t count;
	uint32_t width;
};

/* The copy of a code object. */
struct gt_python_code {
	uint64_t identity;
	uint32_t number;
	uint64_t object; /* address of the original, and of what it pointed to */
	uint64_t table_object, name_object, filename_object;
	int32_t first_line;
	uint32_t length; /* of its instructions, bytes */
	enum gt_python_table format;
	uint32_t table_size;
	const uint8_t *table;
	struct gt_python_text name, filename;
};

/* Counters of the code object table. */
struct gt_python_code_counts {
	uint64_t seen;    /* different code objects */
	uint64_t refused; /* captures of one failed: no room, or not a code object */
};

/* Reserves the table; keeps existing entries. Before the first capture. -ENOMEM. */
int gt_python_codes_start(void);

/* The number, 1 .., of the code object at @object. 0: none, or no room. Application threads. */
uint32_t gt_python_codes_number(const struct gt_python_runtime *runtime, uint64_t object);

/* The same for an object of another thread, which may disappear at any moment: system calls each
 * time. */
uint32_t gt_python_codes_number_elsewhere(const struct gt_python_runtime *runtime, uint64_t object);

/* The same; @head: a copy of its fields. The calling thread runs it: system calls at first sight.
 */
uint32_t gt_python_codes_number_of_copy(const struct gt_python_runtime *runtime, uint64_t object,
					const void *head);

/* The code object of a number from gt_python_codes_number. NULL: none. Any thread. */
const struct gt_python_code *gt_python_codes_at(uint32_t number);

/* Any thread. */
struct gt_python_code_counts gt_python_codes_count(void);

#endif

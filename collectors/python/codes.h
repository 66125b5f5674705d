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

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "collectors/python/read.h"
#include "collectors/python/runtime.h"

/* Code objects that can be distinguished in one process. */
#define GT_PYTHON_CODES_MAX  32768u

/* Bytes of a line table, at each end, that distinguish code objects. */
#define GT_PYTHON_TABLE_ENDS 256u

/* Characters as the interpreter stores them: 1, 2 or 4 bytes each (Latin-1, UCS-2, UCS-4). */
struct gt_python_text {
	const uint8_t *bytes;
	uint32_t count;
	uint32_t width;
};

/* The copy of a code object. What a capture compares is together. */
struct gt_python_code {
	uint64_t object; /* address of the original, and of what it pointed to */
	uint64_t table_object, name_object, filename_object;
	const uint8_t *table;
	int32_t first_line;
	uint32_t table_size;
	uint32_t number;
	uint32_t length; /* of its instructions, bytes */
	uint64_t identity;
	enum gt_python_table format;
	struct gt_python_text name, filename;
};

/* Counters of the code object table. */
struct gt_python_code_counts {
	uint64_t seen;    /* different code objects */
	uint64_t refused; /* captures of one failed: no room, or not a code object */
};

/* Reserves the table; keeps existing entries. Before the first capture. -ENOMEM. */
int gt_python_codes_start(void);

/* A function that a sanitizer leaves alone cannot be inlined into others there. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define GT_PYTHON_INLINED
#else
#define GT_PYTHON_INLINED __attribute__((always_inline))
#endif

/* Sixteen bytes wherever they lie. */
typedef uint64_t gt_python_block __attribute__((vector_size(16), aligned(1), may_alias));

/* Words wherever they lie. */
typedef uint64_t gt_python_eight __attribute__((aligned(1), may_alias));
typedef uint32_t gt_python_four __attribute__((aligned(1), may_alias));

/* The same for less than sixteen bytes: those of small functions. The middle is compared twice. */
GT_PYTHON_UNFENCED static inline GT_PYTHON_INLINED bool gt_python_same_few(const uint8_t *a,
									   const uint8_t *b,
									   uint32_t size)
{
	if (__builtin_expect(size >= 8, 1))
		return !((*(const gt_python_eight *)a ^ *(const gt_python_eight *)b) |
			 (*(const gt_python_eight *)(a + size - 8) ^
			  *(const gt_python_eight *)(b + size - 8)));
	if (size >= 4)
		return !((*(const gt_python_four *)a ^ *(const gt_python_four *)b) |
			 (*(const gt_python_four *)(a + size - 4) ^
			  *(const gt_python_four *)(b + size - 4)));
	while (size--)
		if (a[size] != b[size])
			return false;
	return true;
}

/* Whether @size bytes are the same. Tables are short: a call of memcmp costs more than it does. */
GT_PYTHON_UNFENCED static inline GT_PYTHON_INLINED bool gt_python_same(const uint8_t *a,
								       const uint8_t *b,
								       uint32_t size)
{
	const gt_python_block *x = (const gt_python_block *)a, *y = (const gt_python_block *)b;
	gt_python_block differ = {0, 0};

	if (__builtin_expect(size < 16, 0))
		return gt_python_same_few(a, b, size);
	/* the end may be compared twice */
	differ = *(const gt_python_block *)(a + size - 16) ^
		 *(const gt_python_block *)(b + size - 16);
	for (; size > 64; size -= 64, x += 4, y += 4)
		differ |= (x[0] ^ y[0]) | (x[1] ^ y[1]) | (x[2] ^ y[2]) | (x[3] ^ y[3]);
	for (; size > 16; size -= 16)
		differ |= *x++ ^ *y++;
	return !(differ[0] | differ[1]);
}

/* Whether the fields of a code object, at @head, are those of the original of @code. */
static inline __attribute__((always_inline)) bool gt_python_code_has(
	const struct gt_python_offsets *o, uint64_t type, uint64_t head,
	const struct gt_python_code *code)
{
	return gt_python_word(head, o->type) == type &&
	       gt_python_word(head, o->table) == code->table_object &&
	       gt_python_word(head, o->name) == code->name_object &&
	       gt_python_word(head, o->filename) == code->filename_object &&
	       gt_python_int(head, o->first_line) == code->first_line;
}

/* Both ends of a long table. */
bool gt_python_code_has_ends(const struct gt_python_code *code, const uint8_t *table);

/* Whether the line table at @data is the copied one, in the parts that distinguish it. */
static inline __attribute__((always_inline)) bool gt_python_code_has_table(
	const struct gt_python_code *code, uint64_t data)
{
	const uint8_t *table = (const uint8_t *)data;

	if (__builtin_expect(code->table_size <= 2 * GT_PYTHON_TABLE_ENDS, 1))
		return gt_python_same(code->table, table, code->table_size);
	return gt_python_code_has_ends(code, table);
}

/* Whether the original of @code, whose address is still in use, is there and not one that came
 * after it; @type: the address of PyCode_Type. code->table is not NULL. */
static inline __attribute__((always_inline)) bool gt_python_code_is_unchanged(
	const struct gt_python_offsets *o, uint64_t type, const struct gt_python_code *code)
{
	return gt_python_code_has(o, type, code->object, code) &&
	       gt_python_word(code->table_object, o->bytes_size) == code->table_size &&
	       gt_python_code_has_table(code, code->table_object + o->bytes_data);
}

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

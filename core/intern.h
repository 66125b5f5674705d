/* SPDX-License-Identifier: Apache-2.0
 *
 * Keeps each different string of a session once, under a dense id, so that a writer can cache what
 * it derives from a string (its escaped form) in an array. Drain thread only.
 */
#ifndef GT_CORE_INTERN_H
#define GT_CORE_INTERN_H

#include <stddef.h>
#include <stdint.h>

/* An interned string. Its address stays valid and is the same for equal text. */
struct gt_string {
	uint32_t id;     /* 1.., dense */
	uint32_t length; /* bytes, without the terminating zero */
	uint64_t hash;
	char text[]; /* zero-terminated; may hold any byte, valid UTF-8 is not promised */
};

struct gt_intern;

/* @max_bytes bounds the memory; over it every new string becomes "(strings over the limit)". */
struct gt_intern *gt_intern_new(size_t max_bytes);
void gt_intern_free(struct gt_intern *pool);

/* Interns @length bytes at @text. Never NULL: on lack of memory a static "(no memory)". */
const struct gt_string *gt_intern_get(struct gt_intern *pool, const char *text, size_t length);
const struct gt_string *gt_intern_cstr(struct gt_intern *pool, const char *text);

/* The interned string if there is one already, else NULL. */
const struct gt_string *gt_intern_find(const struct gt_intern *pool, const char *text,
				       size_t length);

/* Strings refused: no memory, or over the limit. */
uint64_t gt_intern_refused(const struct gt_intern *pool);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by collectors/symbols/mangled*.c: the parser's state. Each function parses one production
 * of the Itanium C++ ABI's grammar, numbers its substitution candidates as the ABI does, and
 * returns an upper bound of its text; words and punctuation count with their greatest length. Any
 * thread.
 */
#ifndef GT_COLLECTORS_SYMBOLS_MANGLED_INTERNAL_H
#define GT_COLLECTORS_SYMBOLS_MANGLED_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define GT_MANGLED_SUBSTITUTIONS 512u
#define GT_MANGLED_DEPTH         512u /* of the parser's recursion: about 100 KiB of stack */
#define GT_MANGLED_SIZE_CAP      ((uint64_t)1 << 40)

/* Longest text of an operator, a builtin type, a standard abbreviation, a separator. */
#define GT_MANGLED_WORD          16u
#define GT_MANGLED_ABBREVIATION  80u

/* The parser's state. */
struct gt_mangled {
	const char *at, *end;
	bool failed;
	uint32_t depth;
	uint32_t substitutions;
	uint64_t last_name;    /* size of a constructor's name */
	uint64_t largest;      /* of all template arguments so far: what T_ may stand for */
	uint64_t longest_pack; /* arguments of the longest list so far */
	uint64_t size[GT_MANGLED_SUBSTITUTIONS];
};

/* ---- mangled_names.c ---- */

/* Rules of the grammar: each parses its part and returns the size of its demangled text. */
uint64_t gt_mangled_encoding(struct gt_mangled *p);
uint64_t gt_mangled_name(struct gt_mangled *p);
uint64_t gt_mangled_unqualified(struct gt_mangled *p);
uint64_t gt_mangled_source_name(struct gt_mangled *p);
uint64_t gt_mangled_substitution(struct gt_mangled *p);
uint64_t gt_mangled_template_param(struct gt_mangled *p);

/* ---- mangled.c ---- */

/* The same for types, template arguments, expressions. */
uint64_t gt_mangled_type(struct gt_mangled *p);
uint64_t gt_mangled_types(struct gt_mangled *p, char end); /* up to and with @end */
uint64_t gt_mangled_template_args(struct gt_mangled *p);
uint64_t gt_mangled_expression(struct gt_mangled *p);
uint64_t gt_mangled_decltype(struct gt_mangled *p);

/* ---- reading ---- */

/* The character @ahead of the next one; 0 at the end. */
static inline char gt_mangled_peek(const struct gt_mangled *p, size_t ahead)
{
	return p->end - p->at > (ptrdiff_t)ahead ? p->at[ahead] : 0;
}

/* Skips the next character if it is @c. */
static inline bool gt_mangled_take(struct gt_mangled *p, char c)
{
	bool there = gt_mangled_peek(p, 0) == c;

	p->at += there;
	return there;
}

/* Independent of the locale. */
static inline bool gt_mangled_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Independent of the locale. */
static inline bool gt_mangled_is_lower(char c)
{
	return c >= 'a' && c <= 'z';
}

/* Whether @c is in @set; the end of the name never is. */
static inline bool gt_mangled_is_one_of(char c, const char *set)
{
	return c && strchr(set, c);
}

/* Gives up: moves to the end of the name. */
static inline uint64_t gt_mangled_fail(struct gt_mangled *p)
{
	p->failed = true;
	p->at = p->end;
	return 0;
}

/* @size if the next character is @c, which is skipped; otherwise fails. */
static inline uint64_t gt_mangled_expect(struct gt_mangled *p, char c, uint64_t size)
{
	return gt_mangled_take(p, c) ? size : gt_mangled_fail(p);
}

/* Sum of two sizes, capped, so that it never overflows. */
static inline uint64_t gt_mangled_add(uint64_t a, uint64_t b)
{
	return a + b < GT_MANGLED_SIZE_CAP ? a + b : GT_MANGLED_SIZE_CAP;
}

/* Adds a substitution candidate of @size bytes. Returns @size. */
static inline uint64_t gt_mangled_remember(struct gt_mangled *p, uint64_t size)
{
	if (p->substitutions == GT_MANGLED_SUBSTITUTIONS)
		return gt_mangled_fail(p);
	p->size[p->substitutions++] = size;
	return size;
}

/* A decimal number; "n" means negative, which does not matter here. */
static inline uint64_t gt_mangled_number(struct gt_mangled *p)
{
	uint64_t number = 0;

	gt_mangled_take(p, 'n');
	while (gt_mangled_is_digit(gt_mangled_peek(p, 0)) && number < UINT32_MAX)
		number = number * 10 + (uint64_t)(*p->at++ - '0');
	return number;
}

/* "12_", "_" */
static inline void gt_mangled_ordinal(struct gt_mangled *p)
{
	gt_mangled_number(p);
	gt_mangled_expect(p, '_', 0);
}

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints JSON into a growing buffer: the only place that prints a quote. Integer arithmetic only;
 * no printf, no double, no locale. Whether a comma is needed follows from the preceding character,
 * so there is no state. Drain thread only; allocates only when a buffer becomes larger than ever
 * before.
 */
#ifndef GT_CORE_JSON_JSON_H
#define GT_CORE_JSON_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/json/digits.h"

/* Longer strings are cut: only their beginning and their length are printed. */
#define GT_JSON_STRING_MAX ((size_t)1 << 20)

/* A buffer of JSON text. */
struct gt_json {
	char *text;
	size_t length;
	size_t capacity;
	uint8_t tight;              /* 1: no blank after commas and colons; else 0 */
	bool failed;                /* no memory: something is missing since the last gt_json_cut */
	struct gt_digits_high high; /* of the last time */
};

/* An empty buffer with room for @capacity bytes. -ENOMEM. */
int gt_json_init(struct gt_json *json, size_t capacity);
void gt_json_fini(struct gt_json *json);

/* Makes room for @size more bytes, or sets failed. */
bool gt_json_grow(struct gt_json *json, size_t size);

/* Drops everything after @length, and a failure that happened there. */
static inline void gt_json_cut(struct gt_json *json, size_t length)
{
	json->length = length;
	json->failed = false;
}

/* Makes sure of @size more bytes, which may then be written behind the text. */
static inline bool gt_json_room(struct gt_json *json, size_t size)
{
	return __builtin_expect(json->capacity - json->length >= size, 1) ||
	       gt_json_grow(json, size);
}

/* Appends @size bytes, at most @room, which all can be read: a copy of constant size is faster. */
#define gt_json_short(json, bytes, size, room)                                                     \
	do {                                                                                       \
		if (gt_json_room(json, room)) {                                                    \
			memcpy((json)->text + (json)->length, bytes, room);                        \
			(json)->length += size;                                                    \
		}                                                                                  \
	} while (0)

/* Appends @size bytes as they are. */
static inline void gt_json_raw(struct gt_json *json, const char *text, size_t size)
{
	if (__builtin_expect(json->capacity - json->length < size, 0) && !gt_json_grow(json, size))
		return;
	memcpy(json->text + json->length, text, size);
	json->length += size;
}

/* Appends text that ends in a blank, which is dropped when the buffer is tight. */
static inline void gt_json_spaced(struct gt_json *json, const char *text, size_t size)
{
	if (__builtin_expect(json->capacity - json->length < size, 0) && !gt_json_grow(json, size))
		return;
	memcpy(json->text + json->length, text, size);
	json->length += size - json->tight;
}

/* Appends one character as it is. */
static inline void gt_json_char(struct gt_json *json, char c)
{
	gt_json_raw(json, &c, 1);
}

/* Appends the comma before a member or an element, unless it is the first or begins a line. */
static inline void gt_json_comma(struct gt_json *json)
{
	char last = json->length ? json->text[json->length - 1] : '{';

	if (last != '{' && last != '[' && last != '\n')
		gt_json_spaced(json, ", ", 2);
}

/* {"key": before a value; @key is a literal that needs no escape. */
#define gt_json_key(json, key)                                                                     \
	do {                                                                                       \
		gt_json_comma(json);                                                               \
		gt_json_spaced(json, "\"" key "\": ", sizeof("\"" key "\": ") - 1);                \
	} while (0)

/* Appends a literal as it is. */
#define gt_json_text(json, literal) gt_json_raw(json, literal, sizeof(literal) - 1)

/* , "key": before a value that is not the first one; @key is a literal that needs no escape. */
#define gt_json_next(json, key)                                                                    \
	do {                                                                                       \
		if ((json)->tight)                                                                 \
			gt_json_text(json, ",\"" key "\":");                                       \
		else                                                                               \
			gt_json_text(json, ", \"" key "\": ");                                     \
	} while (0)

/* A whole member with a literal string as its value. */
#define gt_json_literal(json, key, value)                                                          \
	do {                                                                                       \
		gt_json_key(json, key);                                                            \
		gt_json_raw(json, "\"" value "\"", sizeof("\"" value "\"") - 1);                   \
	} while (0)

/* A key that is not a literal. */
void gt_json_key_text(struct gt_json *json, const char *key);

/* Values. */
void gt_json_u64(struct gt_json *json, uint64_t value);
void gt_json_i64(struct gt_json *json, int64_t value);
/* 9 significant digits; NaN and infinities are null. */
void gt_json_real(struct gt_json *json, double value);
void gt_json_hex(struct gt_json *json, uint64_t value); /* "0x1a2b", quoted */
void gt_json_bool(struct gt_json *json, bool value);
void gt_json_us(struct gt_json *json, uint64_t ns);            /* microseconds, always 3 decimals */
void gt_json_micro(struct gt_json *json, uint64_t millionths); /* 2.0, 3.878788 */

/* The same, inline: for lines of which there are many. */
static inline __attribute__((always_inline)) void gt_json_put_u64(struct gt_json *json,
								  uint64_t value)
{
	if (gt_json_room(json, GT_DIGITS_ROOM))
		json->length =
			(size_t)(gt_digits_u64(json->text + json->length, value) - json->text);
}

/* gt_json_us, inline. */
static inline __attribute__((always_inline)) void gt_json_put_us(struct gt_json *json, uint64_t ns)
{
	if (gt_json_room(json, GT_DIGITS_ROOM))
		json->length = (size_t)(gt_digits_us(&json->high, json->text + json->length, ns) -
					json->text);
}

/* Appends a number again that is already there: @size bytes, at most GT_DIGITS_ROOM, from @at on.
 */
static inline void gt_json_again(struct gt_json *json, size_t at, size_t size)
{
	char digits[GT_DIGITS_ROOM];

	if (!gt_json_room(json, GT_DIGITS_ROOM))
		return;
	memcpy(digits, json->text + at, sizeof(digits));
	memcpy(json->text + json->length, digits, sizeof(digits));
	json->length += size;
}

/* @size bytes of any content as a quoted string. */
void gt_json_string(struct gt_json *json, const char *text, size_t size);
void gt_json_cstr(struct gt_json *json, const char *text);

/*
 * The same without quotes: `"` and `\` get a backslash, U+0000-1F become \u00XX, each malformed
 * piece of UTF-8 becomes U+FFFD, nothing else changes. If longer than GT_JSON_STRING_MAX: the
 * beginning and "...(n bytes)".
 */
void gt_json_escape(struct gt_json *json, const char *text, size_t size);

/* Bytes of the character at @text, 0: malformed UTF-8. @size is not 0. */
size_t gt_json_utf8_length(const unsigned char *text, size_t size);

/* True when gt_json_escape would not change these bytes. */
bool gt_json_is_plain(const char *text, size_t size);

/* Longest prefix of at most @max bytes of @text that does not end inside a UTF-8 character. */
size_t gt_json_text_prefix(const char *text, size_t size, size_t max);

/* A whole member in one line. */
#define gt_json_member_u64(json, key, value)                                                       \
	do {                                                                                       \
		gt_json_key(json, key);                                                            \
		gt_json_u64(json, value);                                                          \
	} while (0)
#define gt_json_member_i64(json, key, value)                                                       \
	do {                                                                                       \
		gt_json_key(json, key);                                                            \
		gt_json_i64(json, value);                                                          \
	} while (0)
#define gt_json_member_us(json, key, ns)                                                           \
	do {                                                                                       \
		gt_json_key(json, key);                                                            \
		gt_json_us(json, ns);                                                              \
	} while (0)
#define gt_json_member_cstr(json, key, text)                                                       \
	do {                                                                                       \
		gt_json_key(json, key);                                                            \
		gt_json_cstr(json, text);                                                          \
	} while (0)

#endif

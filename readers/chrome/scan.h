/* SPDX-License-Identifier: Apache-2.0
 *
 * The JSON scanner of the hot path: strict, without allocation, one pass over bytes in memory, for
 * the event lines that make up 99 % of a trace. Its results are spans into the caller's buffer.
 * Why not a library: docs/benchmarks/reading.md. Pure functions, any thread.
 */
#ifndef GT_READERS_CHROME_SCAN_H
#define GT_READERS_CHROME_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "readers/input.h"

/* Nesting of objects and arrays; deeper input is refused. */
#define GT_SCAN_DEPTH 256

/* Type of a JSON value. */
enum gt_span_kind {
	GT_SPAN_NONE,
	GT_SPAN_STRING, /* text between the quotes, not decoded */
	GT_SPAN_NUMBER,
	GT_SPAN_OBJECT, /* from { to } */
	GT_SPAN_ARRAY,
	GT_SPAN_TRUE,
	GT_SPAN_FALSE,
	GT_SPAN_NULL,
};

/* A value in the text. */
struct gt_span {
	const char *text;
	uint32_t len;
	uint8_t kind;    /* enum gt_span_kind */
	uint8_t escaped; /* a string with backslashes: gt_span_decode before use */
};

/* The state of a scan. */
struct gt_scan {
	const char *end; /* first byte after the input; GT_INPUT_PADDING zero bytes follow */
	const char *at;  /* where the scan failed */
	const char *why; /* what was wrong there; NULL: the input ended too early */
	bool loose;      /* NaN or an infinity was found, not JSON; the caller resets it */
};

/* First byte at or after @p that is not JSON white space. */
static inline const char *gt_scan_blanks(const char *p)
{
	while ((unsigned char)*p <= ' ' && (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r'))
		p++;
	return p;
}

/* Records a failure at @p: a NULL @why or the end of input means "more is needed". Returns NULL. */
const char *gt_scan_fail(struct gt_scan *scan, const char *p, const char *why);

/* Scans one value that starts exactly at @p. Returns the byte after it, or NULL on failure. */
const char *gt_scan_value(struct gt_scan *scan, const char *p, struct gt_span *ret_value);

/* Scans a string whose opening quote is at @p. */
const char *gt_scan_string(struct gt_scan *scan, const char *p, struct gt_span *ret_value);

/* Scans a key whose opening quote is at @p, and the colon. Returns where its value starts. */
const char *gt_scan_key(struct gt_scan *scan, const char *p, struct gt_span *ret_key);

/*
 * Walks the members of the object that starts at @p. @member gets each key and the start of its
 * value, and returns the byte after the value (usually gt_scan_value) or NULL to stop.
 * Returns the byte after the closing brace, or NULL.
 */
typedef const char *(*gt_scan_member)(struct gt_scan *scan, const struct gt_span *key,
				      const char *value, void *data);
const char *gt_scan_object(struct gt_scan *scan, const char *p, gt_scan_member member, void *data);

/* Iterates over the elements of a scanned array (its text must still be followed by padding);
 * *@position starts at 0. */
bool gt_span_next(const struct gt_span *array, uint32_t *position, struct gt_span *ret_element);

/* The value of a key in a scanned object (same condition). */
bool gt_span_member(const struct gt_span *object, const char *key, struct gt_span *ret_value);

/* Converts decimal microseconds ("123.456", "1.5e3") to exact nanoseconds, rounding more decimals
 * half away from zero. False: not a number, or beyond 292 years. */
bool gt_span_ns(const struct gt_span *span, int64_t *ret_ns);

/* An integer, possibly written as a float without a fraction or as a string of digits. */
bool gt_span_int(const struct gt_span *span, int64_t *ret_value);

/* The same without a sign, up to 2^64 - 1. */
bool gt_span_uint(const struct gt_span *span, uint64_t *ret_value);

/* The number as a double. False: not a number. */
bool gt_span_double(const struct gt_span *span, double *ret_value);

/* Decodes a string into @out, which needs span->len bytes; U+0000 becomes U+FFFD. Returns the
 * length. */
size_t gt_span_decode(const struct gt_span *span, char *out);

/* Whether the text of @span is @text (@len bytes). */
static inline bool gt_span_is(const struct gt_span *span, const char *text, size_t len)
{
	return span->len == len && !__builtin_memcmp(span->text, text, len);
}

#endif

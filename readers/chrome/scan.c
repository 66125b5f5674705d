/* SPDX-License-Identifier: Apache-2.0
 *
 * See scan.h. Every loop here ends at the zero bytes after the input, which no JSON token may
 * contain, so no length is compared per byte. Any thread; no allocation.
 */
#include "readers/chrome/scan.h"

#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "core/guest/text.h"
#include "readers/chrome/digits.h"

const char *gt_scan_fail(struct gt_scan *scan, const char *p, const char *why)
{
	scan->at = p < scan->end ? p : scan->end;
	scan->why = p < scan->end ? why : NULL;
	return NULL;
}

#ifdef __SSE2__
/* The first byte that is not a plain string character: a quote, backslash or control character. */
static inline const char *skip_plain(const char *p)
{
	const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\');
	const __m128i control = _mm_set1_epi8(0x1f);

	for (;; p += 16) {
		__m128i text = _mm_loadu_si128((const __m128i *)p);
		__m128i stop =
			_mm_or_si128(_mm_cmpeq_epi8(text, quote), _mm_cmpeq_epi8(text, backslash));
		unsigned int bits;

		stop = _mm_or_si128(stop, _mm_cmpeq_epi8(_mm_min_epu8(text, control), text));
		bits = (unsigned int)_mm_movemask_epi8(stop);
		if (bits)
			return p + __builtin_ctz(bits);
	}
}
#else
/* Sets 0x80 in the first byte of @word that is below @n; later bytes may be wrong. */
static inline uint64_t first_below(uint64_t word, uint64_t n)
{
	return (word - 0x0101010101010101u * n) & ~word & 0x8080808080808080u;
}

/* The same, eight bytes at a time. */
static inline const char *skip_plain(const char *p)
{
	for (;; p += 8) {
		uint64_t word = gt_digits_load(p), stop;

		stop = first_below(word, 0x20) | first_below(word ^ 0x2222222222222222u, 1) |
		       first_below(word ^ 0x5c5c5c5c5c5c5c5cu, 1);
		if (stop)
			return p + (__builtin_ctzll(stop) >> 3);
	}
}
#endif

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* @p is at a backslash. */
static const char *scan_escape(struct gt_scan *scan, const char *p)
{
	if (p[1] && strchr("\"\\/bfnrt", p[1]))
		return p + 2;
	if (p[1] != 'u')
		return gt_scan_fail(scan, p + 1, "no such escape in a string");
	for (int i = 2; i < 6; i++)
		if (hex_digit(p[i]) < 0)
			return gt_scan_fail(scan, p + i, "\\u needs four hexadecimal digits");
	return p + 6;
}

const char *gt_scan_string(struct gt_scan *scan, const char *p, struct gt_span *ret_value)
{
	const char *start = ++p;
	bool escaped = false;

	for (;;) {
		p = skip_plain(p);
		if (*p == '"')
			break;
		if (*p != '\\')
			return gt_scan_fail(scan, p, "control character in a string");
		escaped = true;
		p = scan_escape(scan, p);
		if (!p)
			return NULL;
	}
	if ((size_t)(p - start) > UINT32_MAX / 2)
		return gt_scan_fail(scan, start, "string longer than 2 GiB");
	*ret_value = (struct gt_span){.text = start,
				      .len = (uint32_t)(p - start),
				      .kind = GT_SPAN_STRING,
				      .escaped = escaped};
	return p + 1;
}

static inline const char *skip_digits(const char *p)
{
	unsigned int n;

	do {
		n = gt_digits_count(gt_digits_load(p));
		p += n;
	} while (n == 8);
	return p;
}

static inline const char *scan_digits(struct gt_scan *scan, const char *p)
{
	const char *behind = skip_digits(p);

	return behind == p ? gt_scan_fail(scan, p, "digit expected") : behind;
}

static const char *scan_number(struct gt_scan *scan, const char *p)
{
	if (*p == '-')
		p++;
	if (*p == '0' && p[1] >= '0' && p[1] <= '9')
		return gt_scan_fail(scan, p, "number with a leading zero");
	p = scan_digits(scan, p);
	if (p && *p == '.')
		p = scan_digits(scan, p + 1);
	if (p && (*p == 'e' || *p == 'E')) {
		p++;
		if (*p == '+' || *p == '-')
			p++;
		p = scan_digits(scan, p);
	}
	/* a number may continue after the end of the buffer */
	return p && p == scan->end ? gt_scan_fail(scan, p, NULL) : p;
}

static const char *scan_word(struct gt_scan *scan, const char *p, const char *word)
{
	const char *start = p;

	for (; *word; word++, p++)
		if (*p != *word)
			return gt_scan_fail(scan, p == scan->end ? p : start, "value expected");
	return p;
}

/* Literals; Python and Kineto also write NaN and Infinity, which are not JSON. */
static const struct {
	const char *word;
	uint8_t kind;
} words[] = {
	{"true", GT_SPAN_TRUE},  {"false", GT_SPAN_FALSE},     {"null", GT_SPAN_NULL},
	{"NaN", GT_SPAN_NUMBER}, {"Infinity", GT_SPAN_NUMBER}, {"-Infinity", GT_SPAN_NUMBER},
};

static const char *scan_scalar(struct gt_scan *scan, const char *p, struct gt_span *ret_value)
{
	const char *start = p;

	if (*p == '"')
		return gt_scan_string(scan, p, ret_value);
	if ((*p >= '0' && *p <= '9') || (*p == '-' && p[1] != 'I')) {
		p = scan_number(scan, p);
		ret_value->kind = GT_SPAN_NUMBER;
	} else {
		for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
			if (*p != words[i].word[0])
				continue;
			p = scan_word(scan, p, words[i].word);
			ret_value->kind = words[i].kind;
			scan->loose |= words[i].kind == GT_SPAN_NUMBER;
			break;
		}
		if (p == start)
			return gt_scan_fail(scan, p, "value expected");
	}
	if (!p)
		return NULL;
	ret_value->text = start;
	ret_value->len = (uint32_t)(p - start);
	ret_value->escaped = 0;
	return p;
}

/* The open brackets of a nested value, one bit each: 1 is an object. */
struct nesting {
	uint64_t bits[GT_SCAN_DEPTH / 64];
	unsigned int depth;
};

static bool nest_push(struct nesting *nest, bool object)
{
	uint64_t *word = &nest->bits[nest->depth / 64];
	uint64_t bit = 1ull << nest->depth % 64;

	if (nest->depth + 1 >= GT_SCAN_DEPTH)
		return false;
	*word = object ? *word | bit : *word & ~bit;
	nest->depth++;
	return true;
}

static bool nest_in_object(const struct nesting *nest)
{
	return nest->bits[(nest->depth - 1) / 64] >> (nest->depth - 1) % 64 & 1;
}

const char *gt_scan_key(struct gt_scan *scan, const char *p, struct gt_span *ret_key)
{
	if (*p != '"')
		return gt_scan_fail(scan, p, "key expected");
	p = gt_scan_string(scan, p, ret_key);
	if (!p)
		return NULL;
	p = gt_scan_blanks(p);
	if (*p != ':')
		return gt_scan_fail(scan, p, "':' expected after a key");
	return gt_scan_blanks(p + 1);
}

/* After a value or an opening bracket: skips closing brackets and steps to the next value. Sets
 * *ret_done when the outermost bracket was closed. */
static const char *nest_next(struct gt_scan *scan, const char *p, struct nesting *nest, bool opened,
			     bool *ret_done)
{
	struct gt_span key;

	for (;; opened = false) {
		bool object = nest_in_object(nest);

		p = gt_scan_blanks(p);
		if (*p == (object ? '}' : ']')) {
			p++;
			*ret_done = --nest->depth == 0;
			if (*ret_done)
				return p;
			continue;
		}
		if (!opened) {
			if (*p != ',')
				return gt_scan_fail(scan, p,
						    object ? "',' or '}' expected"
							   : "',' or ']' expected");
			p = gt_scan_blanks(p + 1);
		}
		return object ? gt_scan_key(scan, p, &key) : p;
	}
}

static const char *scan_nested(struct gt_scan *scan, const char *p)
{
	struct nesting nest = {.depth = 0};
	struct gt_span scalar;
	bool done = false;

	while (p && !done) {
		bool opened = *p == '{' || *p == '[';

		if (opened) {
			if (!nest_push(&nest, *p == '{'))
				return gt_scan_fail(scan, p, "nested too deeply");
			p++;
		} else {
			p = scan_scalar(scan, p, &scalar);
			if (!p)
				return NULL;
		}
		p = nest_next(scan, p, &nest, opened, &done);
	}
	return p;
}

/* An array without brackets inside. NULL: it is another or invalid, which scan_nested finds out. */
static const char *scan_flat(struct gt_scan *scan, const char *p)
{
	struct gt_span scalar;

	for (;;) {
		p = gt_scan_blanks(p + 1);
		if (*p == '[' || *p == '{')
			return NULL;
		p = scan_scalar(scan, p, &scalar);
		if (!p)
			return NULL;
		p = gt_scan_blanks(p);
		if (*p == ']')
			return p + 1;
		if (*p != ',')
			return NULL;
	}
}

const char *gt_scan_value(struct gt_scan *scan, const char *p, struct gt_span *ret_value)
{
	const char *start = p;

	if (*p != '{' && *p != '[')
		return scan_scalar(scan, p, ret_value);
	p = *p == '[' ? scan_flat(scan, p) : NULL;
	if (!p)
		p = scan_nested(scan, start);
	if (!p)
		return NULL;
	if ((size_t)(p - start) > UINT32_MAX / 2)
		return gt_scan_fail(scan, start, "value longer than 2 GiB");
	*ret_value = (struct gt_span){.text = start,
				      .len = (uint32_t)(p - start),
				      .kind = *start == '{' ? GT_SPAN_OBJECT : GT_SPAN_ARRAY};
	return p;
}

const char *gt_scan_object(struct gt_scan *scan, const char *p, gt_scan_member member, void *data)
{
	struct gt_span key;

	p = gt_scan_blanks(p + 1);
	if (*p == '}')
		return p + 1;
	for (;;) {
		p = gt_scan_key(scan, p, &key);
		if (!p)
			return NULL;
		p = member(scan, &key, p, data);
		if (!p)
			return NULL;
		p = gt_scan_blanks(p);
		if (*p == '}')
			return p + 1;
		if (*p != ',')
			return gt_scan_fail(scan, p, "',' or '}' expected");
		p = gt_scan_blanks(p + 1);
	}
}

bool gt_span_next(const struct gt_span *array, uint32_t *position, struct gt_span *ret_element)
{
	struct gt_scan scan;
	const char *p;

	if (array->kind != GT_SPAN_ARRAY)
		return false;
	scan = (struct gt_scan){.end = array->text + array->len};
	p = gt_scan_blanks(array->text + (*position ? *position : 1));
	if (*p == ',')
		p = gt_scan_blanks(p + 1);
	if (*p == ']')
		return false;
	p = gt_scan_value(&scan, p, ret_element);
	if (!p)
		return false;
	*position = (uint32_t)(p - array->text);
	return true;
}

struct find {
	const char *key;
	size_t len;
	struct gt_span value;
	bool found;
};

static const char *find_member(struct gt_scan *scan, const struct gt_span *key, const char *value,
			       void *data)
{
	struct find *find = data;
	struct gt_span span;
	const char *next = gt_scan_value(scan, value, &span);

	if (next && gt_span_is(key, find->key, find->len)) {
		find->value = span;
		find->found = true;
	}
	return next;
}

bool gt_span_member(const struct gt_span *object, const char *key, struct gt_span *ret_value)
{
	struct find find = {.key = key, .len = strlen(key)};
	struct gt_scan scan;

	if (object->kind != GT_SPAN_OBJECT)
		return false;
	scan = (struct gt_scan){.end = object->text + object->len};
	if (!gt_scan_object(&scan, object->text, find_member, &find) || !find.found)
		return false;
	*ret_value = find.value;
	return true;
}

static uint32_t four_hex(const char *p)
{
	uint32_t value = 0;

	for (int i = 0; i < 4; i++)
		value = value << 4 | (uint32_t)hex_digit(p[i]);
	return value;
}

/* Decodes what follows "\u": joins surrogate pairs; a lone half, and zero, are U+FFFD. Returns the
 * bytes read. */
static size_t decode_unicode(const char *p, const char *end, uint32_t *ret_code)
{
	uint32_t code = four_hex(p), low;

	*ret_code = code ? code : 0xfffd; /* text ends at a zero byte */
	if (code < 0xd800 || code > 0xdfff)
		return 4;
	*ret_code = 0xfffd;
	if (code > 0xdbff || end - p < 10 || p[4] != '\\' || p[5] != 'u')
		return 4;
	low = four_hex(p + 6);
	if (low < 0xdc00 || low > 0xdfff)
		return 4;
	*ret_code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
	return 10;
}

size_t gt_span_decode(const struct gt_span *span, char *out)
{
	static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
	const char *p = span->text, *end = p + span->len;
	char *start = out;

	while (p < end) {
		const char *special;
		uint32_t code;

		if (*p != '\\') {
			*out++ = *p++;
			continue;
		}
		special = strchr(from, p[1]);
		if (p[1] == 'u') {
			p += 2;
			p += decode_unicode(p, end, &code);
			out += gt_text_utf8(out, code);
		} else {
			*out++ = special ? to[special - from] : p[1];
			p += 2;
		}
	}
	return (size_t)(out - start);
}

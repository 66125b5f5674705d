/* SPDX-License-Identifier: Apache-2.0
 *
 * readers/chrome/scan.h: values, numbers, strings, and where errors are found.
 */
#include "readers/chrome/scan.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* @text followed by the zero bytes that the scanner needs. */
static char *padded(const char *text)
{
	char *copy = calloc(1, strlen(text) + GT_INPUT_PADDING);

	memcpy(copy, text, strlen(text));
	return copy;
}

static struct gt_span number(const char *text)
{
	return (struct gt_span){
		.text = text, .len = (uint32_t)strlen(text), .kind = GT_SPAN_NUMBER};
}

Test(scan, values)
{
	static const struct {
		const char *text;
		enum gt_span_kind kind;
		size_t used;
	} rows[] = {
		{"12 ", GT_SPAN_NUMBER, 2},
		{"-0.5e+3,", GT_SPAN_NUMBER, 7},
		{"true]", GT_SPAN_TRUE, 4},
		{"null ", GT_SPAN_NULL, 4},
		{"\"a\\\"b\" ", GT_SPAN_STRING, 6},
		{"{} ", GT_SPAN_OBJECT, 2},
		{"[1, [2, {\"a\": []}]]x", GT_SPAN_ARRAY, 19},
		{"{\"a\" : {\"b\":[ ]} , \"c\":1}", GT_SPAN_OBJECT, 25},
		{"NaN,", GT_SPAN_NUMBER, 3},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *text = padded(rows[i].text);
		struct gt_scan scan = {.end = text + strlen(text)};
		struct gt_span span;
		const char *next = gt_scan_value(&scan, text, &span);

		cr_assert_not_null(next, "%s: %s", text, scan.why);
		cr_assert_eq((size_t)(next - text), rows[i].used, "%s", text);
		cr_assert_eq(span.kind, rows[i].kind, "%s", text);
		free(text);
	}
}

Test(scan, refusals)
{
	static const struct {
		const char *text;
		int at; /* -1: ended too early */
	} rows[] = {
		{"[1 2]", 3},
		{"{\"a\" 1}", 5},
		{"{1}", 1},
		{"[1,]", 3},
		{"01 ", 0},
		{"1.x", 2},
		{"\"a\nb\"", 2},
		{"\"\\x\"", 2},
		{"\"\\u12g4\"", 5},
		{"tru ", 0},
		{"{\"a\":1,}", 7},
		{"]", 0},
		{"[1, ", -1},
		{"\"abc", -1},
		{"{\"a\"", -1},
		{"12", -1},
		{"tr", -1},
		{"", -1},
		{"{\"a\": \"\\u00", -1},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *text = padded(rows[i].text);
		struct gt_scan scan = {.end = text + strlen(text)};
		struct gt_span span;

		cr_assert_null(gt_scan_value(&scan, text, &span), "%s", text);
		if (rows[i].at < 0)
			cr_assert_null(scan.why, "%s: %s", text, scan.why);
		else
			cr_assert(scan.why && scan.at - text == rows[i].at, "%s: %s at %td", text,
				  scan.why, scan.at - text);
		free(text);
	}
}

Test(scan, depth_is_bounded)
{
	char text[1000 + GT_INPUT_PADDING] = {0};
	struct gt_scan scan = {.end = text + 1000};
	struct gt_span span;

	memset(text, '[', 1000);
	cr_assert_null(gt_scan_value(&scan, text, &span));
	cr_assert_str_eq(scan.why, "nested too deeply");
}

Test(scan, nanoseconds_are_exact)
{
	static const struct {
		const char *text;
		int64_t ns;
	} rows[] = {
		{"0", 0},
		{"123.456", 123456},
		{"5000000023.106", 5000000023106},
		{"1782967788000000.001", 1782967788000000001},
		{"0.0005", 1},
		{"0.0004999999999999999999999", 0},
		{"1.5e3", 1500000},
		{"-2.5", -2500},
		{"4.1e-2", 41},
		{"1712195495519695.8", 1712195495519695800},
		{"9007199254740993", 9007199254740993000},
		{"12345678901234567890123e-10", 1234567890123457},
		{"-12345678901234567890123.5E-20", -123457},
		{"100000000000000000000e-18", 100000},
	};
	int64_t ns;
	struct gt_span span;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		span = number(rows[i].text);
		cr_assert(gt_span_ns(&span, &ns), "%s", rows[i].text);
		cr_assert_eq(ns, rows[i].ns, "%s: %ld", rows[i].text, (long)ns);
	}
	span = number("9300000000000000000");
	cr_assert_not(gt_span_ns(&span, &ns));
	span = number("1e400");
	cr_assert_not(gt_span_ns(&span, &ns));
	span = number("12345678901234567890123e-5");
	cr_assert_not(gt_span_ns(&span, &ns));
	span = number("NaN");
	cr_assert_not(gt_span_ns(&span, &ns));
}

Test(scan, doubles_are_finite)
{
	static const struct {
		const char *text;
		double value;
	} rows[] = {
		{"0.5", 0.5},    {"-1e308", -1e308}, {"1e-400", 0},
		{"-1e-9999", 0}, {"1e-100000", 0},   {"0e99999999999", 0},
	};
	static const char *const too_large[] = {"1e309", "-1e400", "1e999", "1e99999999999", "NaN"};
	double value;
	struct gt_span span;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		span = number(rows[i].text);
		cr_assert(gt_span_double(&span, &value), "%s", rows[i].text);
		cr_assert_float_eq(value, rows[i].value, fabs(rows[i].value) * 1e-15, "%s: %g",
				   rows[i].text, value);
	}
	for (size_t i = 0; i < sizeof(too_large) / sizeof(too_large[0]); i++) {
		span = number(too_large[i]);
		cr_assert_not(gt_span_double(&span, &value), "%s: %g", too_large[i], value);
	}
}

Test(scan, strings_are_decoded)
{
	struct gt_span span = {.text = "a\\n\\u00e9\\ud83d\\ude00\\ud800x\\/\\u0000",
			       .kind = GT_SPAN_STRING};
	char out[64];
	size_t n;

	span.len = (uint32_t)strlen(span.text);
	n = gt_span_decode(&span, out);
	out[n] = 0;
	cr_assert_str_eq(out, "a\n\xc3\xa9\xf0\x9f\x98\x80\xef\xbf\xbdx/\xef\xbf\xbd");
}

/* Found by UBSan alone: what is absent has no text to which to add a length. */
Test(scan, members_of_what_is_absent)
{
	struct gt_span none = {.kind = GT_SPAN_NONE}, value;
	uint32_t position = 0;

	cr_assert_not(gt_span_member(&none, "a", &value));
	cr_assert_not(gt_span_next(&none, &position, &value));
}

Test(scan, unsigned_numbers)
{
	static const struct {
		const char *text;
		uint64_t value;
		bool is_one;
	} rows[] = {
		{"7", 7, true},
		{"1e3", 1000, true},
		{"9223372036854775807", INT64_MAX, true},
		{"9223372036854775808", UINT64_C(1) << 63, true},
		{"18446744073709551615", UINT64_MAX, true},
		{"18446744073709551616", 0, false},
		{"99999999999999999999999", 0, false},
		{"-1", 0, false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *text = padded(rows[i].text);
		struct gt_span span = {.text = text, .kind = GT_SPAN_NUMBER};
		uint64_t value;

		span.len = (uint32_t)strlen(text);
		cr_expect_eq(gt_span_uint(&span, &value), rows[i].is_one);
		cr_expect(!rows[i].is_one || value == rows[i].value);
		free(text);
	}
}

Test(scan, members_and_elements)
{
	char *text = padded("{\"a\": [1, \"x\", {}], \"b\": 7}");
	struct gt_span object = {.text = text, .kind = GT_SPAN_OBJECT};
	struct gt_span value, element;
	uint32_t position = 0;
	int64_t n;
	int count = 0;

	object.len = (uint32_t)strlen(object.text);
	cr_assert(gt_span_member(&object, "b", &value));
	cr_assert(gt_span_int(&value, &n) && n == 7);
	cr_assert_not(gt_span_member(&object, "c", &value));
	cr_assert(gt_span_member(&object, "a", &value));
	while (gt_span_next(&value, &position, &element))
		count++;
	cr_assert_eq(count, 3);
	free(text);
}

Test(scan, numbers_of_each_length)
{
	static const char others[] = "/:\x01\xff\xb0 x";
	char text[24];

	for (uint32_t length = 1; length <= 18; length++) {
		struct gt_span span = {.text = text, .len = length, .kind = GT_SPAN_NUMBER};
		int64_t value, ns;

		memcpy(text, "987654321012345678", length);
		text[length] = 0;
		cr_assert(gt_span_int(&span, &value), "%s", text);
		cr_assert_eq(value, strtoll(text, NULL, 10), "%s", text);
		for (uint32_t fraction = 1; fraction <= 3 && length <= 15; fraction++) {
			span.len = length + 1 + fraction;
			memcpy(text + length, ".123", fraction + 1);
			cr_assert(gt_span_ns(&span, &ns), "%.*s", (int)span.len, text);
			cr_assert_eq(ns,
				     value * 1000 + (fraction == 1   ? 100
						     : fraction == 2 ? 120
								     : 123),
				     "%.*s", (int)span.len, text);
		}
		span.len = length;
		for (uint32_t i = 0; i < length; i++) {
			char digit = text[i];

			for (const char *other = others; *other; other++) {
				text[i] = *other;
				cr_assert(!gt_span_int(&span, &value), "byte %u of %u", i, length);
			}
			text[i] = digit;
		}
	}
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON printing: numbers at their edges, strings of any bytes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "core/json/json.h"

#define EXPECT(expected, call)                                                                     \
	do {                                                                                       \
		struct gt_json json;                                                               \
		cr_assert_eq(gt_json_init(&json, 16), 0);                                          \
		call;                                                                              \
		cr_assert(!json.failed);                                                           \
		gt_json_char(&json, '\0');                                                         \
		cr_assert_str_eq(json.text, expected);                                             \
		gt_json_fini(&json);                                                               \
	} while (0)

Test(json, integers)
{
	EXPECT("0", gt_json_u64(&json, 0));
	EXPECT("9", gt_json_u64(&json, 9));
	EXPECT("10", gt_json_u64(&json, 10));
	EXPECT("18446744073709551615", gt_json_u64(&json, UINT64_MAX));
	EXPECT("-9223372036854775808", gt_json_i64(&json, INT64_MIN));
	EXPECT("9223372036854775807", gt_json_i64(&json, INT64_MAX));
	EXPECT("\"0xff00\"", gt_json_hex(&json, 0xff00));
}

static void two_members(struct gt_json *json)
{
	json->tight = 1;
	gt_json_char(json, '{');
	gt_json_literal(json, "a b", "c: d, e");
	gt_json_member_u64(json, "n", 1);
	gt_json_key_text(json, "k");
	gt_json_cstr(json, " ");
	gt_json_char(json, '}');
}

Test(json, no_blank_between_tokens)
{
	EXPECT("{\"a b\":\"c: d, e\",\"n\":1,\"k\":\" \"}", two_members(&json));
}

Test(json, integers_like_printf)
{
	uint64_t state = 88172645463325252u;
	char expected[32];

	for (int i = 0; i < 20000; i++) {
		uint64_t value;

		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		value = state >> (i % 64);
		snprintf(expected, sizeof(expected), "%" PRIu64, value);
		EXPECT(expected, gt_json_u64(&json, value));
		snprintf(expected, sizeof(expected), "%" PRIu64 ".%03" PRIu64, value / 1000,
			 value % 1000);
		EXPECT(expected, gt_json_us(&json, value));
	}
}

Test(json, numbers_beside_the_powers_of_ten)
{
	uint64_t power = 1;
	char expected[32];

	for (int digits = 1; digits <= 20; digits++, power *= 10) {
		for (uint64_t value = power - 1; value <= power + 1; value++) {
			snprintf(expected, sizeof(expected), "%" PRIu64, value);
			EXPECT(expected, gt_json_u64(&json, value));
			snprintf(expected, sizeof(expected), "%" PRIu64 ".%03" PRIu64, value / 1000,
				 value % 1000);
			EXPECT(expected, gt_json_us(&json, value));
		}
	}
}

Test(json, microseconds)
{
	EXPECT("0.000", gt_json_us(&json, 0));
	EXPECT("0.001", gt_json_us(&json, 1));
	EXPECT("1.000", gt_json_us(&json, 1000));
	EXPECT("7889237999999.999", gt_json_us(&json, 7889237999999999u));
	EXPECT("18446744073709551.615", gt_json_us(&json, UINT64_MAX));
}

Test(json, millionths)
{
	EXPECT("0.0", gt_json_micro(&json, 0));
	EXPECT("2.0", gt_json_micro(&json, 2000000));
	EXPECT("3.878788", gt_json_micro(&json, 3878788));
	EXPECT("51.2", gt_json_micro(&json, 51200000));
	EXPECT("0.000001", gt_json_micro(&json, 1));
	EXPECT("18446744073709.551615", gt_json_micro(&json, UINT64_MAX));
}

Test(json, members_and_commas)
{
	EXPECT("{\"a\": 1, \"b\": \"x\", \"c\": [], \"d\": true}", {
		gt_json_char(&json, '{');
		gt_json_member_u64(&json, "a", 1);
		gt_json_literal(&json, "b", "x");
		gt_json_key(&json, "c");
		gt_json_raw(&json, "[]", 2);
		gt_json_key_text(&json, "d");
		gt_json_bool(&json, true);
		gt_json_char(&json, '}');
	});
}

Test(json, only_what_must_be_is_escaped)
{
	EXPECT("\"\"", gt_json_cstr(&json, ""));
	EXPECT("\"a/b<c>'d\x7f\"", gt_json_cstr(&json, "a/b<c>'d\x7f"));
	EXPECT("\"\\\"\\\\\\u000a\\u0009\\u001f\"", gt_json_cstr(&json, "\"\\\n\t\x1f"));
	EXPECT("\"a\\u0000b\"", gt_json_string(&json, "a\0b", 3));
	EXPECT("\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \xf4\x8f\xbf\xbf\"",
	       gt_json_cstr(&json, "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \xf4\x8f\xbf\xbf"));
}

/* What a byte alone becomes. */
static size_t escaped(unsigned char byte, char *ret_text)
{
	if (byte >= 0x80)
		return (size_t)sprintf(ret_text, "\xef\xbf\xbd");
	if (byte == '"' || byte == '\\')
		return (size_t)sprintf(ret_text, "\\%c", byte);
	return (size_t)sprintf(ret_text, byte < 0x20 ? "\\u%04x" : "%c", byte);
}

Test(json, each_byte_at_each_place)
{
	char text[24], expected[40];

	for (unsigned int byte = 0; byte < 256; byte++)
		for (size_t at = 0; at < sizeof(text); at++) {
			struct gt_json json;
			size_t n = at + 1;

			memset(text, 'a', sizeof(text));
			memset(expected, 'a', sizeof(expected));
			expected[0] = '"';
			text[at] = (char)byte;
			n += escaped((unsigned char)byte, expected + n);
			expected[n] = 'a';
			n += sizeof(text) - at - 1;
			expected[n++] = '"';
			cr_assert_eq(gt_json_init(&json, 4096), 0);
			gt_json_string(&json, text, sizeof(text));
			cr_assert_eq(json.length, n, "%u at %zu", byte, at);
			cr_assert_eq(memcmp(json.text, expected, n), 0, "%u at %zu", byte, at);
			gt_json_fini(&json);
		}
}

#define FFFD "\xef\xbf\xbd"

Test(json, broken_utf8_becomes_the_replacement_character)
{
	EXPECT("\"" FFFD "\"", gt_json_cstr(&json, "\xff"));
	EXPECT("\"" FFFD FFFD "\"", gt_json_cstr(&json, "\xc0\x80"));          /* overlong */
	EXPECT("\"" FFFD FFFD FFFD "\"", gt_json_cstr(&json, "\xe0\x9f\xbf")); /* overlong */
	EXPECT("\"" FFFD FFFD FFFD "\"", gt_json_cstr(&json, "\xed\xa0\x80")); /* surrogate */
	EXPECT("\"" FFFD FFFD FFFD FFFD "\"", gt_json_cstr(&json, "\xf4\x90\x80\x80"));
	EXPECT("\"" FFFD "a\"", gt_json_cstr(&json, "\xe2"
						    "a"));
	EXPECT("\"" FFFD FFFD "\"", gt_json_cstr(&json, "\xe2\x82")); /* cut at the end */
	EXPECT("\"" FFFD "\\u0001\"", gt_json_cstr(&json, "\xc3\x01"));
}

Test(json, strings_over_the_limit_keep_their_beginning)
{
	size_t size = GT_JSON_STRING_MAX + 5;
	char *text = malloc(size);
	struct gt_json json;

	cr_assert_not_null(text);
	memset(text, 'x', size);
	memcpy(text + GT_JSON_STRING_MAX - 1, "\xe2\x82\xac", 3); /* across the limit */
	cr_assert_eq(gt_json_init(&json, 16), 0);
	gt_json_string(&json, text, size);
	cr_assert_eq(json.length, 1 + GT_JSON_STRING_MAX - 1 + strlen("...(1048581 bytes)") + 1);
	cr_assert_eq(memcmp(json.text + GT_JSON_STRING_MAX, "...(1048581 bytes)\"", 19), 0);
	cr_assert(!gt_json_is_plain(text, size));
	cr_assert(gt_json_is_plain(text, GT_JSON_STRING_MAX - 1));
	gt_json_fini(&json);
	free(text);
}

Test(json, prefix_never_cuts_a_character)
{
	const char *text = "a\xe2\x82\xac\xf0\x9f\x98\x80";

	cr_assert_eq(gt_json_text_prefix(text, 8, 8), 8);
	cr_assert_eq(gt_json_text_prefix(text, 8, 7), 4);
	cr_assert_eq(gt_json_text_prefix(text, 8, 5), 4);
	cr_assert_eq(gt_json_text_prefix(text, 8, 4), 4);
	cr_assert_eq(gt_json_text_prefix(text, 8, 3), 1);
	cr_assert_eq(gt_json_text_prefix(text, 8, 0), 0);
}

Test(json, growing_keeps_what_was_there)
{
	struct gt_json json;

	cr_assert_eq(gt_json_init(&json, 1), 0);
	for (uint32_t i = 0; i < 100000; i++)
		gt_json_char(&json, (char)('a' + i % 26));
	cr_assert_eq(json.length, 100000);
	for (uint32_t i = 0; i < 100000; i++)
		cr_assert_eq(json.text[i], (char)('a' + i % 26));
	cr_assert(!gt_json_grow(&json, SIZE_MAX / 2));
	cr_assert(json.failed);
	gt_json_cut(&json, 10);
	cr_assert(!json.failed && json.length == 10);
	gt_json_fini(&json);
}

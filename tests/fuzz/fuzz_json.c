/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes through the escaper: what comes out must be valid UTF-8 without anything that JSON
 * forbids in a string, and must give the bytes back except where U+FFFD stands for broken ones.
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

#include "core/json/json.h"

static void need(bool truth)
{
	if (!truth)
		abort();
}

static unsigned int hex_digit(char c)
{
	need((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'));
	return c <= '9' ? (unsigned int)(c - '0') : (unsigned int)(c - 'a' + 10);
}

/* Undoes one escape at @text. Returns its length. */
static size_t unescape(const char *text, size_t size, unsigned char *ret_byte)
{
	need(size >= 2);
	if (text[1] == '"' || text[1] == '\\') {
		*ret_byte = (unsigned char)text[1];
		return 2;
	}
	need(size >= 6 && text[1] == 'u' && text[2] == '0' && text[3] == '0');
	*ret_byte = (unsigned char)(hex_digit(text[4]) << 4 | hex_digit(text[5]));
	need(*ret_byte < 0x20);
	return 6;
}

#define REPLACEMENT "\xef\xbf\xbd"

static bool is_replacement(const void *text, size_t size)
{
	return size >= 3 && memcmp(text, REPLACEMENT, 3) == 0;
}

/* Walks escaped text and input side by side. */
static void compare(const char *text, size_t size, const uint8_t *data, size_t left)
{
	while (size) {
		unsigned char byte = (unsigned char)*text;
		size_t used = 1;

		need(left > 0 && byte >= 0x20 && byte != '"');
		if (is_replacement(text, size) && !is_replacement(data, left)) {
			need(data[0] >= 0x80);
			used = 3;
		} else {
			if (byte == '\\')
				used = unescape(text, size, &byte);
			need(byte == data[0]);
		}
		text += used;
		size -= used;
		data++;
		left--;
	}
	need(left == 0);
}

/* Decodes code points in the plain way: another one than the printer's table. */
static void check_utf8(const unsigned char *text, size_t size)
{
	static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};

	while (size) {
		size_t length = *text < 0x80 ? 1 : *text >= 0xf0 ? 4 : *text >= 0xe0 ? 3 : 2;
		uint32_t point = length == 1 ? *text : *text & (0x7fu >> length);

		need(length <= size && (length == 1 || *text >= 0xc0) && *text < 0xf8);
		for (size_t i = 1; i < length; i++) {
			need(text[i] >> 6 == 2);
			point = point << 6 | (text[i] & 0x3fu);
		}
		need(point >= smallest[length] && point <= 0x10ffff);
		need(point < 0xd800 || point > 0xdfff);
		text += length;
		size -= length;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gt_json json;

	if (size > GT_JSON_STRING_MAX || gt_json_init(&json, 1) < 0)
		return 0;
	gt_json_escape(&json, (const char *)data, size);
	need(!json.failed);
	check_utf8((const unsigned char *)json.text, json.length);
	need(gt_json_is_plain((const char *)data, size) ==
	     (json.length == size && memcmp(json.text, data, size) == 0));
	compare(json.text, json.length, data, size);
	gt_json_fini(&json);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON printing: numbers eight digits at a time, strings by a UTF-8 scan that copies runs of
 * harmless bytes. Drain thread only; must not call anything that depends on the locale.
 */
#include "core/json/json.h"

#include <errno.h>
#include <string.h>

#include "core/guest/memory.h"
#include "core/guest/text.h"

int gt_json_init(struct gt_json *json, size_t capacity)
{
	*json = (struct gt_json){.text = gt_memory_map(capacity), .capacity = capacity};
	if (!json->text) {
		json->capacity = 0;
		return -ENOMEM;
	}
	return 0;
}

void gt_json_fini(struct gt_json *json)
{
	gt_memory_unmap(json->text, json->capacity);
	*json = (struct gt_json){0};
}

bool gt_json_grow(struct gt_json *json, size_t size)
{
	size_t wanted = json->capacity ? json->capacity : 4096;
	char *text;

	if (size > SIZE_MAX / 4) {
		json->failed = true;
		return false;
	}
	while (wanted - json->length < size)
		wanted *= 2;
	text = json->text ? gt_memory_grow(json->text, json->capacity, wanted)
			  : gt_memory_map(wanted);
	if (!text) {
		json->failed = true;
		return false;
	}
	json->text = text;
	json->capacity = wanted;
	return true;
}

char *gt_digits_long(char *out, uint64_t value)
{
	uint64_t digits;

	if (value < 100000000)
		return gt_digits_below_1e8(out, (uint32_t)value);
	out = gt_digits_long(out, value / 100000000);
	digits = gt_digits_eight((uint32_t)(value % 100000000)) + GT_DIGITS_ZEROS;
	memcpy(out, &digits, 8);
	return out + 8;
}

void gt_digits_set_high(struct gt_digits_high *high, uint32_t value)
{
	char text[GT_DIGITS_ROOM];

	high->high = value;
	high->length = (uint32_t)(gt_digits_below_1e8(text, value) - text);
	memcpy(&high->text, text, sizeof(high->text));
}

/* A point in place of the leading 1 that keeps the zeros of @decimals, which is below 10^7. */
static char *put_decimals(char *out, uint32_t decimals)
{
	char *end = gt_digits_below_1e8(out, decimals);

	*out = '.';
	return end;
}

char *gt_digits_us_long(char *out, uint64_t ns)
{
	return put_decimals(gt_digits_long(out, ns / 1000), (uint32_t)(1000 + ns % 1000));
}

/* Where the next byte goes. */
static char *end_of(const struct gt_json *json)
{
	return json->text + json->length;
}

static void set_end(struct gt_json *json, const char *end)
{
	json->length = (size_t)(end - json->text);
}

void gt_json_u64(struct gt_json *json, uint64_t value)
{
	gt_json_put_u64(json, value);
}

void gt_json_i64(struct gt_json *json, int64_t value)
{
	if (value < 0)
		gt_json_char(json, '-');
	gt_json_u64(json, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void gt_json_real(struct gt_json *json, double value)
{
	char text[24];

	if (value - value != 0) /* NaN or infinite */
		gt_json_raw(json, "null", 4);
	else
		gt_json_raw(json, text, gt_text_real(text, value));
}

void gt_json_hex(struct gt_json *json, uint64_t value)
{
	char digits[20] = "\"0x";
	size_t length = 3 + gt_text_hex(digits + 3, value);

	gt_json_raw(json, digits, length);
	gt_json_char(json, '"');
}

void gt_json_bool(struct gt_json *json, bool value)
{
	if (value)
		gt_json_raw(json, "true", 4);
	else
		gt_json_raw(json, "false", 5);
}

void gt_json_us(struct gt_json *json, uint64_t ns)
{
	gt_json_put_us(json, ns);
}

void gt_json_micro(struct gt_json *json, uint64_t millionths)
{
	char *point, *end;

	if (!gt_json_room(json, 2 * GT_DIGITS_ROOM))
		return;
	point = gt_digits_long(end_of(json), millionths / 1000000);
	end = put_decimals(point, (uint32_t)(1000000 + millionths % 1000000));
	while (end - point > 2 && end[-1] == '0')
		end--;
	set_end(json, end);
}

/* Length of the well-formed UTF-8 character at @text, 0: malformed (RFC 3629 table). */
size_t gt_json_utf8_length(const unsigned char *text, size_t size)
{
	unsigned char first = text[0];
	unsigned char low = 0x80, high = 0xbf;
	size_t length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;

	if (length == 1)
		return 1;
	if (first < 0xc2 || first > 0xf4 || size < length)
		return 0;
	if (first == 0xe0)
		low = 0xa0;
	else if (first == 0xed)
		high = 0x9f;
	else if (first == 0xf0)
		low = 0x90;
	else if (first == 0xf4)
		high = 0x8f;
	if (text[1] < low || text[1] > high)
		return 0;
	for (size_t i = 2; i < length; i++)
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	return length;
}

/* Whether eight bytes are characters of ASCII that need no escape. */
static bool is_plain_word(const unsigned char *bytes)
{
	const uint64_t ones = 0x0101010101010101u, tops = ones * 0x80;
	uint64_t word, quote, backslash;

	memcpy(&word, bytes, sizeof(word));
	quote = word ^ (ones * '"');
	backslash = word ^ (ones * '\\');
	/* of each: the top bit of a byte below 0x20, or of a byte of 0 */
	return !((word | ((word - ones * 0x20) & ~word) | ((quote - ones) & ~quote) |
		  ((backslash - ones) & ~backslash)) &
		 tops);
}

/* How many bytes from @text on need no escape and are complete characters. */
static size_t plain_run(const char *text, size_t size)
{
	const unsigned char *bytes = (const unsigned char *)text;
	size_t i = 0, length;

	while (i < size) {
		if (size - i >= sizeof(uint64_t) && is_plain_word(bytes + i)) {
			i += sizeof(uint64_t);
			continue;
		}
		if (bytes[i] < 0x20 || bytes[i] == '"' || bytes[i] == '\\')
			break;
		length = gt_json_utf8_length(bytes + i, size - i);
		if (!length)
			break;
		i += length;
	}
	return i;
}

/* A byte that ends a run: a control character, `"`, `\` or malformed UTF-8. */
static void escape_byte(struct gt_json *json, unsigned char c)
{
	static const char hex[] = "0123456789abcdef";
	char escaped[6] = "\\u00";

	if (c >= 0x80) {
		gt_json_raw(json, "\xef\xbf\xbd", 3);
	} else if (c >= 0x20) {
		escaped[1] = (char)c;
		gt_json_raw(json, escaped, 2);
	} else {
		escaped[4] = hex[c >> 4];
		escaped[5] = hex[c & 15];
		gt_json_raw(json, escaped, 6);
	}
}

static void escape_all(struct gt_json *json, const char *text, size_t size)
{
	while (size) {
		size_t run = plain_run(text, size);

		gt_json_raw(json, text, run);
		text += run;
		size -= run;
		if (size) {
			escape_byte(json, (unsigned char)*text);
			text++;
			size--;
		}
	}
}

size_t gt_json_text_prefix(const char *text, size_t size, size_t max)
{
	size_t cut = max;

	if (size <= max)
		return size;
	/* the first byte of a cut character is at most three bytes back */
	while (cut && max - cut < 4 && ((unsigned char)text[cut] & 0xc0) == 0x80)
		cut--;
	return cut;
}

void gt_json_escape(struct gt_json *json, const char *text, size_t size)
{
	size_t kept = gt_json_text_prefix(text, size, GT_JSON_STRING_MAX);

	escape_all(json, text, kept);
	if (kept == size)
		return;
	gt_json_raw(json, "...(", 4);
	gt_json_u64(json, size);
	gt_json_raw(json, " bytes)", 7);
}

bool gt_json_is_plain(const char *text, size_t size)
{
	return size <= GT_JSON_STRING_MAX && plain_run(text, size) == size;
}

void gt_json_string(struct gt_json *json, const char *text, size_t size)
{
	gt_json_char(json, '"');
	gt_json_escape(json, text, size);
	gt_json_char(json, '"');
}

void gt_json_cstr(struct gt_json *json, const char *text)
{
	gt_json_string(json, text, strlen(text));
}

void gt_json_key_text(struct gt_json *json, const char *key)
{
	gt_json_comma(json);
	gt_json_cstr(json, key);
	gt_json_spaced(json, ": ", 2);
}

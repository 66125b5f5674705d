/* SPDX-License-Identifier: Apache-2.0
 *
 * Formatting without stdio, see the header.
 */
#include "core/guest/text.h"

#include <errno.h>
#include <stdbool.h>
#include <float.h>
#include <string.h>

#define REPLACEMENT 0xfffdu

struct out {
	char *at, *end; /* end: leaves room for the terminating zero */
};

static void put(struct out *out, const char *text, size_t length)
{
	size_t room = (size_t)(out->end - out->at);

	length = length < room ? length : room;
	memcpy(out->at, text, length);
	out->at += length;
}

size_t gt_text_decimal(char *out, uint64_t value)
{
	char digits[20];
	size_t n = 0;

	do {
		digits[n++] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	for (size_t i = 0; i < n; i++)
		out[i] = digits[n - 1 - i];
	return n;
}

size_t gt_text_hex(char *out, uint64_t value)
{
	size_t n = 1;

	while (n < 16 && value >> (4 * n))
		n++;
	for (size_t i = 0; i < n; i++)
		out[i] = "0123456789abcdef"[value >> (4 * (n - 1 - i)) & 15];
	return n;
}

size_t gt_text_utf8(char *out, uint32_t c)
{
	if (c >= 0x110000 || (c >= 0xd800 && c < 0xe000))
		c = REPLACEMENT;
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

static void put_signed(struct out *out, int64_t value)
{
	char digits[20];

	if (value < 0)
		put(out, "-", 1);
	put(out, digits,
	    gt_text_decimal(digits, value < 0 ? 0 - (uint64_t)value : (uint64_t)value));
}

static void put_unsigned(struct out *out, uint64_t value, bool hex)
{
	char digits[20];

	put(out, digits, hex ? gt_text_hex(digits, value) : gt_text_decimal(digits, value));
}

/* Formats one conversion; @spec is after the '%'. Returns the rest of the format. */
static const char *convert(struct out *out, const char *spec, va_list *args)
{
	bool is_long = *spec == 'l';
	const char *s;
	char c;

	spec += is_long;
	switch (*spec) {
	case 's':
		s = va_arg(*args, const char *);
		s = s ? s : "(null)";
		put(out, s, strlen(s));
		break;
	case 'd':
		put_signed(out, is_long ? va_arg(*args, long) : va_arg(*args, int));
		break;
	case 'u':
	case 'x':
		put_unsigned(out, is_long ? va_arg(*args, unsigned long) : va_arg(*args, unsigned),
			     *spec == 'x');
		break;
	case 'c':
		c = (char)va_arg(*args, int);
		put(out, &c, 1);
		break;
	default:
		put(out, spec, *spec != 0);
		return *spec ? spec + 1 : spec;
	}
	return spec + 1;
}

size_t gt_text_vformat(char *out, size_t size, const char *format, va_list args)
{
	struct out o = {out, out + size - 1};
	va_list copy;

	if (size == 0)
		return 0;
	va_copy(copy, args);
	while (*format) {
		size_t plain = strcspn(format, "%");

		put(&o, format, plain);
		format += plain;
		if (*format)
			format = convert(&o, format + 1, &copy);
	}
	va_end(copy);
	*o.at = 0;
	return (size_t)(o.at - out);
}

size_t gt_text_format(char *out, size_t size, const char *format, ...)
{
	va_list args;
	size_t n;

	va_start(args, format);
	n = gt_text_vformat(out, size, format, args);
	va_end(args);
	return n;
}

#define REAL_DIGITS 9

/* @value as a whole number of REAL_DIGITS digits times 10^(*ret_exponent - REAL_DIGITS + 1). */
static uint64_t scale_real(long double value, int *ret_exponent)
{
	long double low = 1e8L; /* 10^(REAL_DIGITS - 1) */
	int exponent = REAL_DIGITS - 1;
	uint64_t digits;

	for (; value >= low * 10; exponent++)
		value /= 10;
	for (; value < low; exponent--)
		value *= 10;
	digits = (uint64_t)(value + 0.5L);
	if (digits >= 1000000000u) {
		digits /= 10;
		exponent++;
	}
	*ret_exponent = exponent;
	return digits;
}

/* Digits with a point after the first @whole of them (0 or less: leading zeros). */
static size_t put_digits(char *out, const char *digits, int count, int whole)
{
	size_t n = 0;

	if (whole <= 0) {
		out[n++] = '0';
		out[n++] = '.';
		for (int i = whole; i < 0; i++)
			out[n++] = '0';
	}
	for (int i = 0; i < count || i < whole; i++) {
		if (i == whole && whole > 0)
			out[n++] = '.';
		out[n++] = i < count ? digits[i] : '0';
	}
	return n;
}

static size_t put_exponent(char *out, int exponent)
{
	out[0] = 'e';
	out[1] = exponent < 0 ? '-' : '+';
	return 2 + gt_text_decimal(out + 2, (uint64_t)(exponent < 0 ? -exponent : exponent));
}

size_t gt_text_real(char *out, double value)
{
	char digits[20];
	size_t n = 0;
	int count, exponent;

	if (value != value)
		return (size_t)((char *)mempcpy(out, "nan", 3) - out);
	if (value < 0) {
		out[n++] = '-';
		value = -value;
	}
	if (value > DBL_MAX)
		return (size_t)((char *)mempcpy(out + n, "inf", 3) - out);
	if (value == 0) {
		out[n++] = '0';
		return n;
	}
	count = (int)gt_text_decimal(digits, scale_real(value, &exponent));
	while (count > 1 && digits[count - 1] == '0')
		count--;
	if (exponent >= -5 && exponent < 15)
		return n + put_digits(out + n, digits, count, exponent + 1);
	n += put_digits(out + n, digits, count, 1);
	return n + put_exponent(out + n, exponent);
}

int gt_text_parse_u64(const char *text, const char **ret_end, uint64_t *ret_value)
{
	const char *p = text;
	uint64_t value = 0;

	for (; *p >= '0' && *p <= '9'; p++) {
		uint64_t digit = (uint64_t)(*p - '0');

		if (value > (UINT64_MAX - digit) / 10)
			return -ERANGE;
		value = value * 10 + digit;
	}
	if (p == text)
		return -EINVAL;
	*ret_end = p;
	*ret_value = value;
	return 0;
}

/* Of U+2028..U+202E, U+200E, U+200F (all E2 80 xx), U+2066..U+2069 (E2 81 xx). */
static bool is_direction(const unsigned char *p)
{
	unsigned char last = p[1] ? p[2] : 0;

	if (p[1] == 0x80)
		return last == 0x8e || last == 0x8f || (last >= 0xa8 && last <= 0xae);
	return p[1] == 0x81 && last >= 0xa6 && last <= 0xa9;
}

size_t gt_text_control(const char *text)
{
	const unsigned char *p = (const unsigned char *)text;

	if (p[0] < ' ' || p[0] == 0x7f)
		return p[0] != 0;
	if (p[0] == 0xc2)
		return p[1] >> 5 == 4 ? 2 : 0;
	if (p[0] == 0xd8)
		return p[1] == 0x9c ? 2 : 0; /* U+061C */
	return p[0] == 0xe2 && is_direction(p) ? 3 : 0;
}

int gt_text_parse_size(const char *text, const char **ret_end, uint64_t *ret_value)
{
	static const char units[] = "KMGT";
	const char *unit;
	int error = gt_text_parse_u64(text, ret_end, ret_value);

	if (error)
		return error;
	unit = **ret_end & ~0x20 ? strchr(units, **ret_end & ~0x20) : NULL;
	if (!unit)
		return 0;
	if (*ret_value >> (63 - 10 * (unit - units + 1)))
		return -ERANGE;
	*ret_value <<= 10 * (unit - units + 1);
	*ret_end += 1;
	if (!strcmp(*ret_end, "B") || !strcmp(*ret_end, "iB"))
		*ret_end += strlen(*ret_end);
	return 0;
}

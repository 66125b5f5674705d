/* SPDX-License-Identifier: Apache-2.0
 *
 * See scan.h: the values of numbers, which may be written as strings. Any thread; no allocation.
 */

#include <float.h>

#include "readers/chrome/digits.h"
#include "readers/chrome/scan.h"

#define EXPONENT_MAX 1000000000 /* a number has fewer digits than that: what is larger stays so */

/* A decimal number taken apart: value = digits * 10^exponent. */
struct decimal {
	uint64_t digits;
	int exponent;
	bool negative;
};

static void decimal_digit(struct decimal *number, char c, bool fraction)
{
	if (number->digits > (UINT64_MAX - 9) / 10) {
		/* the digits that follow are too small to matter: only their number does */
		number->exponent += !fraction;
		return;
	}
	number->digits = number->digits * 10 + (uint64_t)(c - '0');
	number->exponent -= fraction;
}

static bool decimal_parse(const struct gt_span *span, struct decimal *number)
{
	const char *p = span->text, *end = p + span->len;
	bool fraction = false;

	*number = (struct decimal){.negative = p < end && *p == '-'};
	p += number->negative;
	if (p == end || *p < '0' || *p > '9')
		return false;
	for (; p < end && ((*p >= '0' && *p <= '9') || (*p == '.' && !fraction)); p++) {
		if (*p == '.')
			fraction = true;
		else
			decimal_digit(number, *p, fraction);
	}
	if (p < end && (*p == 'e' || *p == 'E')) {
		bool minus = ++p < end && *p == '-';
		int exponent = 0;

		p += p < end && (*p == '-' || *p == '+');
		for (; p < end && *p >= '0' && *p <= '9'; p++)
			if (exponent < EXPONENT_MAX / 10)
				exponent = exponent * 10 + (*p - '0');
		number->exponent += minus ? -exponent : exponent;
	}
	return p == end;
}

/* digits * 10^exponent as an integer, rounded half away from zero. */
static bool decimal_round(struct decimal *number, int64_t *ret_value)
{
	unsigned int last = 0;

	for (; number->exponent > 0 && number->digits; number->exponent--) {
		if (number->digits > UINT64_MAX / 10)
			return false;
		number->digits *= 10;
	}
	for (; number->exponent < 0 && (number->digits || last); number->exponent++) {
		last = number->digits % 10;
		number->digits /= 10;
	}
	number->digits += last >= 5;
	if (number->digits > INT64_MAX)
		return false;
	*ret_value = number->negative ? -(int64_t)number->digits : (int64_t)number->digits;
	return true;
}

/* Parses the most common form: up to 15 digits, a point, up to three digits. */
static bool plain_ns(const struct gt_span *span, int64_t *ret_ns)
{
	static const uint64_t unit[] = {1000, 100, 10, 1};
	const char *end = span->text + span->len;
	uint32_t fraction = 3, whole;
	uint64_t us, rest = 0;

	while (fraction && (span->len < fraction + 2 || end[-1 - (int)fraction] != '.'))
		fraction--;
	whole = span->len - fraction - (fraction > 0);
	if (whole > 15 || !gt_digits_read(span->text, whole, &us) ||
	    (fraction && !gt_digits_read(end - fraction, fraction, &rest)))
		return false;
	*ret_ns = (int64_t)(us * 1000 + rest * unit[fraction]);
	return true;
}

bool gt_span_ns(const struct gt_span *span, int64_t *ret_ns)
{
	struct decimal number;

	if (span->kind != GT_SPAN_NUMBER && span->kind != GT_SPAN_STRING)
		return false;
	if (plain_ns(span, ret_ns))
		return true;
	if (!decimal_parse(span, &number))
		return false;
	number.exponent += 3;
	return decimal_round(&number, ret_ns);
}

bool gt_span_int(const struct gt_span *span, int64_t *ret_value)
{
	struct decimal number;
	uint64_t value;

	if (span->kind != GT_SPAN_NUMBER && span->kind != GT_SPAN_STRING)
		return false;
	if (gt_digits_read(span->text, span->len, &value)) {
		*ret_value = (int64_t)value;
		return true;
	}
	return decimal_parse(span, &number) && decimal_round(&number, ret_value);
}

bool gt_span_uint(const struct gt_span *span, uint64_t *ret_value)
{
	uint64_t value = 0;
	int64_t whole;
	uint32_t i;

	if (gt_span_int(span, &whole)) {
		*ret_value = (uint64_t)whole;
		return whole >= 0;
	}
	if (span->kind != GT_SPAN_NUMBER && span->kind != GT_SPAN_STRING)
		return false;
	for (i = 0; i < span->len && span->text[i] >= '0' && span->text[i] <= '9'; i++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(span->text[i] - '0'), &value))
			return false;
	*ret_value = value;
	return span->len && i == span->len;
}

/* Of 64 bits of digits this many powers of ten leave nothing, or make more than a double holds. */
#define FARTHEST 400

/* What is too small for a double is 0; what is too large is no number. */
bool gt_span_double(const struct gt_span *span, double *ret_value)
{
	struct decimal number;
	long double value;

	if (span->kind != GT_SPAN_NUMBER || !decimal_parse(span, &number))
		return false;
	value = (long double)number.digits;
	if (number.exponent < -FARTHEST)
		number.exponent = -FARTHEST;
	if (number.exponent > FARTHEST)
		number.exponent = FARTHEST;
	for (; number.exponent < 0; number.exponent++)
		value /= 10;
	for (; number.exponent > 0; number.exponent--)
		value *= 10;
	if (value > DBL_MAX)
		return false;
	*ret_value = number.negative ? -(double)value : (double)value;
	return true;
}

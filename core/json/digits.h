/* SPDX-License-Identifier: Apache-2.0
 *
 * Decimal digits, eight at a time, at a place that has room: GT_DIGITS_ROOM bytes may be written
 * behind @out, whose new end is returned. Integer arithmetic only. Pure, any thread.
 */
#ifndef GT_CORE_JSON_DIGITS_H
#define GT_CORE_JSON_DIGITS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define GT_DIGITS_ROOM  32u
#define GT_DIGITS_ZEROS UINT64_C(0x3030303030303030)

/* What times have in common with the last one: what it was divided by 10^8. Initially zeroed. */
struct gt_digits_high {
	uint32_t high;   /* 0: none yet */
	uint32_t length; /* of its digits */
	uint64_t text;
};

/* The eight digits of a number below 10^8, the first one in the lowest byte: halves, pairs and
 * digits are divided at once. */
static inline __attribute__((always_inline)) uint64_t gt_digits_eight(uint32_t value)
{
	uint64_t x = value / 10000 | (uint64_t)(value % 10000) << 32, q;

	q = (x * 10486) >> 20 & 0x7f0000007f;
	x = q | (x - q * 100) << 16;
	q = (x * 103) >> 10 & 0xf000f000f000f;
	return q | (x - q * 10) << 8;
}

/* Without leading zeros. */
static inline __attribute__((always_inline)) char *gt_digits_below_1e8(char *out, uint32_t value)
{
	uint64_t digits = gt_digits_eight(value);
	unsigned int zeros = value ? (unsigned int)__builtin_ctzll(digits) / 8 : 7;

	digits = (digits + GT_DIGITS_ZEROS) >> zeros * 8;
	memcpy(out, &digits, 8);
	return out + 8 - zeros;
}

/* Any number. */
char *gt_digits_long(char *out, uint64_t value);

/* The same, where most are small. */
static inline __attribute__((always_inline)) char *gt_digits_u64(char *out, uint64_t value)
{
	return __builtin_expect(value < 100000000, 1) ? gt_digits_below_1e8(out, (uint32_t)value)
						      : gt_digits_long(out, value);
}

/* Times from 10^8 ns on: the slow parts of gt_digits_us. */
void gt_digits_set_high(struct gt_digits_high *high, uint32_t value);
char *gt_digits_us_long(char *out, uint64_t ns);

/* Microseconds, always 3 decimals. */
static inline __attribute__((always_inline)) char *gt_digits_us(struct gt_digits_high *high,
								char *out, uint64_t ns)
{
	uint64_t digits, part;
	unsigned int zeros;

	if (ns < 100000000) {
		digits = gt_digits_eight((uint32_t)ns);
		zeros = (unsigned int)__builtin_ctzll(digits | (uint64_t)1 << 32) / 8;
		digits += GT_DIGITS_ZEROS;
		part = digits >> zeros * 8;
		memcpy(out, &part, 8);
		out += 5 - zeros;
	} else if (__builtin_expect(ns < 10000000000000000, 1)) {
		uint32_t upper = (uint32_t)(ns / 100000000);

		if (__builtin_expect(upper != high->high, 0))
			gt_digits_set_high(high, upper);
		memcpy(out, &high->text, 8);
		out += high->length;
		digits = gt_digits_eight((uint32_t)(ns - upper * UINT64_C(100000000))) +
			 GT_DIGITS_ZEROS;
		memcpy(out, &digits, 8);
		out += 5;
	} else {
		return gt_digits_us_long(out, ns);
	}
	*out = '.';
	part = digits >> 40;
	memcpy(out + 1, &part, 4);
	return out + 4;
}

#endif

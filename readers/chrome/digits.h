/* SPDX-License-Identifier: Apache-2.0
 *
 * Decimal digits, eight at a time in one word: the first character is the lowest byte. The
 * arithmetic is known as SWAR (SIMD within a register). Pure functions, any thread.
 */
#ifndef GT_READERS_CHROME_DIGITS_H
#define GT_READERS_CHROME_DIGITS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Digits that gt_digits_read takes at most. */
#define GT_DIGITS_MOST 16

/* The eight bytes at @p. */
static inline uint64_t gt_digits_load(const char *p)
{
	uint64_t word;

	memcpy(&word, p, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	word = __builtin_bswap64(word);
#endif
	return word;
}

/* The four bytes at @p. */
static inline uint64_t gt_digits_load_half(const char *p)
{
	uint32_t half;

	memcpy(&half, p, 4);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	half = __builtin_bswap32(half);
#endif
	return half;
}

/* The 4 <= @n <= 8 bytes at @p, zeros behind them; reads no more than those. */
static inline uint64_t gt_digits_load_some(const char *p, uint32_t n)
{
	/* two halves, which may overlap */
	return gt_digits_load_half(p) | gt_digits_load_half(p + n - 4) << (n - 4) * 8;
}

/* How many bytes of @word, from the first on, are digits. */
static inline unsigned int gt_digits_count(uint64_t word)
{
	uint64_t value = word ^ 0x3030303030303030u; /* a digit becomes its value */
	uint64_t others = (((value & 0x7f7f7f7f7f7f7f7fu) + 0x7676767676767676u) | value) &
			  0x8080808080808080u;

	return others ? (unsigned int)__builtin_ctzll(others) >> 3 : 8;
}

/* The number that the first 1 <= @n <= 8 bytes of @word are. */
static inline uint64_t gt_digits_value(uint64_t word, unsigned int n)
{
	/* zeros take the places of missing digits, which are the leading ones */
	uint64_t value = (word ^ 0x3030303030303030u) << (64 - 8 * n);

	value = value * 10 + (value >> 8); /* pairs, in every other byte */
	return ((value & 0x000000ff000000ffu) * 0x000f424000000064u +
		(value >> 16 & 0x000000ff000000ffu) * 0x0000271000000001u) >>
	       32;
}

/* The same as gt_digits_read, for @n < 4. */
static inline bool gt_digits_read_few(const char *p, uint32_t n, uint64_t *ret_value)
{
	uint64_t value = 0;

	for (uint32_t i = 0; i < n; i++) {
		unsigned int digit = (unsigned char)p[i] - '0';

		if (digit > 9)
			return false;
		value = value * 10 + digit;
	}
	*ret_value = value;
	return n > 0;
}

/* Whether @p has @n digits and nothing else, and the number that they are. */
static inline bool gt_digits_read(const char *p, uint32_t n, uint64_t *ret_value)
{
	uint64_t word, high = 0;

	if (n > GT_DIGITS_MOST)
		return false;
	if (n > 8) {
		word = gt_digits_load(p + n - 8);
		if (gt_digits_count(word) < 8 || !gt_digits_read(p, n - 8, &high))
			return false;
		*ret_value = high * 100000000 + gt_digits_value(word, 8);
		return true;
	}
	if (n < 4)
		return gt_digits_read_few(p, n, ret_value);
	word = gt_digits_load_some(p, n);
	*ret_value = gt_digits_value(word, n);
	return gt_digits_count(word) >= n;
}

#endif

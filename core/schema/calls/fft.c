/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. Whole numbers throughout: what is preloaded links no libm.
 */
#include "core/schema/calls/fft.h"

#define FRACTION 52 /* bits of a logarithm behind its point */
#define ONE      ((uint64_t)1 << 63)

/* By squares: each one tells one more bit. @n is at least 1. */
static uint64_t log2_of(uint64_t n)
{
	unsigned int whole = 63 - (unsigned int)__builtin_clzll(n);
	uint64_t x = n << (63 - whole), log = (uint64_t)whole << FRACTION;

	for (int bit = FRACTION - 1; bit >= 0; bit--) {
		unsigned __int128 square = (unsigned __int128)x * x >> 63;
		bool above = square >= (unsigned __int128)ONE << 1;

		x = (uint64_t)(square >> above);
		log |= (uint64_t)above << bit;
	}
	return log;
}

bool gt_fft_flops(uint64_t points, uint64_t batch, bool is_real, uint64_t *ret_flops)
{
	unsigned int half = is_real ? FRACTION + 1 : FRACTION;
	unsigned __int128 all;
	uint64_t count;

	*ret_flops = 0;
	if (!points || !batch)
		return true;
	if (__builtin_mul_overflow(points, batch, &count) || count > INT64_MAX)
		return false;
	if (__builtin_mul_overflow((unsigned __int128)count * log2_of(points), 5u, &all))
		return false;
	all = (all + ((unsigned __int128)1 << (half - 1))) >> half;
	*ret_flops = all > INT64_MAX ? 0 : (uint64_t)all;
	return all <= INT64_MAX;
}

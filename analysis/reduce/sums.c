/* SPDX-License-Identifier: Apache-2.0
 *
 * See sums.h.
 */
#include "analysis/reduce/sums.h"

#include <math.h>

#define LIMBS 4 /* of 64 bits: a sum of squares times their number */

static uint64_t size_of(int64_t value)
{
	return value < 0 ? -(uint64_t)value : (uint64_t)value;
}

/* What is too large wraps, as no time does. */
static int64_t add(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static void add_squares(uint64_t to[3], const uint64_t from[3])
{
	unsigned __int128 sum = 0;

	for (int i = 0; i < 3; i++) {
		sum += (unsigned __int128)to[i] + from[i];
		to[i] = (uint64_t)sum;
		sum >>= 64;
	}
}

void gt_sums_add(struct gt_sums *sums, int64_t value)
{
	unsigned __int128 square = (unsigned __int128)size_of(value) * size_of(value);
	const uint64_t limbs[3] = {(uint64_t)square, (uint64_t)(square >> 64), 0};

	sums->min = !sums->count || value < sums->min ? value : sums->min;
	sums->max = !sums->count || value > sums->max ? value : sums->max;
	sums->count++;
	sums->total = add(sums->total, value);
	add_squares(sums->squares, limbs);
}

struct gt_sums gt_sums_of_small(const uint32_t *values, size_t count)
{
	uint32_t min = UINT32_MAX, max = 0;
	unsigned __int128 squares = 0;
	uint64_t total = 0;

	for (size_t i = 0; i < count; i++) {
		min = values[i] < min ? values[i] : min;
		max = values[i] > max ? values[i] : max;
		total += values[i];
		squares += (uint64_t)values[i] * values[i];
	}
	return (struct gt_sums){.count = count,
				.total = (int64_t)total,
				.min = count ? min : 0,
				.max = max,
				.squares = {(uint64_t)squares, (uint64_t)(squares >> 64)}};
}

void gt_sums_merge(struct gt_sums *sums, const struct gt_sums *from)
{
	if (!from->count)
		return;
	sums->min = !sums->count || from->min < sums->min ? from->min : sums->min;
	sums->max = !sums->count || from->max > sums->max ? from->max : sums->max;
	sums->count += from->count;
	sums->total = add(sums->total, from->total);
	add_squares(sums->squares, from->squares);
}

/* n times the sum of squares minus the square of the sum: all before the only rounding. False: less
 * than 0, as no true sums are. */
static bool subtract(const struct gt_sums *sums, uint64_t ret[LIMBS])
{
	unsigned __int128 total = size_of(sums->total), square = total * total, carry = 0;
	const uint64_t minus[LIMBS] = {(uint64_t)square, (uint64_t)(square >> 64)};
	uint64_t borrow = 0;

	for (int i = 0; i < 3; i++) {
		carry += (unsigned __int128)sums->squares[i] * sums->count;
		ret[i] = (uint64_t)carry;
		carry >>= 64;
	}
	ret[3] = (uint64_t)carry;
	for (int i = 0; i < LIMBS; i++) {
		unsigned __int128 left = (unsigned __int128)ret[i] - minus[i] - borrow;

		ret[i] = (uint64_t)left;
		borrow = (uint64_t)(left >> 64) & 1;
	}
	return !borrow;
}

double gt_sums_stddev(const struct gt_sums *sums)
{
	double count = (double)sums->count, spread = 0;
	uint64_t limbs[LIMBS];

	if (sums->count < 2 || !subtract(sums, limbs))
		return 0;
	for (int i = LIMBS; i-- > 0;)
		spread = spread * 0x1p64 + (double)limbs[i];
	return sqrt(spread / (count * (count - 1)));
}

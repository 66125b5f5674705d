/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. The formulas have thirds and sixths: six times of each is a sum of whole products
 * of up to three sizes, which fits into 256 bits.
 */
#include "core/schema/calls/solve.h"

#include <stddef.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define LIMBS        4
#define IN_SIXTH     6u
#define MOST         7 /* products of a sum */

enum { NOTHING, M, N, K, SIZES };

/* So many times these sizes; a factor of 0 is behind the last. */
struct product {
	int factor;
	uint8_t sizes[3];
};

/* Six times as many. */
struct solve_formula {
	struct product multiplications[MOST], additions[MOST];
};

/* m and n are the larger and the smaller one. */
static const struct solve_formula getrf = {
	{{3, {M, N, N}}, {-1, {N, N, N}}, {-3, {N, N}}, {3, {M, N}}, {4, {N}}},
	{{3, {M, N, N}}, {-1, {N, N, N}}, {-3, {M, N}}, {1, {N}}}};
static const struct solve_formula getrf_wide = {
	{{3, {M, N, N}}, {-1, {N, N, N}}, {3, {N, N}}, {-3, {M, N}}, {4, {N}}},
	{{3, {M, N, N}}, {-1, {N, N, N}}, {-3, {M, N}}, {1, {N}}}};
static const struct solve_formula getrs = {{{6, {K, N, N}}}, {{6, {K, N, N}}, {-6, {K, N}}}};
static const struct solve_formula potrf = {{{1, {N, N, N}}, {3, {N, N}}, {2, {N}}},
					   {{1, {N, N, N}}, {-1, {N}}}};
static const struct solve_formula potrs = {{{6, {K, N, N}}, {6, {K, N}}},
					   {{6, {K, N, N}}, {-6, {K, N}}}};
static const struct solve_formula potri = {{{2, {N, N, N}}, {6, {N, N}}, {4, {N}}},
					   {{2, {N, N, N}}, {-3, {N, N}}, {1, {N}}}};
static const struct solve_formula geqrf = {
	{{6, {M, N, N}}, {-2, {N, N, N}}, {3, {N, N}}, {6, {M, N}}, {23, {N}}},
	{{6, {M, N, N}}, {-2, {N, N, N}}, {3, {N, N}}, {5, {N}}}};
static const struct solve_formula geqrf_wide = {
	{{6, {M, N, N}}, {-2, {N, N, N}}, {-3, {N, N}}, {12, {M, N}}, {23, {N}}},
	{{6, {M, N, N}}, {-2, {N, N, N}}, {-3, {N, N}}, {6, {M, N}}, {5, {N}}}};
static const struct solve_formula orgqr = {{{12, {M, N, K}},
					    {12, {N, K}},
					    {-10, {K}},
					    {4, {K, K, K}},
					    {-6, {M, K, K}},
					    {-6, {N, K, K}},
					    {-6, {K, K}}},
					   {{12, {M, N, K}},
					    {6, {N, K}},
					    {-6, {M, K}},
					    {2, {K}},
					    {4, {K, K, K}},
					    {-6, {M, K, K}},
					    {-6, {N, K, K}}}};
static const struct solve_formula ormqr_left = {{{12, {M, N, K}}, {-6, {N, K, K}}, {12, {N, K}}},
						{{12, {M, N, K}}, {-6, {N, K, K}}, {6, {N, K}}}};
static const struct solve_formula ormqr_right = {
	{{12, {M, N, K}}, {-6, {M, K, K}}, {6, {M, K}}, {6, {N, K}}, {-3, {K, K}}, {3, {K}}},
	{{12, {M, N, K}}, {-6, {M, K, K}}, {6, {M, K}}}};

/* Of more rows than columns, or from the left; and the others. */
static const struct {
	const struct solve_formula *first, *second;
	bool by_side, is_sorted;
} formulas[] = {
	[GT_SOLVE_GETRF] = {&getrf, &getrf_wide, false, true},
	[GT_SOLVE_GETRS] = {&getrs, &getrs, false, false},
	[GT_SOLVE_POTRF] = {&potrf, &potrf, false, false},
	[GT_SOLVE_POTRS] = {&potrs, &potrs, false, false},
	[GT_SOLVE_POTRI] = {&potri, &potri, false, false},
	[GT_SOLVE_GEQRF] = {&geqrf, &geqrf_wide, false, true},
	[GT_SOLVE_ORGQR] = {&orgqr, &orgqr, false, false},
	[GT_SOLVE_ORMQR] = {&ormqr_left, &ormqr_right, true, false},
};

/* ---- numbers of 256 bits, the lowest limb first ---- */

struct wide {
	uint64_t limb[LIMBS];
};

static struct wide times(struct wide a, uint64_t factor)
{
	unsigned __int128 carry = 0;

	for (int i = 0; i < LIMBS; i++) {
		carry += (unsigned __int128)a.limb[i] * factor;
		a.limb[i] = (uint64_t)carry;
		carry >>= 64;
	}
	return a;
}

static struct wide plus(struct wide a, struct wide b)
{
	unsigned __int128 carry = 0;

	for (int i = 0; i < LIMBS; i++) {
		carry += (unsigned __int128)a.limb[i] + b.limb[i];
		a.limb[i] = (uint64_t)carry;
		carry >>= 64;
	}
	return a;
}

static bool is_less(struct wide a, struct wide b)
{
	for (int i = LIMBS - 1; i >= 0; i--)
		if (a.limb[i] != b.limb[i])
			return a.limb[i] < b.limb[i];
	return false;
}

/* @b is not larger. */
static struct wide minus(struct wide a, struct wide b)
{
	uint64_t borrow = 0;

	for (int i = 0; i < LIMBS; i++) {
		uint64_t left = a.limb[i] - b.limb[i];
		bool below = a.limb[i] < b.limb[i] || left < borrow;

		a.limb[i] = left - borrow;
		borrow = below;
	}
	return a;
}

/* ---- sums ---- */

enum { FITS, BELOW_0, TOO_LARGE };

static int sum_of(const struct product products[MOST], const uint64_t sizes[SIZES],
		  uint64_t *ret_sum)
{
	struct wide more = {{0}}, less = {{0}};
	unsigned __int128 sixfold;

	for (int i = 0; i < MOST && products[i].factor; i++) {
		int factor = products[i].factor;
		struct wide one = {{(uint64_t)(factor < 0 ? -factor : factor)}};

		for (int j = 0; j < 3; j++)
			one = times(one, sizes[products[i].sizes[j]]);
		if (factor < 0)
			less = plus(less, one);
		else
			more = plus(more, one);
	}
	if (is_less(more, less))
		return BELOW_0;
	more = minus(more, less);
	sixfold = (unsigned __int128)more.limb[1] << 64 | more.limb[0];
	if (more.limb[2] || more.limb[3] || sixfold / IN_SIXTH > INT64_MAX)
		return TOO_LARGE;
	*ret_sum = (uint64_t)(sixfold / IN_SIXTH);
	return FITS;
}

bool gt_solve_count(enum gt_solve what, uint64_t m, uint64_t n, uint64_t k, bool is_left,
		    uint64_t *ret_multiplications, uint64_t *ret_additions)
{
	uint64_t sizes[SIZES] = {[NOTHING] = 1, [M] = m, [N] = n, [K] = k};
	uint64_t multiplications = 0, additions = 0;
	const struct solve_formula *formula;
	int of_both[2];
	bool first;

	*ret_multiplications = *ret_additions = 0;
	if ((size_t)what >= COUNT(formulas))
		return true;
	first = formulas[what].by_side ? is_left : m >= n;
	formula = first ? formulas[what].first : formulas[what].second;
	if (formulas[what].is_sorted && !first) {
		sizes[M] = n;
		sizes[N] = m;
	}
	of_both[0] = sum_of(formula->multiplications, sizes, &multiplications);
	of_both[1] = sum_of(formula->additions, sizes, &additions);
	if (of_both[0] == BELOW_0 || of_both[1] == BELOW_0)
		return true;
	if (of_both[0] == TOO_LARGE || of_both[1] == TOO_LARGE)
		return false;
	*ret_multiplications = multiplications;
	*ret_additions = additions;
	return true;
}

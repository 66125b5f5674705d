/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. The formulas have thirds and sixths: six times of each is a whole number.
 */
#include "core/schema/calls/solve.h"

#include <stddef.h>

#define LARGEST  (UINT64_C(1) << 38) /* the cube of it, and twelve times that, fit into 127 bits */
#define IN_SIXTH 6

typedef __int128 whole;

/* Six times as many. */
struct sixfold {
	whole multiplications, additions;
};

static struct sixfold of_getrf(whole m, whole n, whole k, bool is_left)
{
	whole s = m < n ? m : n, l = m < n ? n : m, cubes = 3 * s * s * l - s * s * s;
	whole squares = m < n ? 3 * s * s - 3 * s * l : 3 * s * l - 3 * s * s;

	(void)k;
	(void)is_left;
	return (struct sixfold){cubes + squares + 4 * s, cubes - 3 * s * l + s};
}

static struct sixfold of_getrs(whole m, whole n, whole k, bool is_left)
{
	(void)m;
	(void)is_left;
	return (struct sixfold){6 * k * n * n, 6 * k * n * (n - 1)};
}

static struct sixfold of_potrf(whole m, whole n, whole k, bool is_left)
{
	(void)m;
	(void)k;
	(void)is_left;
	return (struct sixfold){n * (n * n + 3 * n + 2), n * (n * n - 1)};
}

static struct sixfold of_potrs(whole m, whole n, whole k, bool is_left)
{
	(void)m;
	(void)is_left;
	return (struct sixfold){6 * k * n * (n + 1), 6 * k * n * (n - 1)};
}

static struct sixfold of_potri(whole m, whole n, whole k, bool is_left)
{
	(void)m;
	(void)k;
	(void)is_left;
	return (struct sixfold){n * (2 * n * n + 6 * n + 4), n * (2 * n * n - 3 * n + 1)};
}

static struct sixfold of_geqrf(whole m, whole n, whole k, bool is_left)
{
	(void)k;
	(void)is_left;
	if (m > n)
		return (struct sixfold){n * (n * (3 - 2 * n + 6 * m) + 6 * m + 23),
					n * (n * (3 - 2 * n + 6 * m) + 5)};
	return (struct sixfold){m * (m * (-3 - 2 * m + 6 * n) + 12 * n + 23),
				m * (m * (-3 - 2 * m + 6 * n) + 6 * n + 5)};
}

static struct sixfold of_orgqr(whole m, whole n, whole k, bool is_left)
{
	(void)is_left;
	return (struct sixfold){k * (12 * m * n + 12 * n - 10 + k * (4 * k - 6 * (m + n) - 6)),
				k * (12 * m * n + 6 * n - 6 * m + 2 + k * (4 * k - 6 * (m + n)))};
}

static struct sixfold of_ormqr(whole m, whole n, whole k, bool is_left)
{
	if (is_left)
		return (struct sixfold){6 * n * k * (2 * m - k + 2), 6 * n * k * (2 * m - k + 1)};
	return (struct sixfold){k * (6 * m * (2 * n - k + 1) + 6 * n - 3 * k + 3),
				6 * m * k * (2 * n - k + 1)};
}

static struct sixfold (*const formulas[])(whole m, whole n, whole k, bool is_left) = {
	[GT_SOLVE_GETRF] = of_getrf, [GT_SOLVE_GETRS] = of_getrs, [GT_SOLVE_POTRF] = of_potrf,
	[GT_SOLVE_POTRS] = of_potrs, [GT_SOLVE_POTRI] = of_potri, [GT_SOLVE_GEQRF] = of_geqrf,
	[GT_SOLVE_ORGQR] = of_orgqr, [GT_SOLVE_ORMQR] = of_ormqr,
};

bool gt_solve_count(enum gt_solve what, uint64_t m, uint64_t n, uint64_t k, bool is_left,
		    uint64_t *ret_multiplications, uint64_t *ret_additions)
{
	struct sixfold all;

	*ret_multiplications = *ret_additions = 0;
	if ((size_t)what >= sizeof(formulas) / sizeof(formulas[0]))
		return true;
	if (m > LARGEST || n > LARGEST || k > LARGEST)
		return false;
	all = formulas[what]((whole)m, (whole)n, (whole)k, is_left);
	if (all.multiplications < 0 || all.additions < 0)
		return true;
	if (all.multiplications / IN_SIXTH > INT64_MAX || all.additions / IN_SIXTH > INT64_MAX)
		return false;
	*ret_multiplications = (uint64_t)(all.multiplications / IN_SIXTH);
	*ret_additions = (uint64_t)(all.additions / IN_SIXTH);
	return true;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Whole traces of different lengths: windows of ten seconds hold more work of a faster program. All
 * that is more of everything is length; what is more than that of one row is more work. Pure over
 * constant models.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/diff/collect.h"
#include "analysis/diff/judge.h"
#include "analysis/diff/settle.h"

#define MIXED 0.01 /* of the GPU time */

double gt_diff_ops_of_rank(const struct gt_diff_sides *sides, const struct gt_diff_rows *rows,
			   uint32_t row, int s, double *ret_ns)
{
	const struct gt_dist *triples = &rows->groups.list.at[row].other[s];
	double ops = 0, ranks = 0;

	*ret_ns = 0;
	for (size_t i = 0; i < triples->count; i += GT_DIFF_TRIPLE) {
		*ret_ns += (double)triples->at[i + 1];
		ops += (double)triples->at[i + 2];
	}
	for (size_t i = 0; i < sides->side[s].ranks.count; i++)
		ranks += sides->side[s].ranks.at[i].units > 0;
	if (rows->of_one_rank)
		ranks = (double)sides->side[s].runs;
	*ret_ns /= fmax(ranks, 1);
	return ops / fmax(ranks, 1);
}

bool gt_diff_follows(const struct gt_diff_sides *sides, double a, double b)
{
	return fabs(b - a * sides->longer) <= 1 ||
	       fabs(log(b / a / sides->longer)) < GT_DIFF_LENGTHS;
}

/* Of the GPU time of kernels of both sides. */
static double part_of_others(const struct gt_diff_sides *sides, const struct gt_diff_rows *kernels)
{
	double others = 0, all = 0;

	for (uint32_t i = 0; i < kernels->groups.list.count; i++) {
		double ns[2], a = gt_diff_ops_of_rank(sides, kernels, i, 0, &ns[0]);
		double b = gt_diff_ops_of_rank(sides, kernels, i, 1, &ns[1]);

		if (!(a > 0) || !(b > 0))
			continue;
		all += ns[0] + ns[1];
		if (!gt_diff_follows(sides, a, b))
			others += ns[0] + ns[1];
	}
	return all > 0 ? others / all : 0;
}

int gt_diff_find_longer(struct gt_diff_sides *sides, const struct gt_diff_rows *kernels)
{
	size_t count = kernels->groups.list.count, n = 0;
	double *ratios = calloc(count + 1, sizeof(*ratios));
	int rc = ratios ? 0 : -ENOMEM;

	sides->longer = 1;
	for (uint32_t i = 0; !rc && !sides->stepped && i < count; i++) {
		double ns, a = gt_diff_ops_of_rank(sides, kernels, i, 0, &ns);
		double b = gt_diff_ops_of_rank(sides, kernels, i, 1, &ns);

		if (a > 0 && b > 0)
			ratios[n++] = log(b / a);
	}
	if (n)
		sides->longer = exp(gt_median(ratios, n));
	sides->is_mixed = part_of_others(sides, kernels) > MIXED;
	free(ratios);
	return rc;
}

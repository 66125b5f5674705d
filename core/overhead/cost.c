/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "core/overhead/cost.h"

static uint32_t share(uint64_t part, double whole)
{
	double share = whole > 0 ? (double)part * 10000 / whole : 0;

	return share < UINT32_MAX ? (uint32_t)share : UINT32_MAX;
}

/* A thread that only launches takes as much longer as was added to it. */
static double without_added(const struct gt_cost_sums *sums)
{
	double slower = sums->threads ? (double)sums->added / (double)sums->threads : 0;

	return (double)sums->elapsed * (slower < 1 ? 1 - slower : 0);
}

struct gt_cost_shares gt_cost_shares_of(const struct gt_cost_sums *sums)
{
	uint64_t tracer = sums->added + sums->own;
	double program = sums->process > tracer ? (double)(sums->process - tracer) : 0;
	double passed = without_added(sums);

	return (struct gt_cost_shares){
		.overhead = share(tracer, program > passed ? program : passed),
		.threads = share(sums->added, (double)sums->threads),
		.writing = share(sums->own, (double)sums->elapsed),
	};
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * NVTX as a collector: what it counts. Its records lie in the rings of threads and are the ranges'
 * (pipeline/ranges/), which are its context.
 */
#include "collectors/nvtx/nvtx.h"

#include "collectors/nvtx/early.h"
#include "pipeline/ranges/ranges.h"
#include "pipeline/sources/collector.h"

static uint64_t lost_ranges(const void *part)
{
	return gt_nvtx_count().lost + gt_ranges_lost(part);
}

static uint64_t unshadowed_ranges(const void *part)
{
	return gt_ranges_unshadowed(part);
}

static uint64_t early_ranges(const void *part)
{
	(void)part;
	return gt_nvtx_early_count().over;
}

static const struct gt_collector_count counts[] = {
	{lost_ranges, GT_LEDGER_COUNT_, "LOST", "ring full", "NVTX ranges and calls of libraries",
	 GT_COLLECTOR_RING_FULL},
	{unshadowed_ranges, GT_LEDGER_COUNT_, "LOST", "too many ranges", "shadows of NVTX ranges",
	 "their GPU work came too late"},
	/* a trace begins with the first use of CUDA */
	{early_ranges, GT_LEDGER_RANGES_EARLY, "capture gap", "before session", "ranges",
	 "NVTX ranges that ended before CUDA was used"},
};

static void count_rest(void *part, struct gt_ledger *ledger)
{
	struct gt_nvtx_counts nvtx = gt_nvtx_count();

	ledger->count[GT_LEDGER_RANGES_LOST] = lost_ranges(part) + unshadowed_ranges(part);
	gt_ledger_add(ledger, GT_LEDGER_RANGES_WRONG, nvtx.wrong);
	gt_ledger_add(ledger, GT_LEDGER_RANGE_NAMES_REFUSED, nvtx.refused);
}

/* NVTX: its records lie in the rings of threads. */
const struct gt_collector gt_nvtx_collector = {
	.name = "NVTX",
	.counts = counts,
	.count_count = sizeof(counts) / sizeof(counts[0]),
	.count = count_rest,
	.release = gt_nvtx_stop,
};

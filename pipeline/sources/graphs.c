/* SPDX-License-Identifier: Apache-2.0
 *
 * Graph nodes as a collector; its context is what the join asks for their origins.
 */
#include "pipeline/join/origins.h"
#include "pipeline/sources/collector.h"

static int start(void *part)
{
	gt_origins_start(part);
	return 0;
}

static uint64_t drain(void *part)
{
	return gt_origins_drain(part);
}

static uint64_t lost_nodes(const void *part)
{
	return gt_origins_lost(part);
}

static const struct gt_collector_count counts[] = {
	{lost_nodes, GT_LEDGER_GRAPH_NODES_LOST, "thinned", NULL, "graph nodes",
	 "their kernels lack the creating call stack"},
};

/* Where the nodes of CUDA graphs were made. */
const struct gt_collector gt_graphs_collector = {
	.name = "graph nodes",
	.start = start,
	.drain = drain,
	.counts = counts,
	.count_count = sizeof(counts) / sizeof(counts[0]),
};

/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the node of a CUDA graph was made, for the kernels that replay it. Drain thread.
 */
#ifndef GT_PIPELINE_JOIN_ORIGINS_H
#define GT_PIPELINE_JOIN_ORIGINS_H

#include <stdint.h>

#include "core/schema/event.h"

struct gt_graph_nodes;
struct gt_stacks;

/* The nodes, and the stacks of the calls that made them. Given: all but the nodes. */
struct gt_origins {
	const struct gt_stacks *stacks;
	uint32_t max_nodes;
	struct gt_graph_nodes *nodes; /* NULL: no memory for them, or not started */
};

/* Session start, before CUPTI's: without memory for them graphs have no origin. */
void gt_origins_start(struct gt_origins *origins);

/* Takes in the nodes that threads have made. Returns how many. */
uint64_t gt_origins_drain(const struct gt_origins *origins);

/* Nodes that were not taken in, or had to make room. */
uint64_t gt_origins_lost(const struct gt_origins *origins);

/* What a graph replays also says where its node was made. */
void gt_origins_fill(const struct gt_origins *origins, struct gt_event *event);

#endif

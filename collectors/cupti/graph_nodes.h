/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the nodes of CUDA graphs were made. CUPTI tells of each node when it is captured, added or
 * cloned, on the thread that does it; the open call of that thread has the stack. A kernel that is
 * replayed later carries the node's id, and so finds where it comes from. A replay costs nothing.
 */
#ifndef GT_COLLECTORS_CUPTI_GRAPH_NODES_H
#define GT_COLLECTORS_CUPTI_GRAPH_NODES_H

#include <stdbool.h>
#include <stdint.h>

struct gt_graph_nodes;

/* Session start. Over @max_nodes, or the power of two below it, the nodes made first are forgotten
 * (counted). Returns NULL on lack of memory: then nodes have no origin. */
struct gt_graph_nodes *gt_graph_nodes_start(uint32_t max_nodes);

/* Application threads, in the driver's callbacks: lock-free, no allocation, dropped (and counted)
 * when the drain thread is behind by 65536 of them. */
void gt_graph_nodes_created(uint64_t node, uint64_t stack_key);
void gt_graph_nodes_cloned(uint64_t node, uint64_t original);

/* Drain thread: takes in what the threads told. Returns how much it was. */
uint64_t gt_graph_nodes_drain(struct gt_graph_nodes *nodes);

/* Drain thread: the key of the stack (core/stack.h) that made @node, through all clones; 0: not
 * known. */
uint64_t gt_graph_nodes_find(const struct gt_graph_nodes *nodes, uint64_t node);

/* Nodes whose origin was forgotten or never heard of for lack of room. */
uint64_t gt_graph_nodes_lost(const struct gt_graph_nodes *nodes);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the nodes of CUDA graphs were made. CUPTI reports each node when it is captured, added or
 * cloned, on that thread, whose open call has the stack. The kernel of a replay has the node's id,
 * and so its origin. A replay costs nothing.
 */
#ifndef GT_COLLECTORS_CUPTI_GRAPH_NODES_H
#define GT_COLLECTORS_CUPTI_GRAPH_NODES_H

#include <stdbool.h>
#include <stdint.h>

struct gt_graph_nodes;

/* Session start. Beyond @max_nodes (rounded down to a power of two) the oldest nodes are forgotten
 * (counted). NULL: no memory; then nodes have no origin. */
struct gt_graph_nodes *gt_graph_nodes_start(uint32_t max_nodes);

/* Application threads, in the driver's callbacks: lock-free, no allocation, dropped (and counted)
 * when 65536 entries wait for the drain thread. */
void gt_graph_nodes_created(uint64_t node, uint64_t stack_key);
void gt_graph_nodes_cloned(uint64_t node, uint64_t original);

/* The same with --graphs=whole, where records are of whole graphs: one more node in @graph; or in
 * @graph as a clone of @original. */
void gt_graph_nodes_added(uint32_t graph, uint64_t stack_key);
void gt_graph_nodes_copied(uint32_t graph, uint32_t original);

/* Drain thread: reads the queue into the table. Returns the number of entries. */
uint64_t gt_graph_nodes_drain(struct gt_graph_nodes *nodes);

/* Drain thread: the key of the stack (core/stack.h) that made @node, or the first node of that
 * graph, through all clones; 0: not known. */
uint64_t gt_graph_nodes_find(const struct gt_graph_nodes *nodes, uint64_t node);

/* Drain thread: how many nodes @graph has; 0: not known, as some were forgotten or dropped. */
uint32_t gt_graph_nodes_count(const struct gt_graph_nodes *nodes, uint32_t graph);

/* Nodes whose origin was forgotten or dropped for lack of room. */
uint64_t gt_graph_nodes_lost(const struct gt_graph_nodes *nodes);

#endif

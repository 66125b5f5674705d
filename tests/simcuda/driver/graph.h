/* SPDX-License-Identifier: Apache-2.0
 *
 * Graphs inside the driver: a graph is a list of nodes that know what they depend on; an
 * executable graph is a clone of it, sorted. Node ids: graph id in the upper half.
 */
#ifndef SIMCUDA_DRIVER_GRAPH_H
#define SIMCUDA_DRIVER_GRAPH_H

#include "driver/driver.h"

#pragma GCC visibility push(hidden)

struct CUgraphNode_st {
	uint64_t id;
	CUgraphNodeType type;
	struct sim_work work;
	struct CUgraph_st *graph;
	struct CUgraphNode_st *original; /* clones: what they were cloned from */
	struct CUgraphNode_st **dependencies;
	size_t dependency_count;
	bool is_disabled;
	bool is_visited; /* scratch of the sort and of the capture check */
	uint64_t end;    /* of the launch under way */
};

struct CUgraph_st {
	uint32_t id;
	uint32_t last_node;
	struct CUgraphNode_st **nodes;
	size_t count;
	size_t room;
};

struct CUgraphExec_st {
	struct CUgraph_st *graph; /* the clone, nodes in an order that respects dependencies */
	struct CUgraph_st *source;
	unsigned long long flags;
	struct sim_lock lock; /* one launch at a time */
	uint64_t tail;
};

struct sim_capture {
	struct CUgraph_st *graph;
	uint64_t id;
	struct CUstream_st *origin;
	bool owns_graph;
};

struct CUgraph_st *sim_graph_new(void);
void sim_graph_free(struct CUgraph_st *graph);
struct CUgraphNode_st *sim_graph_add(struct CUgraph_st *graph, CUgraphNodeType type,
				     const struct sim_work *work, const CUgraphNode *dependencies,
				     size_t count);
CUresult sim_graph_depend(struct CUgraphNode_st *node, struct CUgraphNode_st *on);
struct CUgraph_st *sim_graph_clone(struct CUgraph_st *graph);
void sim_graph_tell(uint32_t cbid, struct CUgraph_st *graph, struct CUgraphNode_st *node,
		    struct CUgraphExec_st *exec);
CUgraphNodeType sim_graph_type_of(const struct sim_work *work);

#pragma GCC visibility pop

#endif

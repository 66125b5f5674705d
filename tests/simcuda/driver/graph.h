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
	CUlaunchAttributeValue *attributes; /* of kernels, by CUlaunchAttributeID; NULL: none set */
	bool is_disabled;
	bool is_visited; /* scratch of the sort and of the capture check */
	uint64_t end;    /* of the launch under way */
};

/* References to a user object. */
struct sim_held {
	CUuserObject object;
	unsigned int count;
	struct sim_held *next;
};

struct CUgraph_st {
	uint32_t id;
	uint32_t last_node;
	struct CUgraphNode_st **nodes;
	size_t count;
	size_t room;
	struct sim_held *held;
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
void sim_graph_hold_as(struct CUgraph_st *clone, const struct CUgraph_st *graph);
void sim_graph_let_go(struct CUgraph_st *graph);
CUresult sim_graph_add_work(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *dependencies,
			    size_t count, const struct sim_work *work);
CUgraphNode sim_graph_in_exec(CUgraphExec exec, CUgraphNode node);
void sim_graph_copy_attributes(CUgraphNode to, CUgraphNode from);
CUresult sim_graph_kernel_work(const CUDA_KERNEL_NODE_PARAMS *params, struct sim_work *ret_work);
CUresult sim_graph_set_work(const CUDA_MEMSET_NODE_PARAMS *params, struct sim_work *ret_work);

/* graph_memory.c */
CUresult sim_graph_alloc_work(CUDA_MEM_ALLOC_NODE_PARAMS *params, struct sim_work *ret_work);
CUresult sim_graph_free_work(CUdeviceptr address, struct sim_work *ret_work);

/* graph_conditional.c: bodies belong to the node */
struct sim_condition {
	unsigned int default_value;
	unsigned int flags;
};
struct sim_conditional {
	CUgraphConditionalNodeType type;
	const struct sim_condition *condition;
	unsigned int size;
	CUgraph bodies[];
};
CUresult sim_graph_conditional_work(CUDA_CONDITIONAL_NODE_PARAMS *params,
				    struct sim_work *ret_work);
struct sim_conditional *sim_conditional_clone(const struct sim_conditional *from);
void sim_conditional_free(struct sim_conditional *conditional);
CUgraph sim_conditional_body(const struct sim_conditional *conditional);

CUgraphNodeType sim_graph_type_of(const struct sim_work *work);

#pragma GCC visibility pop

#endif

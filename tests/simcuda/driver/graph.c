/* SPDX-License-Identifier: Apache-2.0
 *
 * Graphs as lists of nodes: creating, cloning, asking. As with the real driver, one graph may be
 * used by one thread at a time.
 */
#include "driver/graph.h"

#include <stdlib.h>
#include <string.h>

#include <cupti_callbacks.h>

static _Atomic uint32_t last_id;

uint32_t sim_graph_id(CUgraph graph)
{
	return graph ? graph->id : 0;
}

uint64_t sim_node_id(CUgraphNode node)
{
	return node ? node->id : 0;
}

void sim_graph_tell(uint32_t cbid, struct CUgraph_st *graph, struct CUgraphNode_st *node,
		    struct CUgraphExec_st *exec)
{
	struct sim_resource what = {.cbid = cbid,
				    .correlation = sim_current_correlation(),
				    .context = sim_context_current(),
				    .graph = graph,
				    .node = node,
				    .exec = exec};

	if (node) {
		what.node_type = node->type;
	}
	if (cbid == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED) { /* later the original may be gone */
		what.original_node = node->original;
		what.original_graph = node->original->graph;
	}
	sim_client_resource(&what);
}

static void tell_dependency(struct CUgraphNode_st *node, struct CUgraphNode_st *on)
{
	struct sim_resource what = {.cbid = CUPTI_CBID_RESOURCE_GRAPHNODE_DEPENDENCY_CREATED,
				    .correlation = sim_current_correlation(),
				    .context = sim_context_current(),
				    .graph = node->graph,
				    .node = node,
				    .node_type = node->type,
				    .dependency = on};

	sim_client_resource(&what);
}

struct CUgraph_st *sim_graph_new(void)
{
	struct CUgraph_st *graph = calloc(1, sizeof(*graph));

	if (graph)
		graph->id = atomic_fetch_add(&last_id, 1) + 1;
	return graph;
}

static void node_free(struct CUgraphNode_st *node)
{
	if (node->type == CU_GRAPH_NODE_TYPE_GRAPH)
		sim_graph_free(node->work.child);
	if (node->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
		sim_conditional_free(node->work.conditional);
	free(node->attributes);
	free(node->dependencies);
	free(node);
}

void sim_graph_free(struct CUgraph_st *graph)
{
	for (size_t i = 0; i < graph->count; i++) {
		sim_graph_tell(CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING, graph,
			       graph->nodes[i], NULL);
		node_free(graph->nodes[i]);
	}
	sim_graph_let_go(graph);
	free(graph->nodes);
	free(graph);
}

static bool make_room(struct CUgraph_st *graph)
{
	size_t room = graph->room ? graph->room * 2 : 16;
	void *bigger;

	if (graph->count < graph->room)
		return true;
	bigger = realloc(graph->nodes, room * sizeof(*graph->nodes));
	if (!bigger)
		return false;
	graph->nodes = bigger;
	graph->room = room;
	return true;
}

CUresult sim_graph_depend(struct CUgraphNode_st *node, struct CUgraphNode_st *on)
{
	size_t bytes = (node->dependency_count + 1) * sizeof(*node->dependencies);
	void *bigger = on ? realloc(node->dependencies, bytes) : NULL;

	if (!bigger)
		return on ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE;
	node->dependencies = bigger;
	node->dependencies[node->dependency_count++] = on;
	return CUDA_SUCCESS;
}

/* Adds without a word to the client. */
static struct CUgraphNode_st *append(struct CUgraph_st *graph, CUgraphNodeType type,
				     const struct sim_work *work)
{
	struct CUgraphNode_st *node = make_room(graph) ? calloc(1, sizeof(*node)) : NULL;

	if (!node)
		return NULL;
	node->id = (uint64_t)graph->id << 32 | graph->last_node++;
	node->type = type;
	node->work = *work;
	node->graph = graph;
	graph->nodes[graph->count++] = node;
	return node;
}

struct CUgraphNode_st *sim_graph_add(struct CUgraph_st *graph, CUgraphNodeType type,
				     const struct sim_work *work, const CUgraphNode *dependencies,
				     size_t count)
{
	sim_graph_tell(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATE_STARTING, graph, NULL, NULL);
	struct CUgraphNode_st *node = append(graph, type, work);
	if (!node)
		return NULL;
	for (size_t i = 0; i < count; i++)
		sim_graph_depend(node, dependencies[i]);
	sim_graph_tell(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, graph, node, NULL);
	for (size_t i = 0; i < count; i++)
		tell_dependency(node, dependencies[i]);
	return node;
}

/* Depth first: a node comes after all that it depends on. */
static void visit(struct CUgraphNode_st *node, struct CUgraphNode_st **order, size_t *count)
{
	if (node->is_visited)
		return;
	node->is_visited = true;
	for (size_t i = 0; i < node->dependency_count; i++)
		visit(node->dependencies[i], order, count);
	order[(*count)++] = node;
}

static void sort(struct CUgraph_st *graph)
{
	struct CUgraphNode_st **order = calloc(graph->count + 1, sizeof(*order));
	size_t count = 0;

	if (!order)
		return;
	for (size_t i = 0; i < graph->count; i++)
		graph->nodes[i]->is_visited = false;
	for (size_t i = 0; i < graph->count; i++)
		visit(graph->nodes[i], order, &count);
	free(graph->nodes);
	graph->nodes = order;
	graph->room = graph->count;
}

static struct CUgraphNode_st *find_clone(struct CUgraph_st *clone, struct CUgraphNode_st *original)
{
	for (size_t i = 0; i < clone->count; i++)
		if (clone->nodes[i]->original == original)
			return clone->nodes[i];
	return NULL;
}

/* Sorted nodes make a look-up of the clones by position possible: the end of both lists agrees. */
struct CUgraph_st *sim_graph_clone(struct CUgraph_st *graph)
{
	struct CUgraph_st *clone = sim_graph_new();

	if (!clone)
		return NULL;
	sim_graph_hold_as(clone, graph);
	sort(graph);
	for (size_t i = 0; i < graph->count; i++) {
		struct CUgraphNode_st *from = graph->nodes[i];
		struct CUgraphNode_st *node = append(clone, from->type, &from->work);

		if (!node)
			return clone;
		node->original = from;
		node->is_disabled = from->is_disabled;
		from->end = i; /* its place, for those that depend on it */
		if (from->type == CU_GRAPH_NODE_TYPE_GRAPH)
			node->work.child = sim_graph_clone(from->work.child);
		if (from->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
			node->work.conditional = sim_conditional_clone(from->work.conditional);
		sim_graph_copy_attributes(node, from);
		for (size_t d = 0; d < from->dependency_count; d++)
			sim_graph_depend(node, clone->nodes[from->dependencies[d]->end]);
		sim_graph_tell(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, clone, node, NULL);
		sim_graph_tell(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, clone, node, NULL);
	}
	return clone;
}

CUresult sim_cuGraphCreate(CUgraph *ret_graph, unsigned int flags)
{
	CUresult result = sim_check_ready();

	if (result)
		return result;
	if (!ret_graph || flags)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_graph = sim_graph_new();
	if (!*ret_graph)
		return CUDA_ERROR_OUT_OF_MEMORY;
	sim_graph_tell(CUPTI_CBID_RESOURCE_GRAPH_CREATED, *ret_graph, NULL, NULL);
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphDestroy(CUgraph graph)
{
	if (!graph)
		return CUDA_ERROR_INVALID_VALUE;
	sim_graph_tell(CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING, graph, NULL, NULL);
	sim_graph_free(graph);
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphClone(CUgraph *ret_clone, CUgraph graph)
{
	if (!ret_clone || !graph)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_clone = sim_graph_clone(graph);
	if (!*ret_clone)
		return CUDA_ERROR_OUT_OF_MEMORY;
	struct sim_resource what = {.cbid = CUPTI_CBID_RESOURCE_GRAPH_CLONED,
				    .correlation = sim_current_correlation(),
				    .context = sim_context_current(),
				    .graph = *ret_clone,
				    .original_graph = graph};
	sim_client_resource(&what);
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphNodeFindInClone(CUgraphNode *ret_node, CUgraphNode original, CUgraph clone)
{
	*ret_node = clone ? find_clone(clone, original) : NULL;
	return *ret_node ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static bool remove_dependency(struct CUgraphNode_st *node, const struct CUgraphNode_st *on)
{
	size_t kept = 0, before = node->dependency_count;

	for (size_t d = 0; d < before; d++)
		if (node->dependencies[d] != on)
			node->dependencies[kept++] = node->dependencies[d];
	node->dependency_count = kept;
	return kept < before;
}

CUresult sim_cuGraphDestroyNode(CUgraphNode node)
{
	struct CUgraph_st *graph = node ? node->graph : NULL;
	size_t at = 0;

	if (!graph)
		return CUDA_ERROR_INVALID_VALUE;
	sim_graph_tell(CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING, graph, node, NULL);
	for (size_t i = 0; i < graph->count; i++) {
		remove_dependency(graph->nodes[i], node);
		if (graph->nodes[i] != node)
			graph->nodes[at++] = graph->nodes[i];
	}
	graph->count = at;
	node_free(node);
	return CUDA_SUCCESS;
}

/* With a NULL array: how many there are. Else: as many as fit, the rest NULL. */
static void give(CUgraphNode *nodes, size_t *room, size_t index, CUgraphNode node)
{
	if (nodes && index < *room)
		nodes[index] = node;
}

CUresult sim_cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
	if (!graph || !count)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < graph->count; i++)
		give(nodes, count, i, graph->nodes[i]);
	if (!nodes || *count > graph->count)
		*count = graph->count;
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphGetRootNodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
	size_t found = 0;

	if (!graph || !count)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < graph->count; i++)
		if (!graph->nodes[i]->dependency_count)
			give(nodes, count, found++, graph->nodes[i]);
	if (!nodes || *count > found)
		*count = found;
	return CUDA_SUCCESS;
}

/* Edges have no data of their own: all are full dependencies. */
static void clear_edges(CUgraphEdgeData *edges, const size_t *count)
{
	if (edges && count)
		memset(edges, 0, *count * sizeof(*edges));
}

CUresult sim_cuGraphGetEdges_v2(CUgraph graph, CUgraphNode *from, CUgraphNode *to,
				CUgraphEdgeData *edges, size_t *count)
{
	size_t found = 0;

	if (!graph || !count)
		return CUDA_ERROR_INVALID_VALUE;
	clear_edges(edges, count);
	for (size_t i = 0; i < graph->count; i++)
		for (size_t d = 0; d < graph->nodes[i]->dependency_count; d++, found++) {
			give(from, count, found, graph->nodes[i]->dependencies[d]);
			give(to, count, found, graph->nodes[i]);
		}
	if (!from || *count > found)
		*count = found;
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *type)
{
	if (!node || !type)
		return CUDA_ERROR_INVALID_VALUE;
	*type = node->type;
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode *nodes,
					   CUgraphEdgeData *edges, size_t *count)
{
	if (!node || !count)
		return CUDA_ERROR_INVALID_VALUE;
	clear_edges(edges, count);
	for (size_t i = 0; i < node->dependency_count; i++)
		give(nodes, count, i, node->dependencies[i]);
	if (!nodes || *count > node->dependency_count)
		*count = node->dependency_count;
	return CUDA_SUCCESS;
}

static bool depends(const struct CUgraphNode_st *node, const struct CUgraphNode_st *on)
{
	for (size_t i = 0; i < node->dependency_count; i++)
		if (node->dependencies[i] == on)
			return true;
	return false;
}

CUresult sim_cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode *nodes,
					     CUgraphEdgeData *edges, size_t *count)
{
	size_t found = 0;

	if (!node || !count)
		return CUDA_ERROR_INVALID_VALUE;
	clear_edges(edges, count);
	for (size_t i = 0; i < node->graph->count; i++)
		if (depends(node->graph->nodes[i], node))
			give(nodes, count, found++, node->graph->nodes[i]);
	if (!nodes || *count > found)
		*count = found;
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode *from,
				       const CUgraphNode *to, const CUgraphEdgeData *edges,
				       size_t count)
{
	for (size_t i = 0; i < count; i++) {
		CUresult result =
			to[i] ? sim_graph_depend(to[i], from[i]) : CUDA_ERROR_INVALID_VALUE;

		if (result)
			return result;
		tell_dependency(to[i], from[i]);
	}
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode *from,
					  const CUgraphNode *to, const CUgraphEdgeData *edges,
					  size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!to[i] || !remove_dependency(to[i], from[i]))
			return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

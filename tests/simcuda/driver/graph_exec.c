/* SPDX-License-Identifier: Apache-2.0
 *
 * Executable graphs: instantiating, updating, launching. All operations of a launch carry the
 * correlation id of the call that launched them and the id of their node in the executable graph.
 */
#include "driver/graph.h"

#include <stdlib.h>

#include <cupti_callbacks.h>

uint32_t sim_exec_id(CUgraphExec exec)
{
	return exec ? exec->graph->id : 0;
}

static CUresult instantiate(CUgraphExec *ret_exec, CUgraph graph, unsigned long long flags)
{
	CUresult result = sim_check_ready();

	if (result)
		return result;
	if (!ret_exec || !graph)
		return CUDA_ERROR_INVALID_VALUE;
	struct CUgraphExec_st *exec = calloc(1, sizeof(*exec));
	if (!exec)
		return CUDA_ERROR_OUT_OF_MEMORY;
	sim_graph_tell(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATE_STARTING, graph, NULL, NULL);
	exec->graph = sim_graph_clone(graph);
	exec->source = graph;
	exec->flags = flags;
	sim_graph_tell(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED, graph, NULL, exec);
	*ret_exec = exec;
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
	return instantiate(exec, graph, flags);
}

CUresult sim_cuGraphInstantiate_v2(CUgraphExec *exec, CUgraph graph, CUgraphNode *error_node,
				   char *log, size_t log_size)
{
	return instantiate(exec, graph, 0);
}

CUresult sim_cuGraphInstantiateWithParams(CUgraphExec *exec, CUgraph graph,
					  CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	params->hErrNode_out = NULL;
	params->result_out = CUDA_GRAPH_INSTANTIATE_SUCCESS;
	return instantiate(exec, graph, params->flags);
}

CUresult sim_cuGraphExecDestroy(CUgraphExec exec)
{
	if (!exec)
		return CUDA_ERROR_INVALID_VALUE;
	sim_graph_tell(CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING, NULL, NULL, exec);
	sim_graph_free(exec->graph);
	free(exec);
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphExecGetFlags(CUgraphExec exec, cuuint64_t *flags)
{
	if (!exec || !flags)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = exec->flags;
	return CUDA_SUCCESS;
}

/* Its work names graphs that are its own. */
static bool owns_graphs(CUgraphNodeType type)
{
	return type == CU_GRAPH_NODE_TYPE_GRAPH || type == CU_GRAPH_NODE_TYPE_CONDITIONAL;
}

/* Same shape, new parameters; anything else is refused. */
CUresult sim_cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph,
				  CUgraphExecUpdateResultInfo *info)
{
	if (!exec || !graph || !info)
		return CUDA_ERROR_INVALID_VALUE;
	*info = (CUgraphExecUpdateResultInfo){.result = CU_GRAPH_EXEC_UPDATE_SUCCESS};
	if (exec->graph->count != graph->count) {
		info->result = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
		return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
	}
	for (size_t i = 0; i < graph->count; i++)
		if (exec->graph->nodes[i]->type != graph->nodes[i]->type) {
			info->result = CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
			info->errorNode = graph->nodes[i];
			return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
		}
	for (size_t i = 0; i < graph->count; i++) {
		exec->graph->nodes[i]->original = graph->nodes[i];
		if (!owns_graphs(graph->nodes[i]->type))
			exec->graph->nodes[i]->work = graph->nodes[i]->work;
	}
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphUpload(CUgraphExec exec, CUstream handle)
{
	struct CUstream_st *stream;

	return exec ? sim_stream_find(handle, &stream) : CUDA_ERROR_INVALID_VALUE;
}

struct span {
	uint64_t start;
	uint64_t end;
};

static void widen(struct span *span, uint64_t end, uint64_t ns)
{
	uint64_t start = end > ns ? end - ns : 0;

	span->start = start < span->start ? start : span->start;
	span->end = end > span->end ? end : span->end;
}

/* The graph that a node runs: a child, or the body that its condition chooses. */
static CUgraph graph_inside(const struct CUgraphNode_st *node)
{
	if (node->work.kind == SIM_WORK_CONDITIONAL)
		return sim_conditional_body(node->work.conditional);
	return node->work.kind == SIM_WORK_CHILD ? node->work.child : NULL;
}

/* Nodes are sorted: what a node depends on has been placed before it. */
static void run_nodes(struct CUgraph_st *graph, struct CUstream_st *stream, uint32_t exec_id,
		      uint64_t base, struct span *span)
{
	for (size_t i = 0; i < graph->count; i++) {
		struct CUgraphNode_st *node = graph->nodes[i];
		uint64_t ready = base;

		for (size_t d = 0; d < node->dependency_count; d++)
			if (node->dependencies[d]->end > ready)
				ready = node->dependencies[d]->end;
		node->end = ready;
		if (node->is_disabled || node->work.kind == SIM_WORK_EMPTY ||
		    node->work.kind == SIM_WORK_ALLOC || node->work.kind == SIM_WORK_FREE)
			continue;
		if (node->work.kind == SIM_WORK_CONDITIONAL && !graph_inside(node))
			continue;
		CUgraph inside = graph_inside(node);
		if (inside) {
			struct span inner = {UINT64_MAX, ready};

			run_nodes(inside, stream, exec_id, ready, &inner);
			node->end = inner.end;
		} else {
			node->end = sim_run(stream, &node->work, ready, exec_id, node->id);
		}
		widen(span, node->end, node->work.ns);
	}
}

static void tell_graph(struct CUstream_st *stream, CUgraphExec exec, const struct span *span)
{
	struct sim_op op = {.kind = SIM_OP_GRAPH,
			    .correlation = sim_current_correlation(),
			    .device = (uint32_t)stream->context->device->ordinal,
			    .context = stream->context->id,
			    .stream = stream->id,
			    .graph = exec->graph->id,
			    .start = span->start,
			    .end = span->end};

	if (sim_truth_on)
		sim_truth_operation(&op);
	sim_client_operation(&op);
}

static CUresult launch_into(struct CUstream_st *stream, CUgraphExec exec)
{
	struct span span = {UINT64_MAX, 0};
	uint64_t base = sim_now() + sim_options.latency_ns;
	uint64_t ready = sim_stream_ready(stream);

	sim_lock(&exec->lock);
	base = ready > base ? ready : base;
	base = exec->tail > base ? exec->tail : base;
	span.end = base;
	run_nodes(exec->graph, stream, exec->graph->id, base, &span);
	exec->tail = span.end;
	sim_unlock(&exec->lock);
	sim_stream_delay(stream, span.end);
	if (span.start == UINT64_MAX)
		span.start = base;
	if (sim_watching)
		tell_graph(stream, exec, &span);
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphLaunch(CUgraphExec exec, CUstream handle)
{
	struct CUstream_st *stream;
	CUresult result = sim_stream_find(handle, &stream);

	if (result)
		return result;
	if (!exec)
		return CUDA_ERROR_INVALID_VALUE;
	if (stream->capture) {
		struct sim_work work = {.kind = SIM_WORK_CHILD};

		work.child = sim_graph_clone(exec->graph);
		return sim_capture_work(stream, &work);
	}
	return launch_into(stream, exec);
}

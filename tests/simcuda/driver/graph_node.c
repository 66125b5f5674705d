/* SPDX-License-Identifier: Apache-2.0
 *
 * Making nodes explicitly, each type by its own function; kernel nodes with all there is to them.
 * One thread per graph.
 */
#include "driver/graph.h"

CUgraphNodeType sim_graph_type_of(const struct sim_work *work)
{
	static const CUgraphNodeType types[] = {
		[SIM_WORK_EMPTY] = CU_GRAPH_NODE_TYPE_EMPTY,
		[SIM_WORK_KERNEL] = CU_GRAPH_NODE_TYPE_KERNEL,
		[SIM_WORK_COPY] = CU_GRAPH_NODE_TYPE_MEMCPY,
		[SIM_WORK_SET] = CU_GRAPH_NODE_TYPE_MEMSET,
		[SIM_WORK_HOST] = CU_GRAPH_NODE_TYPE_HOST,
		[SIM_WORK_RECORD] = CU_GRAPH_NODE_TYPE_EVENT_RECORD,
		[SIM_WORK_WAIT] = CU_GRAPH_NODE_TYPE_WAIT_EVENT,
		[SIM_WORK_CHILD] = CU_GRAPH_NODE_TYPE_GRAPH,
		[SIM_WORK_ALLOC] = CU_GRAPH_NODE_TYPE_MEM_ALLOC,
		[SIM_WORK_FREE] = CU_GRAPH_NODE_TYPE_MEM_FREE,
		[SIM_WORK_CONDITIONAL] = CU_GRAPH_NODE_TYPE_CONDITIONAL,
	};

	return types[work->kind];
}

CUresult sim_graph_add_work(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *dependencies,
			    size_t count, const struct sim_work *work)
{
	if (!ret_node || !graph || (count && !dependencies))
		return CUDA_ERROR_INVALID_VALUE;
	*ret_node = sim_graph_add(graph, sim_graph_type_of(work), work, dependencies, count);
	return *ret_node ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult sim_graph_kernel_work(const CUDA_KERNEL_NODE_PARAMS *params, struct sim_work *ret_work)
{
	struct CUfunc_st *function = params->func ? params->func : (CUfunction)params->kern;

	if (!function || function->magic != SIM_FUNCTION_MAGIC)
		return CUDA_ERROR_INVALID_HANDLE;
	*ret_work = (struct sim_work){.kind = SIM_WORK_KERNEL};
	ret_work->kernel.function = function;
	ret_work->kernel.params = params->kernelParams;
	ret_work->kernel.extra = params->extra;
	ret_work->kernel.facts = (struct sim_kernel_facts){
		.name = function->name,
		.grid = {params->gridDimX, params->gridDimY, params->gridDimZ},
		.block = {params->blockDimX, params->blockDimY, params->blockDimZ},
		.registers = function->registers,
		.static_shared = function->static_shared,
		.dynamic_shared = params->sharedMemBytes,
		.local_per_thread = function->local_per_thread};
	ret_work->ns = sim_kernel_ns(function, &ret_work->kernel.facts);
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph graph,
				     const CUgraphNode *dependencies, size_t count,
				     const CUDA_KERNEL_NODE_PARAMS *params)
{
	struct sim_work work;
	CUresult result = params ? sim_graph_kernel_work(params, &work) : CUDA_ERROR_INVALID_VALUE;

	return result ? result : sim_graph_add_work(node, graph, dependencies, count, &work);
}

/* The first version of the struct is a prefix of the second. */
static CUDA_KERNEL_NODE_PARAMS from_v1(const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	return (CUDA_KERNEL_NODE_PARAMS){.func = p->func,
					 .gridDimX = p->gridDimX,
					 .gridDimY = p->gridDimY,
					 .gridDimZ = p->gridDimZ,
					 .blockDimX = p->blockDimX,
					 .blockDimY = p->blockDimY,
					 .blockDimZ = p->blockDimZ,
					 .sharedMemBytes = p->sharedMemBytes,
					 .kernelParams = p->kernelParams,
					 .extra = p->extra};
}

CUresult sim_cuGraphAddKernelNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
				  size_t count, const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
	CUDA_KERNEL_NODE_PARAMS full = from_v1(params);

	return sim_cuGraphAddKernelNode_v2(node, graph, dependencies, count, &full);
}

CUresult sim_cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *params)
{
	if (!node || node->type != CU_GRAPH_NODE_TYPE_KERNEL || !params)
		return CUDA_ERROR_INVALID_VALUE;
	const struct sim_kernel_facts *facts = &node->work.kernel.facts;
	*params = (CUDA_KERNEL_NODE_PARAMS){.func = node->work.kernel.function,
					    .gridDimX = facts->grid[0],
					    .gridDimY = facts->grid[1],
					    .gridDimZ = facts->grid[2],
					    .blockDimX = facts->block[0],
					    .blockDimY = facts->block[1],
					    .blockDimZ = facts->block[2],
					    .sharedMemBytes = facts->dynamic_shared,
					    .kernelParams = node->work.kernel.params,
					    .extra = node->work.kernel.extra};
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params)
{
	if (!node || node->type != CU_GRAPH_NODE_TYPE_KERNEL || !params)
		return CUDA_ERROR_INVALID_VALUE;
	return sim_graph_kernel_work(params, &node->work);
}

CUresult sim_cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	CUDA_KERNEL_NODE_PARAMS full = from_v1(params);

	return sim_cuGraphKernelNodeSetParams_v2(node, &full);
}

CUgraphNode sim_graph_in_exec(CUgraphExec exec, CUgraphNode node)
{
	CUgraphNode found = NULL;

	for (size_t i = 0; exec && i < exec->graph->count && !found; i++)
		if (exec->graph->nodes[i]->original == node)
			found = exec->graph->nodes[i];
	return found;
}

CUresult sim_cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
					       const CUDA_KERNEL_NODE_PARAMS *params)
{
	return sim_cuGraphKernelNodeSetParams_v2(sim_graph_in_exec(exec, node), params);
}

CUresult sim_cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
					    const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
	return sim_cuGraphKernelNodeSetParams(sim_graph_in_exec(exec, node), params);
}

CUresult sim_cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node, unsigned int enabled)
{
	CUgraphNode found = sim_graph_in_exec(exec, node);

	if (!found)
		return CUDA_ERROR_INVALID_VALUE;
	found->is_disabled = !enabled;
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphNodeGetEnabled(CUgraphExec exec, CUgraphNode node, unsigned int *enabled)
{
	CUgraphNode found = sim_graph_in_exec(exec, node);

	if (!found)
		return CUDA_ERROR_INVALID_VALUE;
	*enabled = !found->is_disabled;
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphAddMemcpyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
				  size_t count, const CUDA_MEMCPY3D *params, CUcontext context)
{
	struct sim_work work;
	CUresult result = params ? sim_copy_from_3d(params, &work) : CUDA_ERROR_INVALID_VALUE;

	if (result)
		return result;
	work.copy.facts.async = true;
	return sim_graph_add_work(node, graph, dependencies, count, &work);
}

CUresult sim_graph_set_work(const CUDA_MEMSET_NODE_PARAMS *p, struct sim_work *ret_work)
{
	struct sim_allocation memory = {.kind = SIM_MEMORY_DEVICE};

	if (!p->width || !p->height)
		return CUDA_ERROR_INVALID_VALUE;
	sim_memory_find((void *)p->dst, &memory);
	*ret_work = (struct sim_work){
		.kind = SIM_WORK_SET,
		.set = {.dst = {.base = (char *)p->dst, .pitch = p->pitch},
			.width = p->width,
			.height = p->height,
			.element = p->elementSize,
			.facts = {.bytes = p->width * p->height * p->elementSize,
				  .value = p->value,
				  .memory_kind = sim_memory_activity_kind(memory.kind),
				  .async = true}}};
	ret_work->ns = sim_set_ns(ret_work->set.facts.bytes);
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphAddMemsetNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
				  size_t count, const CUDA_MEMSET_NODE_PARAMS *params,
				  CUcontext context)
{
	struct sim_work work;
	CUresult result = params ? sim_graph_set_work(params, &work) : CUDA_ERROR_INVALID_VALUE;

	return result ? result : sim_graph_add_work(node, graph, dependencies, count, &work);
}

CUresult sim_cuGraphAddHostNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
				size_t count, const CUDA_HOST_NODE_PARAMS *params)
{
	if (!params || !params->fn)
		return CUDA_ERROR_INVALID_VALUE;
	struct sim_work work = {.kind = SIM_WORK_HOST,
				.ns = sim_options.host_ns,
				.host = {params->fn, params->userData}};
	return sim_graph_add_work(node, graph, dependencies, count, &work);
}

CUresult sim_cuGraphAddEmptyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
				 size_t count)
{
	struct sim_work work = {.kind = SIM_WORK_EMPTY};

	return sim_graph_add_work(node, graph, dependencies, count, &work);
}

CUresult sim_cuGraphAddEventRecordNode(CUgraphNode *node, CUgraph graph,
				       const CUgraphNode *dependencies, size_t count, CUevent event)
{
	struct sim_work work = {.kind = SIM_WORK_RECORD, .event = event};

	return event ? sim_graph_add_work(node, graph, dependencies, count, &work)
		     : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuGraphAddEventWaitNode(CUgraphNode *node, CUgraph graph,
				     const CUgraphNode *dependencies, size_t count, CUevent event)
{
	struct sim_work work = {.kind = SIM_WORK_WAIT, .event = event};

	return event ? sim_graph_add_work(node, graph, dependencies, count, &work)
		     : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuGraphAddChildGraphNode(CUgraphNode *node, CUgraph graph,
				      const CUgraphNode *dependencies, size_t count, CUgraph child)
{
	struct sim_work work = {.kind = SIM_WORK_CHILD};

	if (!child)
		return CUDA_ERROR_INVALID_VALUE;
	work.child = sim_graph_clone(child);
	return work.child ? sim_graph_add_work(node, graph, dependencies, count, &work)
			  : CUDA_ERROR_OUT_OF_MEMORY;
}

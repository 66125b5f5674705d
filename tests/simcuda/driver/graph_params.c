/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes by one struct for all types, and reading and changing the parameters of nodes that are
 * there, in graphs and in executable ones. One thread per graph.
 */
#include "driver/memory/array.h"
#include "driver/graph.h"

#include <string.h>

static CUresult kernel(CUgraphNodeParams *params, struct sim_work *ret_work)
{
	const CUDA_KERNEL_NODE_PARAMS_v3 *p = &params->kernel;
	CUDA_KERNEL_NODE_PARAMS wanted = {.func = p->func,
					  .gridDimX = p->gridDimX,
					  .gridDimY = p->gridDimY,
					  .gridDimZ = p->gridDimZ,
					  .blockDimX = p->blockDimX,
					  .blockDimY = p->blockDimY,
					  .blockDimZ = p->blockDimZ,
					  .sharedMemBytes = p->sharedMemBytes,
					  .kernelParams = p->kernelParams,
					  .extra = p->extra,
					  .kern = p->kern};

	return sim_graph_kernel_work(&wanted, ret_work);
}

static CUresult copy_work(const CUDA_MEMCPY3D *desc, struct sim_work *ret_work)
{
	CUresult result = desc ? sim_copy_from_3d(desc, ret_work) : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		ret_work->copy.facts.async = true;
	return result;
}

static CUresult copy(CUgraphNodeParams *params, struct sim_work *ret_work)
{
	return copy_work(&params->memcpy.copyParams, ret_work);
}

static CUresult set(CUgraphNodeParams *params, struct sim_work *ret_work)
{
	const CUDA_MEMSET_NODE_PARAMS_v2 *p = &params->memset;
	CUDA_MEMSET_NODE_PARAMS wanted = {.dst = p->dst,
					  .pitch = p->pitch,
					  .value = p->value,
					  .elementSize = p->elementSize,
					  .width = p->width,
					  .height = p->height};

	return sim_graph_set_work(&wanted, ret_work);
}

static CUresult host_work(CUhostFn function, void *data, struct sim_work *ret_work)
{
	*ret_work = (struct sim_work){
		.kind = SIM_WORK_HOST, .ns = sim_options.host_ns, .host = {function, data}};
	return function ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult host(CUgraphNodeParams *params, struct sim_work *ret_work)
{
	return host_work(params->host.fn, params->host.userData, ret_work);
}

static CUresult child(CUgraphNodeParams *params, struct sim_work *ret_work)
{
	*ret_work = (struct sim_work){.kind = SIM_WORK_CHILD};
	if (!params->graph.graph)
		return CUDA_ERROR_INVALID_VALUE;
	ret_work->child = sim_graph_clone(params->graph.graph);
	return ret_work->child ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult empty(CUgraphNodeParams *params, struct sim_work *ret_work)
{
	*ret_work = (struct sim_work){.kind = SIM_WORK_EMPTY};
	return CUDA_SUCCESS;
}

static CUresult event_work(enum sim_work_kind kind, CUevent event, struct sim_work *ret_work)
{
	*ret_work = (struct sim_work){.kind = kind, .event = event};
	return sim_event_valid(event) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult wait_event(CUgraphNodeParams *params, struct sim_work *ret_work)
{
	return event_work(SIM_WORK_WAIT, params->eventWait.event, ret_work);
}

static CUresult record_event(CUgraphNodeParams *params, struct sim_work *ret_work)
{
	return event_work(SIM_WORK_RECORD, params->eventRecord.event, ret_work);
}

static CUresult allocate(CUgraphNodeParams *params, struct sim_work *ret_work)
{
	CUDA_MEM_ALLOC_NODE_PARAMS wanted = {.poolProps = params->alloc.poolProps,
					     .bytesize = params->alloc.bytesize};
	CUresult result = sim_graph_alloc_work(&wanted, ret_work);

	params->alloc.dptr = wanted.dptr;
	return result;
}

static CUresult release(CUgraphNodeParams *params, struct sim_work *ret_work)
{
	return sim_graph_free_work(params->free.dptr, ret_work);
}

static CUresult conditional(CUgraphNodeParams *params, struct sim_work *ret_work)
{
	return sim_graph_conditional_work(&params->conditional, ret_work);
}

/* What a type's parameters ask for; types without a row are not simulated. */
static CUresult (*const works[])(CUgraphNodeParams *params, struct sim_work *ret_work) = {
	[CU_GRAPH_NODE_TYPE_KERNEL] = kernel,
	[CU_GRAPH_NODE_TYPE_MEMCPY] = copy,
	[CU_GRAPH_NODE_TYPE_MEMSET] = set,
	[CU_GRAPH_NODE_TYPE_HOST] = host,
	[CU_GRAPH_NODE_TYPE_GRAPH] = child,
	[CU_GRAPH_NODE_TYPE_EMPTY] = empty,
	[CU_GRAPH_NODE_TYPE_WAIT_EVENT] = wait_event,
	[CU_GRAPH_NODE_TYPE_EVENT_RECORD] = record_event,
	[CU_GRAPH_NODE_TYPE_MEM_ALLOC] = allocate,
	[CU_GRAPH_NODE_TYPE_MEM_FREE] = release,
	[CU_GRAPH_NODE_TYPE_CONDITIONAL] = conditional,
};

static CUresult work_of(CUgraphNodeParams *params, struct sim_work *ret_work)
{
	unsigned int type = params ? (unsigned int)params->type : UINT32_MAX;

	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	if (type >= sizeof(works) / sizeof(*works) || !works[type])
		return sim_missing("a graph node of that type");
	return works[type](params, ret_work);
}

CUresult sim_cuGraphAddNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
			       const CUgraphEdgeData *edges, size_t count,
			       CUgraphNodeParams *params)
{
	struct sim_work work;
	CUresult result = work_of(params, &work);

	return result ? result : sim_graph_add_work(node, graph, dependencies, count, &work);
}

CUresult sim_cuGraphAddNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
			    size_t count, CUgraphNodeParams *params)
{
	return sim_cuGraphAddNode_v2(node, graph, dependencies, NULL, count, params);
}

/* Takes the work when the node's type is its own; what was made for a refused one goes. */
static CUresult replace(CUgraphNode node, CUgraphNodeType type, CUresult result,
			const struct sim_work *work)
{
	if (result)
		return result;
	if (!node || node->type != type)
		return CUDA_ERROR_INVALID_VALUE;
	if (node->type == CU_GRAPH_NODE_TYPE_GRAPH)
		sim_graph_free(node->work.child);
	node->work = *work;
	return CUDA_SUCCESS;
}

/* Memory and conditions of a node are fixed when it is made. */
static bool is_changeable(CUgraphNode node, const CUgraphNodeParams *params)
{
	return node && params && node->type == params->type &&
	       node->type != CU_GRAPH_NODE_TYPE_MEM_ALLOC &&
	       node->type != CU_GRAPH_NODE_TYPE_MEM_FREE &&
	       node->type != CU_GRAPH_NODE_TYPE_CONDITIONAL;
}

CUresult sim_cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams *params)
{
	struct sim_work work;

	if (!is_changeable(node, params))
		return CUDA_ERROR_INVALID_VALUE;
	return replace(node, params->type, work_of(params, &work), &work);
}

CUresult sim_cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *params)
{
	return sim_cuGraphNodeSetParams(sim_graph_in_exec(exec, node), params);
}

CUresult sim_cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D *desc)
{
	struct sim_work work;

	return replace(node, CU_GRAPH_NODE_TYPE_MEMCPY, copy_work(desc, &work), &work);
}

CUresult sim_cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
					    const CUDA_MEMCPY3D *desc, CUcontext context)
{
	return sim_cuGraphMemcpyNodeSetParams(sim_graph_in_exec(exec, node), desc);
}

/* One side as a program would have to give it: x, y and z inside an array, 0 in memory. */
static void tell_side(const struct sim_region *region, size_t at[3])
{
	size_t offset =
		region->array ? (size_t)(region->base - (char *)region->array->memory.address) : 0;

	at[2] = region->slice ? offset / region->slice : 0;
	offset -= at[2] * region->slice;
	at[1] = region->pitch ? offset / region->pitch : 0;
	at[0] = offset - at[1] * region->pitch;
}

static CUmemorytype type_of(const struct sim_region *region)
{
	struct sim_allocation memory;

	if (region->array)
		return CU_MEMORYTYPE_ARRAY;
	return sim_memory_find(region->base, &memory) && memory.kind != SIM_MEMORY_HOST &&
			       memory.kind != SIM_MEMORY_REGISTERED
		       ? CU_MEMORYTYPE_DEVICE
		       : CU_MEMORYTYPE_HOST;
}

CUresult sim_cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D *desc)
{
	size_t src[3], dst[3];

	if (!node || !desc || node->type != CU_GRAPH_NODE_TYPE_MEMCPY)
		return CUDA_ERROR_INVALID_VALUE;
	const struct sim_copy *c = &node->work.copy;
	tell_side(&c->src, src);
	tell_side(&c->dst, dst);
	*desc = (CUDA_MEMCPY3D){.srcXInBytes = src[0],
				.srcY = src[1],
				.srcZ = src[2],
				.srcMemoryType = type_of(&c->src),
				.srcHost = c->src.base,
				.srcDevice = (CUdeviceptr)c->src.base,
				.srcArray = c->src.array,
				.srcPitch = c->src.pitch,
				.srcHeight = c->src.pitch ? c->src.slice / c->src.pitch : 0,
				.dstXInBytes = dst[0],
				.dstY = dst[1],
				.dstZ = dst[2],
				.dstMemoryType = type_of(&c->dst),
				.dstHost = c->dst.base,
				.dstDevice = (CUdeviceptr)c->dst.base,
				.dstArray = c->dst.array,
				.dstPitch = c->dst.pitch,
				.dstHeight = c->dst.pitch ? c->dst.slice / c->dst.pitch : 0,
				.WidthInBytes = c->width,
				.Height = c->height,
				.Depth = c->depth};
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *params)
{
	struct sim_work work;
	CUresult result = params ? sim_graph_set_work(params, &work) : CUDA_ERROR_INVALID_VALUE;

	return replace(node, CU_GRAPH_NODE_TYPE_MEMSET, result, &work);
}

CUresult sim_cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
					    const CUDA_MEMSET_NODE_PARAMS *params,
					    CUcontext context)
{
	return sim_cuGraphMemsetNodeSetParams(sim_graph_in_exec(exec, node), params);
}

CUresult sim_cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS *params)
{
	if (!node || !params || node->type != CU_GRAPH_NODE_TYPE_MEMSET)
		return CUDA_ERROR_INVALID_VALUE;
	const struct sim_set *s = &node->work.set;
	*params = (CUDA_MEMSET_NODE_PARAMS){.dst = (CUdeviceptr)s->dst.base,
					    .pitch = s->dst.pitch,
					    .value = s->facts.value,
					    .elementSize = s->element,
					    .width = s->width,
					    .height = s->height};
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS *params)
{
	struct sim_work work;
	CUresult result =
		params ? host_work(params->fn, params->userData, &work) : CUDA_ERROR_INVALID_VALUE;

	return replace(node, CU_GRAPH_NODE_TYPE_HOST, result, &work);
}

CUresult sim_cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node,
					  const CUDA_HOST_NODE_PARAMS *params)
{
	return sim_cuGraphHostNodeSetParams(sim_graph_in_exec(exec, node), params);
}

CUresult sim_cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS *params)
{
	if (!node || !params || node->type != CU_GRAPH_NODE_TYPE_HOST)
		return CUDA_ERROR_INVALID_VALUE;
	memset(params, 0, sizeof(*params));
	params->fn = node->work.host.function;
	params->userData = node->work.host.data;
	return CUDA_SUCCESS;
}

static CUresult get_event(CUgraphNode node, CUgraphNodeType type, CUevent *ret_event)
{
	if (!node || !ret_event || node->type != type)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_event = node->work.event;
	return CUDA_SUCCESS;
}

static CUresult set_event(CUgraphNode node, CUgraphNodeType type, CUevent event)
{
	if (!node || node->type != type || !sim_event_valid(event))
		return CUDA_ERROR_INVALID_VALUE;
	node->work.event = event;
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent *event)
{
	return get_event(node, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event);
}

CUresult sim_cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event)
{
	return set_event(node, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event);
}

CUresult sim_cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event)
{
	return sim_cuGraphEventRecordNodeSetEvent(sim_graph_in_exec(exec, node), event);
}

CUresult sim_cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent *event)
{
	return get_event(node, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event);
}

CUresult sim_cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event)
{
	return set_event(node, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event);
}

CUresult sim_cuGraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event)
{
	return sim_cuGraphEventWaitNodeSetEvent(sim_graph_in_exec(exec, node), event);
}

CUresult sim_cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph *graph)
{
	if (!node || !graph || node->type != CU_GRAPH_NODE_TYPE_GRAPH)
		return CUDA_ERROR_INVALID_VALUE;
	*graph = node->work.child;
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraph graph)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_GRAPH};

	params.graph.graph = graph;
	return sim_cuGraphExecNodeSetParams(exec, node, &params);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Graphs: the runtime's structs turned into the driver's. One thread per graph.
 */
#include "runtime/runtime.h"

cudaError_t rt_cudaGraphCreate(cudaGraph_t *graph, unsigned int flags)
{
	return RT_PLAIN(cuGraphCreate, graph, flags);
}

cudaError_t rt_cudaGraphDestroy(cudaGraph_t graph)
{
	return RT_PLAIN(cuGraphDestroy, graph);
}

cudaError_t rt_cudaGraphClone(cudaGraph_t *clone, cudaGraph_t graph)
{
	return RT_PLAIN(cuGraphClone, clone, graph);
}

/* A node names its kernel by host function, by cudaFunction_t or by cudaKernel_t. */
static cudaError_t kernel_params(const struct cudaKernelNodeParams *p, CUDA_KERNEL_NODE_PARAMS *ret)
{
	CUfunction function = rt_kernel_of(p->func);

	*ret = (CUDA_KERNEL_NODE_PARAMS){.func = function ? function : (CUfunction)p->func,
					 .gridDimX = p->gridDim.x,
					 .gridDimY = p->gridDim.y,
					 .gridDimZ = p->gridDim.z,
					 .blockDimX = p->blockDim.x,
					 .blockDimY = p->blockDim.y,
					 .blockDimZ = p->blockDim.z,
					 .sharedMemBytes = p->sharedMemBytes,
					 .kernelParams = p->kernelParams,
					 .extra = p->extra};
	return ret->func ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}

cudaError_t rt_cudaGraphAddKernelNode(cudaGraphNode_t *node, cudaGraph_t graph,
				      const cudaGraphNode_t *dependencies, size_t count,
				      const struct cudaKernelNodeParams *params)
{
	CUDA_KERNEL_NODE_PARAMS wanted;
	cudaError_t error = kernel_params(params, &wanted);

	return error ? error
		     : RT_PLAIN(cuGraphAddKernelNode_v2, node, graph, dependencies, count, &wanted);
}

cudaError_t rt_cudaGraphKernelNodeGetParams(cudaGraphNode_t node,
					    struct cudaKernelNodeParams *params)
{
	CUDA_KERNEL_NODE_PARAMS got;
	cudaError_t error = RT_PLAIN(cuGraphKernelNodeGetParams_v2, node, &got);

	if (error)
		return error;
	*params = (struct cudaKernelNodeParams){
		.func = got.func,
		.gridDim = {got.gridDimX, got.gridDimY, got.gridDimZ},
		.blockDim = {got.blockDimX, got.blockDimY, got.blockDimZ},
		.sharedMemBytes = got.sharedMemBytes,
		.kernelParams = got.kernelParams,
		.extra = got.extra};
	return cudaSuccess;
}

cudaError_t rt_cudaGraphKernelNodeSetParams(cudaGraphNode_t node,
					    const struct cudaKernelNodeParams *params)
{
	CUDA_KERNEL_NODE_PARAMS wanted;
	cudaError_t error = kernel_params(params, &wanted);

	return error ? error : RT_PLAIN(cuGraphKernelNodeSetParams_v2, node, &wanted);
}

cudaError_t rt_cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
						const struct cudaKernelNodeParams *params)
{
	CUDA_KERNEL_NODE_PARAMS wanted;
	cudaError_t error = kernel_params(params, &wanted);

	return error ? error : RT_PLAIN(cuGraphExecKernelNodeSetParams_v2, exec, node, &wanted);
}

cudaError_t rt_cudaGraphAddMemcpyNode(cudaGraphNode_t *node, cudaGraph_t graph,
				      const cudaGraphNode_t *dependencies, size_t count,
				      const struct cudaMemcpy3DParms *params)
{
	CUDA_MEMCPY3D desc;
	cudaError_t error = rt_copy_desc(params, &desc);

	return error ? error
		     : RT_PLAIN(cuGraphAddMemcpyNode, node, graph, dependencies, count, &desc,
				rt_context());
}

cudaError_t rt_cudaGraphAddMemcpyNode1D(cudaGraphNode_t *node, cudaGraph_t graph,
					const cudaGraphNode_t *dependencies, size_t count,
					void *dst, const void *src, size_t bytes,
					enum cudaMemcpyKind kind)
{
	struct cudaMemcpy3DParms params = {.srcPtr = {(void *)src, bytes, bytes, 1},
					   .dstPtr = {dst, bytes, bytes, 1},
					   .extent = {bytes, 1, 1},
					   .kind = kind};

	return rt_cudaGraphAddMemcpyNode(node, graph, dependencies, count, &params);
}

cudaError_t rt_cudaGraphAddMemsetNode(cudaGraphNode_t *node, cudaGraph_t graph,
				      const cudaGraphNode_t *dependencies, size_t count,
				      const struct cudaMemsetParams *p)
{
	CUDA_MEMSET_NODE_PARAMS wanted = {.dst = (CUdeviceptr)p->dst,
					  .pitch = p->pitch,
					  .value = p->value,
					  .elementSize = p->elementSize,
					  .width = p->width,
					  .height = p->height};

	return RT_PLAIN(cuGraphAddMemsetNode, node, graph, dependencies, count, &wanted,
			rt_context());
}

cudaError_t rt_cudaGraphAddHostNode(cudaGraphNode_t *node, cudaGraph_t graph,
				    const cudaGraphNode_t *dependencies, size_t count,
				    const struct cudaHostNodeParams *params)
{
	CUDA_HOST_NODE_PARAMS wanted = {.fn = params->fn, .userData = params->userData};

	return RT_PLAIN(cuGraphAddHostNode, node, graph, dependencies, count, &wanted);
}

cudaError_t rt_cudaGraphAddEmptyNode(cudaGraphNode_t *node, cudaGraph_t graph,
				     const cudaGraphNode_t *dependencies, size_t count)
{
	return RT_PLAIN(cuGraphAddEmptyNode, node, graph, dependencies, count);
}

cudaError_t rt_cudaGraphAddChildGraphNode(cudaGraphNode_t *node, cudaGraph_t graph,
					  const cudaGraphNode_t *dependencies, size_t count,
					  cudaGraph_t child)
{
	return RT_PLAIN(cuGraphAddChildGraphNode, node, graph, dependencies, count, child);
}

cudaError_t rt_cudaGraphAddEventRecordNode(cudaGraphNode_t *node, cudaGraph_t graph,
					   const cudaGraphNode_t *dependencies, size_t count,
					   cudaEvent_t event)
{
	return RT_PLAIN(cuGraphAddEventRecordNode, node, graph, dependencies, count, event);
}

cudaError_t rt_cudaGraphAddEventWaitNode(cudaGraphNode_t *node, cudaGraph_t graph,
					 const cudaGraphNode_t *dependencies, size_t count,
					 cudaEvent_t event)
{
	return RT_PLAIN(cuGraphAddEventWaitNode, node, graph, dependencies, count, event);
}

cudaError_t rt_cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
					const cudaGraphNode_t *to, const cudaGraphEdgeData *edges,
					size_t count)
{
	return RT_PLAIN(cuGraphAddDependencies_v2, graph, from, to, (const CUgraphEdgeData *)edges,
			count);
}

cudaError_t rt_cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
{
	return RT_PLAIN(cuGraphGetNodes, graph, nodes, count);
}

cudaError_t rt_cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
{
	return RT_PLAIN(cuGraphGetRootNodes, graph, nodes, count);
}

cudaError_t rt_cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *type)
{
	return RT_PLAIN(cuGraphNodeGetType, node, (CUgraphNodeType *)type);
}

cudaError_t rt_cudaGraphDestroyNode(cudaGraphNode_t node)
{
	return RT_PLAIN(cuGraphDestroyNode, node);
}

cudaError_t rt_cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph,
				    unsigned long long flags)
{
	return RT_PLAIN(cuGraphInstantiateWithFlags, exec, graph, flags);
}

cudaError_t rt_cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t graph,
					     unsigned long long flags)
{
	return RT_PLAIN(cuGraphInstantiateWithFlags, exec, graph, flags);
}

cudaError_t rt_cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
				   cudaGraphExecUpdateResultInfo *info)
{
	return RT_PLAIN(cuGraphExecUpdate_v2, exec, graph, (CUgraphExecUpdateResultInfo *)info);
}

cudaError_t rt_cudaGraphExecDestroy(cudaGraphExec_t exec)
{
	return RT_PLAIN(cuGraphExecDestroy, exec);
}

cudaError_t rt_cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream)
{
	return RT_CALL(cuGraphUpload, _ptsz, exec, stream);
}

cudaError_t rt_cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
	return RT_CALL(cuGraphLaunch, _ptsz, exec, stream);
}

cudaError_t rt_cudaGraphInstantiateWithParams(cudaGraphExec_t *exec, cudaGraph_t graph,
					      cudaGraphInstantiateParams *params)
{
	return RT_PLAIN(cuGraphInstantiateWithParams, exec, graph,
			(CUDA_GRAPH_INSTANTIATE_PARAMS *)params);
}

cudaError_t rt_cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
						const struct cudaMemcpy3DParms *params)
{
	CUDA_MEMCPY3D desc;
	cudaError_t error = rt_copy_desc(params, &desc);

	return error ? error
		     : RT_PLAIN(cuGraphExecMemcpyNodeSetParams, exec, node, &desc, rt_context());
}

cudaError_t rt_cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node,
						  void *dst, const void *src, size_t bytes,
						  enum cudaMemcpyKind kind)
{
	struct cudaMemcpy3DParms params = {.srcPtr = {(void *)src, bytes, bytes, 1},
					   .dstPtr = {dst, bytes, bytes, 1},
					   .extent = {bytes, 1, 1},
					   .kind = kind};

	return rt_cudaGraphExecMemcpyNodeSetParams(exec, node, &params);
}

cudaError_t rt_cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
						const struct cudaMemsetParams *p)
{
	CUDA_MEMSET_NODE_PARAMS wanted = {.dst = (CUdeviceptr)p->dst,
					  .pitch = p->pitch,
					  .value = p->value,
					  .elementSize = p->elementSize,
					  .width = p->width,
					  .height = p->height};

	return RT_PLAIN(cuGraphExecMemsetNodeSetParams, exec, node, &wanted, rt_context());
}

cudaError_t rt_cudaGraphExecHostNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
					      const struct cudaHostNodeParams *params)
{
	CUDA_HOST_NODE_PARAMS wanted = {.fn = params->fn, .userData = params->userData};

	return RT_PLAIN(cuGraphExecHostNodeSetParams, exec, node, &wanted);
}

cudaError_t rt_cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
				 cudaGraphEdgeData *edges, size_t *count)
{
	return RT_PLAIN(cuGraphGetEdges_v2, graph, from, to, (CUgraphEdgeData *)edges, count);
}

cudaError_t rt_cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *nodes,
					    cudaGraphEdgeData *edges, size_t *count)
{
	return RT_PLAIN(cuGraphNodeGetDependencies_v2, node, nodes, (CUgraphEdgeData *)edges,
			count);
}

cudaError_t rt_cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *nodes,
					      cudaGraphEdgeData *edges, size_t *count)
{
	return RT_PLAIN(cuGraphNodeGetDependentNodes_v2, node, nodes, (CUgraphEdgeData *)edges,
			count);
}

cudaError_t rt_cudaGraphNodeSetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node,
				       unsigned int enabled)
{
	return RT_PLAIN(cuGraphNodeSetEnabled, exec, node, enabled);
}

cudaError_t rt_cudaGraphNodeGetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node,
				       unsigned int *enabled)
{
	return RT_PLAIN(cuGraphNodeGetEnabled, exec, node, enabled);
}

cudaError_t rt_cudaGraphNodeFindInClone(cudaGraphNode_t *node, cudaGraphNode_t original,
					cudaGraph_t clone)
{
	return RT_PLAIN(cuGraphNodeFindInClone, node, original, clone);
}

cudaError_t rt_cudaGraphExecGetFlags(cudaGraphExec_t exec, unsigned long long *flags)
{
	return RT_PLAIN(cuGraphExecGetFlags, exec, (cuuint64_t *)flags);
}

cudaError_t rt_cudaGraphDebugDotPrint(cudaGraph_t graph, const char *path, unsigned int flags)
{
	return RT_PLAIN(cuGraphDebugDotPrint, graph, path, flags);
}

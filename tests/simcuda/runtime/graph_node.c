/* SPDX-License-Identifier: Apache-2.0
 *
 * Graph nodes: their parameters, attributes, memory and conditions, and what a graph holds. The
 * runtime's structs turned into the driver's. One thread per graph.
 */
#include "runtime/runtime.h"

#include <string.h>

static struct cudaMemcpy3DParms copy_1d(void *dst, const void *src, size_t bytes,
					enum cudaMemcpyKind kind)
{
	return (struct cudaMemcpy3DParms){.srcPtr = {(void *)src, bytes, bytes, 1},
					  .dstPtr = {dst, bytes, bytes, 1},
					  .extent = {bytes, 1, 1},
					  .kind = kind};
}

cudaError_t rt_cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node,
					    const struct cudaMemcpy3DParms *params)
{
	CUDA_MEMCPY3D desc;
	cudaError_t error = rt_copy_desc(params, &desc);

	return error ? error : RT_PLAIN(cuGraphMemcpyNodeSetParams, node, &desc);
}

cudaError_t rt_cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void *dst, const void *src,
					      size_t bytes, enum cudaMemcpyKind kind)
{
	struct cudaMemcpy3DParms params = copy_1d(dst, src, bytes, kind);

	return rt_cudaGraphMemcpyNodeSetParams(node, &params);
}

static enum cudaMemcpyKind kind_of(const CUDA_MEMCPY3D *desc)
{
	static const enum cudaMemcpyKind kinds[2][2] = {
		{cudaMemcpyHostToHost, cudaMemcpyHostToDevice},
		{cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice}};

	return kinds[desc->srcMemoryType != CU_MEMORYTYPE_HOST]
		    [desc->dstMemoryType != CU_MEMORYTYPE_HOST];
}

cudaError_t rt_cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, struct cudaMemcpy3DParms *params)
{
	CUDA_MEMCPY3D d;
	cudaError_t error = RT_PLAIN(cuGraphMemcpyNodeGetParams, node, &d);

	if (error)
		return error;
	cudaArray_t src = (cudaArray_t)d.srcArray, dst = (cudaArray_t)d.dstArray;
	size_t element = rt_array_element(src ? src : dst);
	*params = (struct cudaMemcpy3DParms){
		.srcArray = src,
		.srcPos = {d.srcXInBytes / rt_array_element(src), d.srcY, d.srcZ},
		.dstArray = dst,
		.dstPos = {d.dstXInBytes / rt_array_element(dst), d.dstY, d.dstZ},
		.extent = {d.WidthInBytes / element, d.Height, d.Depth},
		.kind = kind_of(&d)};
	if (!src)
		params->srcPtr = (struct cudaPitchedPtr){(void *)d.srcDevice, d.srcPitch,
							 d.WidthInBytes, d.srcHeight};
	if (!dst)
		params->dstPtr = (struct cudaPitchedPtr){(void *)d.dstDevice, d.dstPitch,
							 d.WidthInBytes, d.dstHeight};
	return cudaSuccess;
}

/* One side of a copy is a variable of the program. */
static cudaError_t copy_symbol(const void *symbol, bool is_source, const void *other, size_t bytes,
			       size_t offset, enum cudaMemcpyKind kind,
			       struct cudaMemcpy3DParms *ret)
{
	char *variable;
	cudaError_t error = rt_variable_part(symbol, bytes, offset, &variable);

	if (!error)
		*ret = is_source ? copy_1d((void *)other, variable, bytes, kind)
				 : copy_1d(variable, other, bytes, kind);
	return error;
}

cudaError_t rt_cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t *node, cudaGraph_t graph,
					      const cudaGraphNode_t *dependencies, size_t count,
					      const void *symbol, const void *src, size_t bytes,
					      size_t offset, enum cudaMemcpyKind kind)
{
	struct cudaMemcpy3DParms params;
	cudaError_t error = copy_symbol(symbol, false, src, bytes, offset, kind, &params);

	return error ? error : rt_cudaGraphAddMemcpyNode(node, graph, dependencies, count, &params);
}

cudaError_t rt_cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t *node, cudaGraph_t graph,
						const cudaGraphNode_t *dependencies, size_t count,
						void *dst, const void *symbol, size_t bytes,
						size_t offset, enum cudaMemcpyKind kind)
{
	struct cudaMemcpy3DParms params;
	cudaError_t error = copy_symbol(symbol, true, dst, bytes, offset, kind, &params);

	return error ? error : rt_cudaGraphAddMemcpyNode(node, graph, dependencies, count, &params);
}

cudaError_t rt_cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node, const void *symbol,
						    const void *src, size_t bytes, size_t offset,
						    enum cudaMemcpyKind kind)
{
	struct cudaMemcpy3DParms params;
	cudaError_t error = copy_symbol(symbol, false, src, bytes, offset, kind, &params);

	return error ? error : rt_cudaGraphMemcpyNodeSetParams(node, &params);
}

cudaError_t rt_cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void *dst,
						      const void *symbol, size_t bytes,
						      size_t offset, enum cudaMemcpyKind kind)
{
	struct cudaMemcpy3DParms params;
	cudaError_t error = copy_symbol(symbol, true, dst, bytes, offset, kind, &params);

	return error ? error : rt_cudaGraphMemcpyNodeSetParams(node, &params);
}

cudaError_t rt_cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t exec, cudaGraphNode_t node,
							const void *symbol, const void *src,
							size_t bytes, size_t offset,
							enum cudaMemcpyKind kind)
{
	struct cudaMemcpy3DParms params;
	cudaError_t error = copy_symbol(symbol, false, src, bytes, offset, kind, &params);

	return error ? error : rt_cudaGraphExecMemcpyNodeSetParams(exec, node, &params);
}

cudaError_t rt_cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t exec,
							  cudaGraphNode_t node, void *dst,
							  const void *symbol, size_t bytes,
							  size_t offset, enum cudaMemcpyKind kind)
{
	struct cudaMemcpy3DParms params;
	cudaError_t error = copy_symbol(symbol, true, dst, bytes, offset, kind, &params);

	return error ? error : rt_cudaGraphExecMemcpyNodeSetParams(exec, node, &params);
}

cudaError_t rt_cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const struct cudaMemsetParams *p)
{
	CUDA_MEMSET_NODE_PARAMS wanted = {.dst = (CUdeviceptr)p->dst,
					  .pitch = p->pitch,
					  .value = p->value,
					  .elementSize = p->elementSize,
					  .width = p->width,
					  .height = p->height};

	return RT_PLAIN(cuGraphMemsetNodeSetParams, node, &wanted);
}

cudaError_t rt_cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, struct cudaMemsetParams *params)
{
	CUDA_MEMSET_NODE_PARAMS got;
	cudaError_t error = RT_PLAIN(cuGraphMemsetNodeGetParams, node, &got);

	if (!error)
		*params = (struct cudaMemsetParams){.dst = (void *)got.dst,
						    .pitch = got.pitch,
						    .value = got.value,
						    .elementSize = got.elementSize,
						    .width = got.width,
						    .height = got.height};
	return error;
}

cudaError_t rt_cudaGraphHostNodeSetParams(cudaGraphNode_t node,
					  const struct cudaHostNodeParams *params)
{
	CUDA_HOST_NODE_PARAMS wanted = {.fn = params->fn, .userData = params->userData};

	return RT_PLAIN(cuGraphHostNodeSetParams, node, &wanted);
}

cudaError_t rt_cudaGraphHostNodeGetParams(cudaGraphNode_t node, struct cudaHostNodeParams *params)
{
	CUDA_HOST_NODE_PARAMS got;
	cudaError_t error = RT_PLAIN(cuGraphHostNodeGetParams, node, &got);

	if (!error)
		*params = (struct cudaHostNodeParams){.fn = got.fn, .userData = got.userData};
	return error;
}

cudaError_t rt_cudaGraphEventRecordNodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event)
{
	return RT_PLAIN(cuGraphEventRecordNodeGetEvent, node, event);
}

cudaError_t rt_cudaGraphEventRecordNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event)
{
	return RT_PLAIN(cuGraphEventRecordNodeSetEvent, node, event);
}

cudaError_t rt_cudaGraphExecEventRecordNodeSetEvent(cudaGraphExec_t exec, cudaGraphNode_t node,
						    cudaEvent_t event)
{
	return RT_PLAIN(cuGraphExecEventRecordNodeSetEvent, exec, node, event);
}

cudaError_t rt_cudaGraphEventWaitNodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event)
{
	return RT_PLAIN(cuGraphEventWaitNodeGetEvent, node, event);
}

cudaError_t rt_cudaGraphEventWaitNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event)
{
	return RT_PLAIN(cuGraphEventWaitNodeSetEvent, node, event);
}

cudaError_t rt_cudaGraphExecEventWaitNodeSetEvent(cudaGraphExec_t exec, cudaGraphNode_t node,
						  cudaEvent_t event)
{
	return RT_PLAIN(cuGraphExecEventWaitNodeSetEvent, exec, node, event);
}

cudaError_t rt_cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t *graph)
{
	return RT_PLAIN(cuGraphChildGraphNodeGetGraph, node, graph);
}

cudaError_t rt_cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
						    cudaGraph_t child)
{
	return RT_PLAIN(cuGraphExecChildGraphNodeSetParams, exec, node, child);
}

static struct cudaKernelNodeParams kernel_of(const struct cudaGraphNodeParams *params)
{
	return (struct cudaKernelNodeParams){.func = params->kernel.func,
					     .gridDim = params->kernel.gridDim,
					     .blockDim = params->kernel.blockDim,
					     .sharedMemBytes = params->kernel.sharedMemBytes,
					     .kernelParams = params->kernel.kernelParams,
					     .extra = params->kernel.extra};
}

/* The runtime's struct has the driver's shape but for kernels and copies. */
cudaError_t rt_cudaGraphAddNode(cudaGraphNode_t *node, cudaGraph_t graph,
				const cudaGraphNode_t *dependencies, const cudaGraphEdgeData *edges,
				size_t count, struct cudaGraphNodeParams *params)
{
	if (params->type == cudaGraphNodeTypeMemcpy)
		return rt_cudaGraphAddMemcpyNode(node, graph, dependencies, count,
						 &params->memcpy.copyParams);
	if (params->type == cudaGraphNodeTypeKernel) {
		struct cudaKernelNodeParams kernel = kernel_of(params);

		return rt_cudaGraphAddKernelNode(node, graph, dependencies, count, &kernel);
	}
	return RT_PLAIN(cuGraphAddNode_v2, node, graph, dependencies,
			(const CUgraphEdgeData *)edges, count, (CUgraphNodeParams *)params);
}

cudaError_t rt_cudaGraphNodeSetParams(cudaGraphNode_t node, struct cudaGraphNodeParams *params)
{
	if (params->type == cudaGraphNodeTypeMemcpy)
		return rt_cudaGraphMemcpyNodeSetParams(node, &params->memcpy.copyParams);
	if (params->type == cudaGraphNodeTypeKernel) {
		struct cudaKernelNodeParams kernel = kernel_of(params);

		return rt_cudaGraphKernelNodeSetParams(node, &kernel);
	}
	return RT_PLAIN(cuGraphNodeSetParams, node, (CUgraphNodeParams *)params);
}

cudaError_t rt_cudaGraphExecNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
					  struct cudaGraphNodeParams *params)
{
	if (params->type == cudaGraphNodeTypeMemcpy)
		return rt_cudaGraphExecMemcpyNodeSetParams(exec, node, &params->memcpy.copyParams);
	if (params->type == cudaGraphNodeTypeKernel) {
		struct cudaKernelNodeParams kernel = kernel_of(params);

		return rt_cudaGraphExecKernelNodeSetParams(exec, node, &kernel);
	}
	return RT_PLAIN(cuGraphExecNodeSetParams, exec, node, (CUgraphNodeParams *)params);
}

cudaError_t rt_cudaGraphKernelNodeSetAttribute(cudaGraphNode_t node, cudaKernelNodeAttrID which,
					       const cudaKernelNodeAttrValue *value)
{
	return RT_PLAIN(cuGraphKernelNodeSetAttribute, node, (CUkernelNodeAttrID)which,
			(const CUkernelNodeAttrValue *)value);
}

cudaError_t rt_cudaGraphKernelNodeGetAttribute(cudaGraphNode_t node, cudaKernelNodeAttrID which,
					       cudaKernelNodeAttrValue *value)
{
	return RT_PLAIN(cuGraphKernelNodeGetAttribute, node, (CUkernelNodeAttrID)which,
			(CUkernelNodeAttrValue *)value);
}

cudaError_t rt_cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t to, cudaGraphNode_t from)
{
	return RT_PLAIN(cuGraphKernelNodeCopyAttributes, to, from);
}

cudaError_t rt_cudaGraphAddMemAllocNode(cudaGraphNode_t *node, cudaGraph_t graph,
					const cudaGraphNode_t *dependencies, size_t count,
					struct cudaMemAllocNodeParams *params)
{
	return RT_PLAIN(cuGraphAddMemAllocNode, node, graph, dependencies, count,
			(CUDA_MEM_ALLOC_NODE_PARAMS *)params);
}

cudaError_t rt_cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node,
					      struct cudaMemAllocNodeParams *params)
{
	return RT_PLAIN(cuGraphMemAllocNodeGetParams, node, (CUDA_MEM_ALLOC_NODE_PARAMS *)params);
}

cudaError_t rt_cudaGraphAddMemFreeNode(cudaGraphNode_t *node, cudaGraph_t graph,
				       const cudaGraphNode_t *dependencies, size_t count,
				       void *address)
{
	return RT_PLAIN(cuGraphAddMemFreeNode, node, graph, dependencies, count,
			(CUdeviceptr)address);
}

cudaError_t rt_cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void *address)
{
	return RT_PLAIN(cuGraphMemFreeNodeGetParams, node, (CUdeviceptr *)address);
}

cudaError_t rt_cudaDeviceGetGraphMemAttribute(int device, enum cudaGraphMemAttributeType which,
					      void *value)
{
	return RT_PLAIN(cuDeviceGetGraphMemAttribute, device, (CUgraphMem_attribute)which, value);
}

cudaError_t rt_cudaDeviceSetGraphMemAttribute(int device, enum cudaGraphMemAttributeType which,
					      void *value)
{
	return RT_PLAIN(cuDeviceSetGraphMemAttribute, device, (CUgraphMem_attribute)which, value);
}

cudaError_t rt_cudaDeviceGraphMemTrim(int device)
{
	return RT_PLAIN(cuDeviceGraphMemTrim, device);
}

cudaError_t rt_cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *handle,
						cudaGraph_t graph, unsigned int default_value,
						unsigned int flags)
{
	return RT_PLAIN(cuGraphConditionalHandleCreate, (CUgraphConditionalHandle *)handle, graph,
			rt_context(), default_value, flags);
}

cudaError_t rt_cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
					   const cudaGraphNode_t *to,
					   const cudaGraphEdgeData *edges, size_t count)
{
	return RT_PLAIN(cuGraphRemoveDependencies_v2, graph, from, to,
			(const CUgraphEdgeData *)edges, count);
}

cudaError_t rt_cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t *nodes,
						   const cudaGraphEdgeData *edges, size_t count,
						   unsigned int flags)
{
	return RT_CALL(cuStreamUpdateCaptureDependencies_v2, _ptsz, stream, nodes,
		       (const CUgraphEdgeData *)edges, count, flags);
}

cudaError_t rt_cudaUserObjectCreate(cudaUserObject_t *object, void *data, cudaHostFn_t destroy,
				    unsigned int references, unsigned int flags)
{
	return RT_PLAIN(cuUserObjectCreate, object, data, destroy, references, flags);
}

cudaError_t rt_cudaUserObjectRetain(cudaUserObject_t object, unsigned int count)
{
	return RT_PLAIN(cuUserObjectRetain, object, count);
}

cudaError_t rt_cudaUserObjectRelease(cudaUserObject_t object, unsigned int count)
{
	return RT_PLAIN(cuUserObjectRelease, object, count);
}

cudaError_t rt_cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object,
					 unsigned int count, unsigned int flags)
{
	return RT_PLAIN(cuGraphRetainUserObject, graph, object, count, flags);
}

cudaError_t rt_cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object,
					  unsigned int count)
{
	return RT_PLAIN(cuGraphReleaseUserObject, graph, object, count);
}

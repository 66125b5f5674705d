/* SPDX-License-Identifier: Apache-2.0
 *
 * Versions of functions that a newer one replaced: they have their cbids and their signatures, and
 * do what the newer one does. Programs get at them through cuGetProcAddress with an older version.
 */
#include "driver/driver.h"

CUresult sim_cuCtxCreate(CUcontext *context, unsigned int flags, CUdevice device)
{
	return sim_cuCtxCreate_v2(context, flags, device);
}

CUresult sim_cuCtxDestroy(CUcontext context)
{
	return sim_cuCtxDestroy_v2(context);
}

CUresult sim_cuCtxPopCurrent(CUcontext *context)
{
	return sim_cuCtxPopCurrent_v2(context);
}

CUresult sim_cuCtxPushCurrent(CUcontext context)
{
	return sim_cuCtxPushCurrent_v2(context);
}

CUresult sim_cuDevicePrimaryCtxRelease(CUdevice device)
{
	return sim_cuDevicePrimaryCtxRelease_v2(device);
}

CUresult sim_cuDevicePrimaryCtxReset(CUdevice device)
{
	return sim_cuDevicePrimaryCtxReset_v2(device);
}

CUresult sim_cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned int flags)
{
	return sim_cuDevicePrimaryCtxSetFlags_v2(device, flags);
}

CUresult sim_cuStreamDestroy(CUstream stream)
{
	return sim_cuStreamDestroy_v2(stream);
}

CUresult sim_cuEventDestroy(CUevent event)
{
	return sim_cuEventDestroy_v2(event);
}

CUresult sim_cuMemHostRegister(void *address, size_t bytes, unsigned int flags)
{
	return sim_cuMemHostRegister_v2(address, bytes, flags);
}

CUresult sim_cuMemPrefetchAsync(CUdeviceptr address, size_t bytes, CUdevice device, CUstream stream)
{
	CUmemLocation location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device};

	return sim_cuMemPrefetchAsync_v2(address, bytes, location, 0, stream);
}

CUresult sim_cuMemAdvise(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUdevice device)
{
	CUmemLocation location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device};

	return sim_cuMemAdvise_v2(address, bytes, advice, location);
}

CUresult sim_cuMemcpyBatchAsync(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
				CUmemcpyAttributes *attributes, size_t *indices,
				size_t attribute_count, size_t *failed, CUstream stream)
{
	if (failed)
		*failed = SIZE_MAX; /* what a failure that is no single copy's gives */
	return sim_cuMemcpyBatchAsync_v2(dsts, srcs, sizes, count, attributes, indices,
					 attribute_count, stream);
}

CUresult sim_cuMemcpy3DBatchAsync(size_t count, CUDA_MEMCPY3D_BATCH_OP *list, size_t *failed,
				  unsigned long long flags, CUstream stream)
{
	if (failed)
		*failed = SIZE_MAX;
	return sim_cuMemcpy3DBatchAsync_v2(count, list, flags, stream);
}

CUresult sim_cuLinkCreate(unsigned int count, CUjit_option *options, void **values,
			  CUlinkState *state)
{
	return sim_cuLinkCreate_v2(count, options, values, state);
}

CUresult sim_cuLinkAddData(CUlinkState state, CUjitInputType type, void *data, size_t size,
			   const char *name, unsigned int count, CUjit_option *options,
			   void **values)
{
	return sim_cuLinkAddData_v2(state, type, data, size, name, count, options, values);
}

CUresult sim_cuStreamBeginCapture(CUstream stream)
{
	return sim_cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CUresult sim_cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id)
{
	return sim_cuStreamGetCaptureInfo_v2(stream, status, id, NULL, NULL, NULL);
}

CUresult sim_cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode *nodes, size_t count,
					       unsigned int flags)
{
	return sim_cuStreamUpdateCaptureDependencies_v2(stream, nodes, NULL, count, flags);
}

CUresult sim_cuGraphInstantiate(CUgraphExec *exec, CUgraph graph, CUgraphNode *error_node,
				char *log, size_t log_size)
{
	return sim_cuGraphInstantiate_v2(exec, graph, error_node, log, log_size);
}

CUresult sim_cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode *error_node,
			       CUgraphExecUpdateResult *outcome)
{
	CUgraphExecUpdateResultInfo info = {.result = CU_GRAPH_EXEC_UPDATE_ERROR};
	CUresult result = sim_cuGraphExecUpdate_v2(exec, graph, &info);

	if (error_node)
		*error_node = info.errorNode;
	if (outcome)
		*outcome = info.result;
	return result;
}

CUresult sim_cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
	CUDA_KERNEL_NODE_PARAMS full;
	CUresult result =
		params ? sim_cuGraphKernelNodeGetParams_v2(node, &full) : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		*params = (CUDA_KERNEL_NODE_PARAMS_v1){.func = full.func,
						       .gridDimX = full.gridDimX,
						       .gridDimY = full.gridDimY,
						       .gridDimZ = full.gridDimZ,
						       .blockDimX = full.blockDimX,
						       .blockDimY = full.blockDimY,
						       .blockDimZ = full.blockDimZ,
						       .sharedMemBytes = full.sharedMemBytes,
						       .kernelParams = full.kernelParams,
						       .extra = full.extra};
	return result;
}

CUresult sim_cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *nodes, size_t *count)
{
	return sim_cuGraphNodeGetDependencies_v2(node, nodes, NULL, count);
}

CUresult sim_cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *nodes, size_t *count)
{
	return sim_cuGraphNodeGetDependentNodes_v2(node, nodes, NULL, count);
}

CUresult sim_cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
				    size_t count)
{
	return sim_cuGraphAddDependencies_v2(graph, from, to, NULL, count);
}

CUresult sim_cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode *from,
				       const CUgraphNode *to, size_t count)
{
	return sim_cuGraphRemoveDependencies_v2(graph, from, to, NULL, count);
}

CUresult sim_cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *count)
{
	return sim_cuGraphGetEdges_v2(graph, from, to, NULL, count);
}

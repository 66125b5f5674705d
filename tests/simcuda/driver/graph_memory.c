/* SPDX-License-Identifier: Apache-2.0
 *
 * Graph nodes that allocate and free. The memory is there when the node is made and stays until the
 * process ends: an executable graph may outlive the graph, and uses the same address again.
 */
#include "driver/graph.h"

#include <string.h>

/* Bytes in graphs of each device. */
static _Atomic uint64_t used[SIM_MAX_DEVICES];
static _Atomic uint64_t used_high[SIM_MAX_DEVICES];

CUresult sim_graph_alloc_work(CUDA_MEM_ALLOC_NODE_PARAMS *params, struct sim_work *ret_work)
{
	struct sim_allocation memory, listed;

	if (!params || !params->bytesize || !sim_device_find(params->poolProps.location.id))
		return CUDA_ERROR_INVALID_VALUE;
	CUresult result = sim_memory_new(SIM_MEMORY_DEVICE, params->bytesize, &memory);
	if (result)
		return result;
	sim_memory_remove(memory.address, &listed);
	listed.in_graph = true;
	sim_memory_add(&listed);
	int device = params->poolProps.location.id;
	sim_raise(&used_high[device], atomic_fetch_add(&used[device], memory.bytes) + memory.bytes);
	params->dptr = memory.address;
	*ret_work = (struct sim_work){.kind = SIM_WORK_ALLOC,
				      .memory = {memory.address, memory.bytes, device}};
	return CUDA_SUCCESS;
}

CUresult sim_graph_free_work(CUdeviceptr address, struct sim_work *ret_work)
{
	struct sim_allocation memory;

	if (!address || !sim_memory_find((void *)address, &memory) || !memory.in_graph)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_work = (struct sim_work){.kind = SIM_WORK_FREE, .memory = {address, memory.bytes, 0}};
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphAddMemAllocNode(CUgraphNode *node, CUgraph graph,
				    const CUgraphNode *dependencies, size_t count,
				    CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
	struct sim_work work;
	CUresult result = sim_graph_alloc_work(params, &work);

	return result ? result : sim_graph_add_work(node, graph, dependencies, count, &work);
}

CUresult sim_cuGraphAddMemFreeNode(CUgraphNode *node, CUgraph graph,
				   const CUgraphNode *dependencies, size_t count,
				   CUdeviceptr address)
{
	struct sim_work work;
	CUresult result = sim_graph_free_work(address, &work);

	return result ? result : sim_graph_add_work(node, graph, dependencies, count, &work);
}

CUresult sim_cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
	if (!node || !params || node->type != CU_GRAPH_NODE_TYPE_MEM_ALLOC)
		return CUDA_ERROR_INVALID_VALUE;
	memset(params, 0, sizeof(*params));
	params->poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
	params->poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	params->poolProps.location.id = node->work.memory.device;
	params->bytesize = node->work.memory.bytes;
	params->dptr = node->work.memory.address;
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr *address)
{
	if (!node || !address || node->type != CU_GRAPH_NODE_TYPE_MEM_FREE)
		return CUDA_ERROR_INVALID_VALUE;
	*address = node->work.memory.address;
	return CUDA_SUCCESS;
}

/* What is reserved is what is used. */
CUresult sim_cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute which, void *value)
{
	bool is_high = which == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH ||
		       which == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH;

	if (!sim_device_find(device) || !value)
		return value ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_INVALID_VALUE;
	*(cuuint64_t *)value = is_high ? used_high[device] : used[device];
	return CUDA_SUCCESS;
}

CUresult sim_cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute which, void *value)
{
	if (!sim_device_find(device))
		return CUDA_ERROR_INVALID_DEVICE;
	if (!value || *(cuuint64_t *)value ||
	    !(which == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH ||
	      which == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH))
		return CUDA_ERROR_INVALID_VALUE;
	used_high[device] = used[device];
	return CUDA_SUCCESS;
}

CUresult sim_cuDeviceGraphMemTrim(CUdevice device)
{
	return sim_device_find(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

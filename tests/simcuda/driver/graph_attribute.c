/* SPDX-License-Identifier: Apache-2.0
 *
 * Launch attributes of kernel nodes. Those of the kernel's shape change what the device reports;
 * a program that reads one back finds what it set. One thread per graph.
 */
#include "driver/graph.h"

#include <stdlib.h>
#include <string.h>

#include <cupti_activity.h>

static bool is_kernel(CUgraphNode node)
{
	return node && node->type == CU_GRAPH_NODE_TYPE_KERNEL;
}

static void apply(struct sim_kernel_facts *facts, CUkernelNodeAttrID which,
		  const CUkernelNodeAttrValue *value)
{
	if (which == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
		facts->launch_type = value->cooperative
					     ? CUPTI_ACTIVITY_LAUNCH_TYPE_COOPERATIVE_SINGLE_DEVICE
					     : CUPTI_ACTIVITY_LAUNCH_TYPE_REGULAR;
	if (which == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
		facts->cluster[0] = value->clusterDim.x;
		facts->cluster[1] = value->clusterDim.y;
		facts->cluster[2] = value->clusterDim.z;
	}
}

CUresult sim_cuGraphKernelNodeSetAttribute(CUgraphNode node, CUkernelNodeAttrID which,
					   const CUkernelNodeAttrValue *value)
{
	if (!is_kernel(node) || !value || (unsigned int)which >= SIM_STREAM_ATTRIBUTES)
		return CUDA_ERROR_INVALID_VALUE;
	if (!node->attributes)
		node->attributes = calloc(SIM_STREAM_ATTRIBUTES, sizeof(*node->attributes));
	if (!node->attributes)
		return CUDA_ERROR_OUT_OF_MEMORY;
	node->attributes[which] = *value;
	apply(&node->work.kernel.facts, which, value);
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphKernelNodeGetAttribute(CUgraphNode node, CUkernelNodeAttrID which,
					   CUkernelNodeAttrValue *value)
{
	if (!is_kernel(node) || !value || (unsigned int)which >= SIM_STREAM_ATTRIBUTES)
		return CUDA_ERROR_INVALID_VALUE;
	memset(value, 0, sizeof(*value));
	if (node->attributes)
		*value = node->attributes[which];
	return CUDA_SUCCESS;
}

void sim_graph_copy_attributes(CUgraphNode to, CUgraphNode from)
{
	size_t bytes = SIM_STREAM_ATTRIBUTES * sizeof(*to->attributes);

	if (!from->attributes)
		return;
	if (!to->attributes)
		to->attributes = malloc(bytes);
	if (to->attributes)
		memcpy(to->attributes, from->attributes, bytes);
}

CUresult sim_cuGraphKernelNodeCopyAttributes(CUgraphNode to, CUgraphNode from)
{
	if (!is_kernel(to) || !is_kernel(from))
		return CUDA_ERROR_INVALID_VALUE;
	sim_graph_copy_attributes(to, from);
	for (int i = 0; to->attributes && i < SIM_STREAM_ATTRIBUTES; i++)
		apply(&to->work.kernel.facts, (CUkernelNodeAttrID)i, &to->attributes[i]);
	return CUDA_SUCCESS;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * A graph as text for Graphviz. One thread per graph.
 */
#include "driver/graph.h"

#include <stdio.h>

static const char *const types[] = {
	[CU_GRAPH_NODE_TYPE_KERNEL] = "kernel",
	[CU_GRAPH_NODE_TYPE_MEMCPY] = "memcpy",
	[CU_GRAPH_NODE_TYPE_MEMSET] = "memset",
	[CU_GRAPH_NODE_TYPE_HOST] = "host",
	[CU_GRAPH_NODE_TYPE_GRAPH] = "graph",
	[CU_GRAPH_NODE_TYPE_EMPTY] = "empty",
	[CU_GRAPH_NODE_TYPE_WAIT_EVENT] = "wait",
	[CU_GRAPH_NODE_TYPE_EVENT_RECORD] = "record",
	[CU_GRAPH_NODE_TYPE_MEM_ALLOC] = "allocate",
	[CU_GRAPH_NODE_TYPE_MEM_FREE] = "free",
	[CU_GRAPH_NODE_TYPE_CONDITIONAL] = "conditional",
};

static void print_node(FILE *file, const struct CUgraphNode_st *node)
{
	const char *type = (size_t)node->type < sizeof(types) / sizeof(*types) && types[node->type]
				   ? types[node->type]
				   : "node";
	bool is_kernel = node->type == CU_GRAPH_NODE_TYPE_KERNEL;

	fprintf(file, "\"%llu\" [label=\"%s %s\"];\n", (unsigned long long)node->id, type,
		is_kernel ? node->work.kernel.facts.name : "");
	for (size_t i = 0; i < node->dependency_count; i++)
		fprintf(file, "\"%llu\" -> \"%llu\";\n",
			(unsigned long long)node->dependencies[i]->id,
			(unsigned long long)node->id);
}

CUresult sim_cuGraphDebugDotPrint(CUgraph graph, const char *path, unsigned int flags)
{
	FILE *file = graph && path ? fopen(path, "we") : NULL;

	if (!file)
		return graph && path ? CUDA_ERROR_OPERATING_SYSTEM : CUDA_ERROR_INVALID_VALUE;
	fprintf(file, "digraph \"graph_%u\" {\n", graph->id);
	for (size_t i = 0; i < graph->count; i++)
		print_node(file, graph->nodes[i]);
	fputs("}\n", file);
	return fclose(file) ? CUDA_ERROR_OPERATING_SYSTEM : CUDA_SUCCESS;
}

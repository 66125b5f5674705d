/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "pipeline/join/origins.h"

#include "collectors/cupti/graph_nodes.h"
#include "core/stack.h"

void gt_origins_start(struct gt_origins *origins)
{
	origins->nodes = gt_graph_nodes_start(origins->max_nodes);
}

uint64_t gt_origins_drain(const struct gt_origins *origins)
{
	return origins->nodes ? gt_graph_nodes_drain(origins->nodes) : 0;
}

uint64_t gt_origins_lost(const struct gt_origins *origins)
{
	return origins->nodes ? gt_graph_nodes_lost(origins->nodes) : 0;
}

static const struct gt_stack *find(const struct gt_origins *origins, uint64_t node)
{
	uint64_t key = origins->nodes ? gt_graph_nodes_find(origins->nodes, node) : 0;

	return key ? gt_stacks_last(origins->stacks, key) : NULL;
}

static void fill_graph(const struct gt_origins *origins, struct gt_graph_event *graph)
{
	graph->created = find(origins, graph->graph_id);
	if (origins->nodes)
		graph->nodes = gt_graph_nodes_count(origins->nodes, graph->graph_id);
}

void gt_origins_fill(const struct gt_origins *origins, struct gt_event *event)
{
	if (event->kind == GT_EVENT_KERNEL && event->kernel.graph_node_id)
		event->kernel.created = find(origins, event->kernel.graph_node_id);
	else if ((event->kind == GT_EVENT_MEMCPY || event->kind == GT_EVENT_MEMSET) &&
		 event->memory.graph_node_id)
		event->memory.created = find(origins, event->memory.graph_node_id);
	else if (event->kind == GT_EVENT_SYNC && event->sync.graph_node_id)
		event->sync.created = find(origins, event->sync.graph_node_id);
	else if (event->kind == GT_EVENT_GRAPH)
		fill_graph(origins, &event->graph);
}

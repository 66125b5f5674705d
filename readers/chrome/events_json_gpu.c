/* SPDX-License-Identifier: Apache-2.0
 *
 * Records of GPU work: kernels, copies, sets, graphs, synchronization. One thread per reading.
 */
#include <stdio.h>
#include <string.h>

#include "core/schema/event_names.h"
#include "readers/chrome/block_args.h"
#include "readers/chrome/events_json_args.h"
#include "readers/chrome/events_json_kinds.h"

/* More than the name of the kernel does. */
static bool tells_collective(const struct gt_events_json *json)
{
	static const char *const facts[] = {"Group size", "Process Group Name", "In msg nelems",
					    "sent bytes", "received bytes"};

	if (!gt_arg_is_there(json, "Collective name") && !gt_arg_is_there(json, "fused operations"))
		return false;
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
		if (gt_arg_is_there(json, facts[i]))
			return true;
	return false;
}

static void make_kernel(struct gt_events_json *json, const struct gt_trace_event *r,
			struct gt_event *event)
{
	struct gt_kernel_event *kernel = &event->kernel;
	uint64_t base = (uint64_t)json->base, queued = gt_arg_number(json, "queued");
	uint64_t submitted = gt_arg_number(json, "submitted");

	*kernel = (struct gt_kernel_event){
		.name = gt_events_json_string(json, &r->name),
		.mangled = gt_arg_string(json, "mangled name"),
		.queued = queued ? queued + base : 0,
		.submitted = submitted ? submitted + base : 0,
		.registers = (uint32_t)gt_arg_number(json, "registers per thread"),
		.static_shared = (uint32_t)gt_arg_number(json, "static shared memory"),
		.dynamic_shared = (uint32_t)gt_arg_number(json, "dynamic shared memory"),
		.shared_executed = (uint32_t)gt_arg_number(json, "shared memory executed"),
		.local_per_thread = (uint32_t)gt_arg_number(json, "local memory per thread"),
		.graph_id = (uint32_t)gt_arg_number(json, "graph id"),
		.graph_node_id = gt_arg_number(json, "graph node id"),
		.grid_id = gt_arg_number(json, "grid id"),
		.cooperative = gt_arg_is_there(json, "cooperative"),
		.has_priority = gt_arg_is_there(json, "priority"),
		.priority = (int32_t)gt_arg_number(json, "priority"),
		.has_occupancy = gt_arg_is_there(json, "blocks per SM"),
		.blocks_per_sm_micro = gt_arg_micro(json, "blocks per SM"),
		.warps_per_sm_micro = gt_arg_micro(json, "warps per SM"),
		.est_occupancy_percent = (uint32_t)gt_arg_number(json, "est. achieved occupancy %"),
		.theoretical_occupancy_percent =
			(uint32_t)gt_arg_number(json, "theoretical occupancy %"),
		.created = gt_events_json_stack(json, "created stack", "created frames",
						"created modules")};
	/* the short form has the sum and, if it is not 0, the static part */
	if (!kernel->dynamic_shared) {
		uint32_t sum = (uint32_t)gt_arg_number(json, "shared memory");

		kernel->dynamic_shared =
			sum > kernel->static_shared ? sum - kernel->static_shared : 0;
	}
	if (gt_arg_is_there(json, "library call") || tells_collective(json))
		kernel->library = gt_library_args(&r->args, NULL);
	gt_arg_triple(json, "grid", kernel->grid);
	gt_arg_triple(json, "block", kernel->block);
	gt_arg_triple(json, "cluster", kernel->cluster);
}

/* "Memcpy HtoD (Pinned -> Device)", "Memset (Device)" */
static void memory_kinds(const struct gt_string *name, struct gt_memory_event *memory)
{
	const char *text = name ? name->text : "", *open = strchr(text, '(');
	const char *flow = open ? strstr(open, " -> ") : NULL,
		   *close = open ? strchr(open, ')') : NULL;

	if (!close)
		return;
	if (!flow) {
		memory->dst = gt_event_find_memory(open + 1, (size_t)(close - open) - 1);
		return;
	}
	memory->src = gt_event_find_memory(open + 1, (size_t)(flow - open) - 1);
	memory->dst = gt_event_find_memory(flow + 4, (size_t)(close - flow) - 4);
	if (!strncmp(text, "Memcpy ", 7) && open > text + 8)
		memory->copy = gt_event_find_copy(text + 7, (size_t)(open - text) - 8);
}

static void make_memory(struct gt_events_json *json, const struct gt_trace_event *r,
			struct gt_event *event)
{
	event->memory = (struct gt_memory_event){
		.bytes = gt_arg_number(json, "bytes"),
		.value = (uint32_t)gt_arg_number(json, "value"),
		.peer = gt_arg_is_there(json, "fromDevice"),
		.src_device = (uint32_t)gt_arg_number(json, "fromDevice"),
		.dst_device = (uint32_t)gt_arg_number(json, "toDevice"),
		.graph_id = (uint32_t)gt_arg_number(json, "graph id"),
		.graph_node_id = gt_arg_number(json, "graph node id"),
		.created = gt_events_json_stack(json, "created stack", "created frames",
						"created modules")};
	memory_kinds(gt_events_json_string(json, &r->name), &event->memory);
}

/* "Graph 7": with few details the id is only in the name. */
static void make_graph(struct gt_events_json *json, const struct gt_trace_event *r,
		       struct gt_event *event)
{
	const struct gt_string *name = gt_events_json_string(json, &r->name);

	event->graph = (struct gt_graph_event){
		.graph_id = (uint32_t)gt_arg_number(json, "graph id"),
		.nodes = (uint32_t)gt_arg_number(json, "nodes"),
		.has_end_device = gt_arg_is_there(json, "end device"),
		.end_device = (uint32_t)gt_arg_number(json, "end device"),
		.created = gt_events_json_stack(json, "created stack", "created frames",
						"created modules")};
	if (!event->graph.graph_id && name)
		sscanf(name->text, "Graph %u", &event->graph.graph_id);
}

static void make_sync(struct gt_events_json *json, const struct gt_trace_event *r,
		      struct gt_event *event)
{
	const struct gt_string *kind = gt_arg_string(json, "cuda_sync_kind");

	event->sync = (struct gt_sync_event){
		.kind = kind ? gt_event_find_sync(kind->text, kind->length) : GT_SYNC_UNKNOWN,
		.cuda_event = (uint32_t)gt_arg_number(json, "wait_on_cuda_event_id"),
		.has_wait_on = gt_arg_is_there(json, "wait_on_stream"),
		.wait_on_stream = (uint32_t)gt_arg_number(json, "wait_on_stream"),
		.wait_on_correlation =
			(uint32_t)gt_arg_number(json, "wait_on_cuda_event_record_corr_id"),
		.thread = (uint32_t)gt_arg_number(json, "thread"),
		.graph_id = (uint32_t)gt_arg_number(json, "graph id"),
		.graph_node_id = gt_arg_number(json, "graph node id"),
		.created = gt_events_json_stack(json, "created stack", "created frames",
						"created modules")};
}

int gt_events_json_gpu(struct gt_events_json *json, const struct gt_trace_event *r,
		       struct gt_event *event)
{
	int error;

	event->tid = 0;
	event->place = (struct gt_place){
		.device = json->parts.count ? gt_events_json_device(json, r)
					    : (uint32_t)gt_arg_number(json, "device"),
		.context = (uint32_t)gt_arg_number(json, "context"),
		.stream = (uint32_t)gt_arg_number(json, "stream"),
		.channel = (uint32_t)gt_arg_number(json, "channel"),
		.has_channel = gt_arg_is_there(json, "channel")};
	if (event->kind == GT_EVENT_KERNEL)
		make_kernel(json, r, event);
	else if (event->kind == GT_EVENT_SYNC)
		make_sync(json, r, event);
	else if (event->kind == GT_EVENT_GRAPH)
		make_graph(json, r, event);
	else
		make_memory(json, r, event);
	/* work whose call is in an earlier file has the call's data itself; in the order in which
	 * they are written, as the frames stand with the first use of a stack */
	event->launch.stack = gt_events_json_stack(json, "stack", "frames", "modules");
	event->launch.forward =
		gt_events_json_stack(json, "forward stack", "forward frames", "forward modules");
	event->launch.op = gt_arg_number(json, "External id");
	event->launch.nvtx = gt_arg_string(json, "nvtx");
	event->launch.known = event->launch.stack || event->launch.op || event->launch.nvtx;
	error = gt_events_give(json->events, event);
	if (gt_events_json_is_flow_end(json, event))
		json->open_flow = event->correlation;
	return error;
}

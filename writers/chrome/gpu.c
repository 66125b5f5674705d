/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines of GPU events, with Kineto's names and argument keys, and the flows from their calls. GPU
 * tracks: process = device index, thread = track number (core/tracks.h); args.stream is always
 * the stream id.
 */
#include "writers/chrome/chrome.h"

#include <stddef.h>
#include <string.h>

#include "core/json/flow_id.h"
#include "core/schema/collective.h"
#include "core/schema/event_names.h"

/* Stream of synchronization records that concern no particular stream. */
#define NO_STREAM UINT32_MAX

static void put_triple(struct gt_json *json, const uint32_t v[3])
{
	gt_json_char(json, '[');
	for (int i = 0; i < 3; i++) {
		gt_json_comma(json);
		gt_json_u64(json, v[i]);
	}
	gt_json_char(json, ']');
}

/* "device", "context", "stream", "correlation" */
static void put_place(struct gt_chrome *chrome, const struct gt_event *event)
{
	struct gt_json *json = &chrome->file.batch;
	/* after other arguments, it begins with a comma */
	bool first = json->length && json->text[json->length - 1] == '{';
	const uint32_t key[4] = {event->place.device, event->place.context, event->place.stream,
				 GT_CHROME_PART_PLACE + first};
	struct gt_chrome_short *slot = gt_chrome_short_slot(chrome->parts, key);
	size_t begin = json->length;

	if (!gt_chrome_short_put(slot, key, json)) {
		gt_json_member_u64(json, "device", event->place.device);
		gt_json_member_u64(json, "context", event->place.context);
		gt_json_member_u64(json, "stream", event->place.stream);
		gt_json_key(json, "correlation");
		gt_chrome_short_keep(slot, key, json, begin);
	}
	chrome->id.at = json->length;
	gt_json_put_u64(json, event->correlation);
	chrome->id.size = json->length - chrome->id.at;
}

/* The names of a stack's arguments. */
struct stack_keys {
	const char *words, *number, *frames, *modules;
};

static const struct stack_keys created_keys = {"created by", "created stack", "created frames",
					       "created modules"};
static const struct stack_keys forward_keys = {"forward by", "forward stack", "forward frames",
					       "forward modules"};

/* Prints a stack other than that of the launch, with its frames at its first use in the file. */
static void put_other_stack(struct gt_chrome *chrome, const struct stack_keys *keys,
			    const struct gt_stack *stack)
{
	struct gt_json *json = &chrome->file.batch;
	bool first;

	if (!stack)
		return;
	gt_json_key_text(json, keys->words);
	gt_chrome_put_launched_by(&chrome->texts, json, stack);
	gt_json_key_text(json, keys->number);
	gt_json_u64(json, stack->id);
	first = gt_chrome_first_use(&chrome->texts, stack);
	chrome->tally.stacks += first;
	if (!first && !chrome->options.full_stacks)
		return;
	gt_json_key_text(json, keys->frames);
	gt_chrome_put_frames(&chrome->texts, json, stack);
	gt_chrome_put_modules(&chrome->texts, json, keys->modules, stack);
}

/* Graph nodes: only the low half of the node's id, which fits a JSON number. */
static void put_graph(struct gt_chrome *chrome, uint32_t graph, uint64_t node,
		      const struct gt_stack *created)
{
	struct gt_json *json = &chrome->file.batch;

	if (graph && !chrome->options.few_details) {
		gt_json_member_u64(json, "graph id", graph);
		gt_json_member_u64(json, "graph node id", (uint32_t)node);
	}
	put_other_stack(chrome, &created_keys, created);
}

/* @brief: without what follows from the rest, and without what no reader uses. */
static void put_shared_memory(struct gt_json *json, const struct gt_kernel_event *kernel,
			      bool brief)
{
	gt_json_member_u64(json, "shared memory",
			   (uint64_t)kernel->static_shared + kernel->dynamic_shared);
	if (kernel->static_shared)
		gt_json_member_u64(json, "static shared memory", kernel->static_shared);
	if (kernel->dynamic_shared && !brief)
		gt_json_member_u64(json, "dynamic shared memory", kernel->dynamic_shared);
	if (kernel->shared_executed && !brief)
		gt_json_member_u64(json, "shared memory executed", kernel->shared_executed);
	if (kernel->local_per_thread)
		gt_json_member_u64(json, "local memory per thread", kernel->local_per_thread);
}

/* Of the device a trace may not say: what is not known is left out. */
static void put_occupancy(struct gt_json *json, const struct gt_kernel_event *kernel, bool brief)
{
	if (!kernel->has_occupancy)
		return;
	gt_json_key(json, "blocks per SM");
	gt_json_micro(json, kernel->blocks_per_sm_micro);
	if (brief || !kernel->warps_per_sm_micro)
		return;
	gt_json_key(json, "warps per SM");
	gt_json_micro(json, kernel->warps_per_sm_micro);
}

static void put_occupancy_percent(struct gt_json *json, const struct gt_kernel_event *kernel,
				  bool brief)
{
	if (!kernel->has_occupancy)
		return;
	gt_json_member_u64(json, "est. achieved occupancy %", kernel->est_occupancy_percent);
	if (!brief && kernel->theoretical_occupancy_percent)
		gt_json_member_u64(json, "theoretical occupancy %",
				   kernel->theoretical_occupancy_percent);
}

static void put_kernel_extras(struct gt_json *json, const struct gt_event *event, bool brief)
{
	const struct gt_kernel_event *kernel = &event->kernel;

	if (kernel->cluster[0] > 1 || kernel->cluster[1] > 1 || kernel->cluster[2] > 1) {
		gt_json_key(json, "cluster");
		put_triple(json, kernel->cluster);
	}
	if (kernel->cooperative) {
		gt_json_key(json, "cooperative");
		gt_json_bool(json, true);
	}
	if (event->place.has_channel && !brief)
		gt_json_member_u64(json, "channel", event->place.channel);
	if (kernel->has_priority && (kernel->priority || !brief))
		gt_json_member_i64(json, "priority", kernel->priority);
}

/* Kineto's "queued" (ns, 0: not measured) and values derived from it. */
static void put_queue(const struct gt_chrome *chrome, struct gt_json *json,
		      const struct gt_event *event)
{
	const struct gt_kernel_event *kernel = &event->kernel;

	if (kernel->queued || !chrome->options.brief)
		gt_json_member_u64(json, "queued", gt_chrome_time(chrome, kernel->queued));
	if (kernel->submitted)
		gt_json_member_u64(json, "submitted", gt_chrome_time(chrome, kernel->submitted));
	if (kernel->queued && event->start >= kernel->queued)
		gt_json_member_us(json, "queue delay (us)", event->start - kernel->queued);
}

static void put_configuration(struct gt_json *json, const struct gt_event *event, bool brief)
{
	const struct gt_kernel_event *kernel = &event->kernel;

	gt_json_member_u64(json, "registers per thread", kernel->registers);
	put_shared_memory(json, kernel, brief);
	put_occupancy(json, kernel, brief);
	gt_json_key(json, "grid");
	put_triple(json, kernel->grid);
	gt_json_key(json, "block");
	put_triple(json, kernel->block);
	put_occupancy_percent(json, kernel, brief);
	put_kernel_extras(json, event, brief);
}

static struct gt_chrome_launch_key launch_key(const struct gt_event *event, bool brief)
{
	const struct gt_kernel_event *kernel = &event->kernel;
	struct gt_chrome_launch_key key = {
		.flags = kernel->cooperative | kernel->has_priority << 1 |
			 kernel->has_occupancy << 2 | event->place.has_channel << 3,
		.priority = (uint32_t)kernel->priority,
		.channel = event->place.has_channel && !brief ? event->place.channel : 0,
		.est_percent = kernel->est_occupancy_percent,
		.percent = kernel->theoretical_occupancy_percent,
		.blocks = kernel->blocks_per_sm_micro,
		.warps = kernel->warps_per_sm_micro};

	_Static_assert(sizeof(key) == sizeof(key.sizes) + 6 * 4 + 2 * 8, "no padding in a key");
	_Static_assert(offsetof(struct gt_kernel_event, registers) ==
			       offsetof(struct gt_kernel_event, grid) + 4 * GT_CHROME_REGISTERS,
		       "where the registers are");
	_Static_assert(offsetof(struct gt_kernel_event, local_per_thread) + 4 ==
			       offsetof(struct gt_kernel_event, grid) + sizeof(key.sizes),
		       "the sizes are together");
	memcpy(key.sizes, kernel->grid, sizeof(key.sizes));
	return key;
}

/* Prints it, and keeps it in @part. False: that stays as it was. */
static bool put_new_launch(struct gt_chrome *chrome, const struct gt_event *event,
			   struct gt_chrome_launch_part *part,
			   const struct gt_chrome_launch_key *key)
{
	struct gt_json *json = &chrome->file.batch;
	size_t begin = json->length;

	put_configuration(json, event, chrome->options.brief);
	if (json->failed || json->length - begin > sizeof(part->text))
		return false;
	part->key = *key;
	part->length = (uint32_t)(json->length - begin);
	memcpy(part->text, json->text + begin, part->length);
	return true;
}

/* A channel is the stream's, not the configuration's. */
static bool has_channel(const struct gt_chrome_launch_part *part, const struct gt_event *event,
			bool brief)
{
	bool there = event->place.has_channel;

	return (part->key.flags >> 3 & 1) == there &&
	       (!there || brief || part->key.channel == event->place.channel);
}

static void put_known_launch(struct gt_chrome *chrome, const struct gt_event *event)
{
	struct gt_json *json = &chrome->file.batch;
	uint32_t configuration = event->kernel.configuration;
	struct gt_chrome_launch_key key = launch_key(event, chrome->options.brief);
	bool known;
	struct gt_chrome_launch_part *part = gt_chrome_launch_slot(chrome->parts, &key, &known);

	if (known)
		gt_json_raw(json, part->text, part->length);
	else if (!put_new_launch(chrome, event, part, &key))
		return;
	part->configuration = configuration;
	chrome->parts->recent[configuration % GT_CHROME_RECENT] = part;
}

/* The same for all launches of a configuration but its last argument. */
static void put_launch(struct gt_chrome *chrome, const struct gt_event *event)
{
	struct gt_json *json = &chrome->file.batch;
	const struct gt_chrome_launch_part *part =
		gt_chrome_launch_recent(chrome->parts, event->kernel.configuration);

	if (part && has_channel(part, event, chrome->options.brief))
		gt_json_raw(json, part->text, part->length);
	else
		put_known_launch(chrome, event);
	if (event->kernel.grid_id) {
		gt_json_next(json, "grid id");
		gt_json_u64(json, event->kernel.grid_id);
	}
}

/* The call of the library knows more than the name of its kernel. */
static void put_collective(struct gt_chrome *chrome, const struct gt_kernel_event *kernel)
{
	struct gt_json *json = &chrome->file.batch;
	const struct gt_string *name = kernel->name;
	struct gt_collective collective;

	if (gt_library_launches(&kernel->library)) {
		gt_chrome_put_library(json, &kernel->library, true);
		return;
	}
	if (!name || !gt_chrome_may_be_collective(&chrome->texts, name))
		return;
	if (!gt_collective_of_kernel(name->text, &collective)) {
		gt_chrome_is_no_collective(&chrome->texts, name);
		return;
	}
	gt_json_member_cstr(json, "Collective name", collective.name);
	if (collective.dtype)
		gt_json_member_cstr(json, "dtype", collective.dtype);
}

static void put_kernel_args(struct gt_chrome *chrome, const struct gt_event *event)
{
	struct gt_json *json = &chrome->file.batch;
	const struct gt_kernel_event *kernel = &event->kernel;
	bool all = !chrome->options.few_details;

	if (all)
		put_queue(chrome, json, event);
	put_place(chrome, event);
	if (all) {
		put_launch(chrome, event);
		put_collective(chrome, kernel);
	}
	if (all && kernel->mangled && gt_chrome_first_kernel(&chrome->texts, kernel->mangled)) {
		gt_json_key(json, "mangled name");
		gt_chrome_put_string(&chrome->texts, json, kernel->mangled);
	}
	put_graph(chrome, kernel->graph_id, kernel->graph_node_id, kernel->created);
}

/* Bytes per ns are GB per s; six decimals, rounded. */
static uint64_t bandwidth_micro(const struct gt_event *event)
{
	uint64_t ns = event->end - event->start;

	if (ns == 0 || event->end < event->start)
		return 0;
	return (uint64_t)(((unsigned __int128)event->memory.bytes * 1000000 + ns / 2) / ns);
}

static void put_transfer(struct gt_json *json, const struct gt_event *event, bool brief)
{
	const struct gt_memory_event *memory = &event->memory;

	gt_json_key(json, "memory bandwidth (GB/s)");
	gt_json_micro(json, bandwidth_micro(event));
	if (event->kind == GT_EVENT_MEMSET)
		gt_json_member_u64(json, "value", memory->value);
	if (memory->peer) {
		gt_json_member_u64(json, "fromDevice", memory->src_device);
		gt_json_member_u64(json, "toDevice", memory->dst_device);
	}
	if (event->place.has_channel && !brief)
		gt_json_member_u64(json, "channel", event->place.channel);
}

static void put_memory_args(struct gt_chrome *chrome, const struct gt_event *event)
{
	struct gt_json *json = &chrome->file.batch;
	const struct gt_memory_event *memory = &event->memory;

	put_place(chrome, event);
	gt_json_member_u64(json, "bytes", memory->bytes);
	if (!chrome->options.few_details)
		put_transfer(json, event, chrome->options.brief);
	put_graph(chrome, memory->graph_id, memory->graph_node_id, memory->created);
}

static void put_graph_args(struct gt_chrome *chrome, const struct gt_event *event)
{
	struct gt_json *json = &chrome->file.batch;
	const struct gt_graph_event *graph = &event->graph;

	put_place(chrome, event);
	if (!chrome->options.few_details) {
		gt_json_member_u64(json, "graph id", graph->graph_id);
		if (graph->nodes)
			gt_json_member_u64(json, "nodes", graph->nodes);
		if (graph->has_end_device)
			gt_json_member_u64(json, "end device", graph->end_device);
	}
	put_other_stack(chrome, &created_keys, graph->created);
}

static void put_sync_args(struct gt_chrome *chrome, const struct gt_event *event)
{
	struct gt_json *json = &chrome->file.batch;
	const struct gt_sync_event *sync = &event->sync;

	gt_json_member_cstr(json, "cuda_sync_kind", gt_event_name_sync(sync->kind));
	if (sync->has_wait_on) {
		gt_json_member_u64(json, "wait_on_stream", sync->wait_on_stream);
		gt_json_member_u64(json, "wait_on_cuda_event_record_corr_id",
				   sync->wait_on_correlation);
	}
	if (sync->cuda_event)
		gt_json_member_u64(json, "wait_on_cuda_event_id", sync->cuda_event);
	gt_json_key(json, "stream");
	if (event->place.stream == NO_STREAM)
		gt_json_i64(json, -1);
	else
		gt_json_u64(json, event->place.stream);
	gt_json_member_u64(json, "correlation", event->correlation);
	gt_json_member_u64(json, "device", event->place.device);
	gt_json_member_u64(json, "context", event->place.context);
	if (sync->thread && !chrome->options.few_details)
		gt_json_member_u64(json, "thread", sync->thread);
	put_graph(chrome, sync->graph_id, sync->graph_node_id, sync->created);
}

static void put_memcpy_name(struct gt_json *json, const struct gt_memory_event *memory)
{
	char text[80];

	gt_event_name_memcpy(memory, text, sizeof(text));
	gt_json_cstr(json, text);
}

static void put_memset_name(struct gt_json *json, const struct gt_memory_event *memory)
{
	char text[48];

	gt_event_name_memset(memory, text, sizeof(text));
	gt_json_cstr(json, text);
}

static void put_graph_name(struct gt_json *json, const struct gt_graph_event *graph)
{
	char text[24];

	gt_event_name_graph(graph, text, sizeof(text));
	gt_json_cstr(json, text);
}

/* {"ph": "X", "cat": ..., "name": ...; also sets the ledger key */
static void begin_gpu_slice(struct gt_chrome *chrome, const struct gt_event *event)
{
	struct gt_json *json = &chrome->file.batch;

	switch (event->kind) {
	case GT_EVENT_MEMCPY:
		gt_chrome_begin(json, "X", "gpu_memcpy");
		gt_chrome_name(json);
		put_memcpy_name(json, &event->memory);
		break;
	case GT_EVENT_MEMSET:
		gt_chrome_begin(json, "X", "gpu_memset");
		gt_chrome_name(json);
		put_memset_name(json, &event->memory);
		break;
	case GT_EVENT_GRAPH:
		gt_chrome_begin(json, "X", "gpu_graph");
		gt_chrome_name(json);
		put_graph_name(json, &event->graph);
		break;
	case GT_EVENT_SYNC:
		gt_chrome_begin(json, "X", "cuda_sync");
		gt_json_member_cstr(json, "name", gt_event_name_sync(event->sync.kind));
		break;
	default:
		gt_chrome_begin(json, "X", "kernel");
		gt_chrome_name(json);
		gt_chrome_put_string(&chrome->texts, json, event->kernel.name);
		break;
	}
}

static void put_gpu_args(struct gt_chrome *chrome, const struct gt_event *event)
{
	struct gt_json *json = &chrome->file.batch;

	if (event->kind == GT_EVENT_KERNEL)
		put_kernel_args(chrome, event);
	else if (event->kind == GT_EVENT_SYNC)
		put_sync_args(chrome, event);
	else if (event->kind == GT_EVENT_GRAPH)
		put_graph_args(chrome, event);
	else
		put_memory_args(chrome, event);
	if (!event->launch.known)
		return;
	gt_chrome_put_stack(chrome, event->launch.stack, true);
	put_other_stack(chrome, &forward_keys, event->launch.forward);
	if (event->launch.op)
		gt_json_member_u64(json, "External id", event->launch.op);
	if (event->launch.nvtx) {
		gt_json_key(json, "nvtx");
		gt_chrome_put_string(&chrome->texts, json, event->launch.nvtx);
	}
}

/* @own: 0, or the id of a flow that is not the call's. */
static void put_flow_id(const struct gt_chrome *chrome, struct gt_json *json, int64_t own)
{
	if (own)
		gt_json_put_u64(json, (uint64_t)own);
	else
		gt_json_again(json, chrome->id.at, chrome->id.size);
}

/* One end of a flow up to its time. Flows are of work, whose arguments have the id. */
#define begin_flow_end(chrome, json, phase, own, pid, tid)                                         \
	do {                                                                                       \
		if (json->tight)                                                                   \
			gt_json_text(json, ",{\"ph\":\"" phase "\",\"id\":");                      \
		else                                                                               \
			gt_json_text(json, ",{\"ph\": \"" phase "\", \"id\": ");                   \
		put_flow_id(chrome, json, own);                                                    \
		gt_chrome_begin_where(chrome, json, pid, tid);                                     \
	} while (0)

/* What follows the time. */
#define end_flow_end(json)                                                                         \
	do {                                                                                       \
		if (json->tight)                                                                   \
			gt_json_text(json, ",\"cat\":\"ac2g\",\"name\":\"ac2g\"");                 \
		else                                                                               \
			gt_json_text(json, ", \"cat\": \"ac2g\", \"name\": \"ac2g\"");             \
	} while (0)

/*
 * True for the first printed slice of a call, which may not be the first that arrived: a start must
 * not follow an end, or a killed process leaves an end without a start. Correlation ids increase,
 * so a newer call in the slot means that the flow of this one started long ago.
 */
static bool begins_flow(struct gt_chrome *chrome, const struct gt_event *event)
{
	uint32_t *newest = &chrome->flows[event->correlation % GT_CHROME_FLOWS];

	if (*newest == event->correlation || (*newest > event->correlation && !event->launch.first))
		return false;
	*newest = event->correlation;
	return true;
}

/* One start per call, one end per slice: a graph launch has one start and an end per node, or with
 * flows of their own a start for each. */
static void put_flows(struct gt_chrome *chrome, const struct gt_event *event, uint32_t tid)
{
	struct gt_json *json = &chrome->file.batch;
	int64_t own = 0;
	bool begins;

	if (!event->launch.known || !event->launch.start ||
	    event->correlation <= chrome->options.border || event->kind == GT_EVENT_SYNC ||
	    chrome->options.few_details)
		return;
	json->tight = chrome->options.brief;
	begins = begins_flow(chrome, event);
	if (!begins && chrome->options.own_flows)
		own = gt_flow_id_own(event->correlation, chrome->own_flows++);
	if (begins || own) {
		chrome->tally.flows++;
		begin_flow_end(chrome, json, "s", own, gt_chrome_pid(chrome), event->launch.tid);
		gt_json_put_us(json, gt_chrome_time(chrome, event->launch.start));
		end_flow_end(json);
		gt_json_raw(json, "}\n", 2);
	}
	begin_flow_end(chrome, json, "f", own, event->place.device, tid);
	gt_json_again(json, chrome->start.at, chrome->start.size);
	end_flow_end(json);
	if (json->tight)
		gt_json_text(json, ",\"bp\":\"e\"}\n");
	else
		gt_json_text(json, ", \"bp\": \"e\"}\n");
	json->tight = 0;
}

void gt_chrome_put_gpu(struct gt_chrome *chrome, const struct gt_event *event)
{
	struct gt_json *json = &chrome->file.batch;
	bool is_sync = event->kind == GT_EVENT_SYNC;
	bool no_stream = is_sync && event->place.stream == NO_STREAM;
	struct gt_track_request request = {.kind = is_sync ? GT_TRACK_SYNC : GT_TRACK_WORK,
					   .device = event->place.device,
					   .context = event->place.context,
					   .stream = no_stream ? 0 : event->place.stream,
					   .start = gt_chrome_time(chrome, event->start),
					   .end = gt_chrome_time(chrome, event->end)};
	uint32_t tid;

	gt_chrome_name_device(chrome, event->place.device);
	tid = gt_chrome_track(chrome, &request);
	begin_gpu_slice(chrome, event);
	gt_chrome_begin_where(chrome, json, event->place.device, tid);
	chrome->start.at = json->length;
	gt_json_put_us(json, gt_chrome_time(chrome, event->start));
	chrome->start.size = json->length - chrome->start.at;
	gt_chrome_put_duration(chrome, json, event);
	gt_chrome_begin_args(chrome);
	put_gpu_args(chrome, event);
	gt_chrome_end_args(chrome);
	put_flows(chrome, event, tid);
}

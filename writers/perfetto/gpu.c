/* SPDX-License-Identifier: Apache-2.0
 *
 * Packets of GPU work: Perfetto's render stages. Arguments that slices share - kernel, grid,
 * registers, stream - belong to an interned kernel, so that a slice has only its time, its call and
 * a few numbers. A table of fixed size remembers which kernels were written; one that was
 * evicted is written again. Perfetto lays out overlapping work itself.
 */
#include "writers/perfetto/perfetto.h"

#include <string.h>

#include "core/guest/text.h"
#include "core/schema/event_names.h"

/* Slots per kernel: the associativity of the table. */
#define SET_SIZE  8u

/* Stream of synchronization records that concern no particular stream. */
#define NO_STREAM UINT32_MAX

/* Bits of the arguments that belong to the slice itself. */
static const uint64_t own_args = 0
#define GT_PF_ARG(id, name, type, where) | (uint64_t)(GT_PF_##where == GT_PF_OWN) << GT_PF_ARG_##id
#include "core/schema/pftrace_args.def"
	;

static const enum gt_pf_type types[GT_PF_ARG_COUNT_] = {
#define GT_PF_ARG(id, name, type, where) [GT_PF_ARG_##id] = GT_PF_TYPE_##type,
#include "core/schema/pftrace_args.def"
};

_Static_assert(GT_PF_ARG_COUNT_ <= 64, "a bit per argument");

/* Slices share graph nodes and call stacks while all kernels fit into the table. Beyond that,
 * replays of large graphs, or launches from many places, would evict each other and each slice
 * would bring its own kernel. */
static uint64_t own_mask(const struct gt_perfetto_kernels *kernels)
{
	uint64_t many = kernels->last < GT_PERFETTO_KERNELS ? 0 : 1;

	return own_args | many << GT_PF_ARG_GRAPH_NODE | many << GT_PF_ARG_STACK;
}

static bool has_stack(uint64_t mask)
{
	return mask >> GT_PF_ARG_STACK & 1;
}

/* ---- arguments of an event ---- */

static void set(struct gt_perfetto_kernel *k, enum gt_pf_arg arg, uint64_t value)
{
	k->mask |= (uint64_t)1 << arg;
	k->arg[arg] = value;
}

static void set_if(struct gt_perfetto_kernel *k, enum gt_pf_arg arg, uint64_t value)
{
	if (value)
		set(k, arg, value);
}

static void set_triple(struct gt_perfetto_kernel *k, enum gt_pf_arg first, const uint32_t v[3])
{
	for (int i = 0; i < 3; i++)
		set(k, first + (unsigned int)i, v[i]);
}

static void set_place(struct gt_perfetto_kernel *k, const struct gt_event *event)
{
	set(k, GT_PF_ARG_KIND, event->kind);
	set(k, GT_PF_ARG_DEVICE, event->place.device);
	set(k, GT_PF_ARG_CONTEXT, event->place.context);
	set(k, GT_PF_ARG_STREAM, event->place.stream);
	if (event->place.has_channel)
		set(k, GT_PF_ARG_CHANNEL, event->place.channel);
}

static void set_kernel(struct gt_perfetto *pf, struct gt_perfetto_kernel *k,
		       const struct gt_event *event)
{
	const struct gt_kernel_event *kernel = &event->kernel;

	set_triple(k, GT_PF_ARG_GRID_X, kernel->grid);
	set_triple(k, GT_PF_ARG_BLOCK_X, kernel->block);
	if (kernel->cluster[0] > 1 || kernel->cluster[1] > 1 || kernel->cluster[2] > 1)
		set_triple(k, GT_PF_ARG_CLUSTER_X, kernel->cluster);
	set(k, GT_PF_ARG_REGISTERS, kernel->registers);
	set_if(k, GT_PF_ARG_STATIC_SHARED, kernel->static_shared);
	set_if(k, GT_PF_ARG_DYNAMIC_SHARED, kernel->dynamic_shared);
	set_if(k, GT_PF_ARG_SHARED_EXECUTED, kernel->shared_executed);
	set_if(k, GT_PF_ARG_LOCAL, kernel->local_per_thread);
	set_if(k, GT_PF_ARG_COOPERATIVE, kernel->cooperative);
	if (kernel->has_priority)
		set(k, GT_PF_ARG_PRIORITY, (uint64_t)(int64_t)kernel->priority);
	if (kernel->has_occupancy) {
		set(k, GT_PF_ARG_BLOCKS_PER_SM, kernel->blocks_per_sm_micro);
		set_if(k, GT_PF_ARG_WARPS_PER_SM, kernel->warps_per_sm_micro);
		set(k, GT_PF_ARG_EST_OCCUPANCY, kernel->est_occupancy_percent);
		set_if(k, GT_PF_ARG_OCCUPANCY, kernel->theoretical_occupancy_percent);
	}
	set_if(k, GT_PF_ARG_RESIDENT, kernel->resident_blocks);
	set_if(k, GT_PF_ARG_LIMIT_BLOCKS, kernel->limit_blocks);
	set_if(k, GT_PF_ARG_LIMIT_WARPS, kernel->limit_warps);
	set_if(k, GT_PF_ARG_LIMIT_REGISTERS, kernel->limit_registers);
	set_if(k, GT_PF_ARG_LIMIT_SHARED, kernel->limit_shared);
	set_if(k, GT_PF_ARG_GRID_ID, kernel->grid_id);
	if (kernel->queued)
		set(k, GT_PF_ARG_QUEUED, event->start - kernel->queued);
	if (kernel->submitted)
		set(k, GT_PF_ARG_SUBMITTED, event->start - kernel->submitted);
	set_if(k, GT_PF_ARG_COLLECTIVE, gt_library_launches(&kernel->library));
	if (kernel->mangled)
		set(k, GT_PF_ARG_MANGLED, gt_perfetto_value(pf, kernel->mangled, true));
}

static void set_memory(struct gt_perfetto_kernel *k, const struct gt_event *event)
{
	const struct gt_memory_event *memory = &event->memory;

	set(k, GT_PF_ARG_DST, memory->dst);
	set(k, GT_PF_ARG_BYTES, memory->bytes);
	if (event->kind == GT_EVENT_MEMSET) {
		set(k, GT_PF_ARG_VALUE, memory->value);
		return;
	}
	set(k, GT_PF_ARG_COPY, memory->copy);
	set(k, GT_PF_ARG_SRC, memory->src);
	if (memory->peer) {
		set(k, GT_PF_ARG_SRC_DEVICE, memory->src_device);
		set(k, GT_PF_ARG_DST_DEVICE, memory->dst_device);
	}
}

static void set_graph(struct gt_perfetto *pf, struct gt_perfetto_kernel *k, uint32_t graph,
		      uint64_t node, const struct gt_stack *created)
{
	set_if(k, GT_PF_ARG_GRAPH, graph);
	set_if(k, GT_PF_ARG_GRAPH_NODE, node);
	set_if(k, GT_PF_ARG_CREATED, gt_perfetto_stack(pf, created));
}

static void set_whole_graph(struct gt_perfetto *pf, struct gt_perfetto_kernel *k,
			    const struct gt_graph_event *graph)
{
	set_graph(pf, k, graph->graph_id, 0, graph->created);
	if (pf->options.few_details)
		return;
	set_if(k, GT_PF_ARG_NODES, graph->nodes);
	if (graph->has_end_device)
		set(k, GT_PF_ARG_END_DEVICE, graph->end_device);
}

static void set_sync(struct gt_perfetto *pf, struct gt_perfetto_kernel *k,
		     const struct gt_sync_event *sync)
{
	set(k, GT_PF_ARG_SYNC, sync->kind);
	set_if(k, GT_PF_ARG_CUDA_EVENT, sync->cuda_event);
	if (sync->has_wait_on) {
		set(k, GT_PF_ARG_WAIT_STREAM, sync->wait_on_stream);
		set(k, GT_PF_ARG_WAIT_CORRELATION, sync->wait_on_correlation);
	}
	set_if(k, GT_PF_ARG_THREAD, pf->options.few_details ? 0 : sync->thread);
	set_graph(pf, k, sync->graph_id, sync->graph_node_id, sync->created);
}

static void set_range(struct gt_perfetto *pf, struct gt_perfetto_kernel *k,
		      const struct gt_range_event *range)
{
	set_if(k, GT_PF_ARG_RANGE, range->id);
	if (range->domain)
		set(k, GT_PF_ARG_DOMAIN, gt_perfetto_value(pf, range->domain, true));
	if (range->category)
		set(k, GT_PF_ARG_CATEGORY, gt_perfetto_value(pf, range->category, true));
	set_if(k, GT_PF_ARG_COLOR, range->color);
	set_if(k, GT_PF_ARG_UNFINISHED, range->unfinished);
	set_if(k, GT_PF_ARG_PAYLOAD, range->payload[0] != 0);
}

static void describe(struct gt_perfetto *pf, const struct gt_event *event,
		     struct gt_perfetto_kernel *k)
{
	*k = (struct gt_perfetto_kernel){0};
	set_place(k, event);
	if (event->kind == GT_EVENT_KERNEL) {
		k->name = event->kernel.name;
		if (!pf->options.few_details)
			set_kernel(pf, k, event);
		set_graph(pf, k, event->kernel.graph_id, event->kernel.graph_node_id,
			  event->kernel.created);
	} else if (event->kind == GT_EVENT_SYNC) {
		set_sync(pf, k, &event->sync);
	} else if (event->kind == GT_EVENT_RANGE) {
		k->name = event->range.name;
		set_range(pf, k, &event->range);
	} else if (event->kind == GT_EVENT_GRAPH) {
		set_whole_graph(pf, k, &event->graph);
	} else {
		set_memory(k, event);
		set_graph(pf, k, event->memory.graph_id, event->memory.graph_node_id,
			  event->memory.created);
	}
	if (event->kind == GT_EVENT_RANGE)
		return;
	if (event->launch.nvtx)
		set(k, GT_PF_ARG_NVTX, gt_perfetto_value(pf, event->launch.nvtx, true));
	set_if(k, GT_PF_ARG_FORWARD, gt_perfetto_stack(pf, event->launch.forward));
	if (event->launch.known)
		set_if(k, GT_PF_ARG_STACK, gt_perfetto_stack(pf, event->launch.stack));
}

/* ---- writing them ---- */

static void put_arg(struct gt_proto *data, uint32_t field, unsigned int arg, uint64_t value,
		    const char *text)
{
	size_t at = gt_proto_begin(data, field);

	gt_proto_uint(data, GT_PF_ARG_NAME_IID, arg + 1);
	switch (types[arg]) {
	case GT_PF_TYPE_UINT:
		gt_proto_uint(data, GT_PF_ARG_UINT, value);
		break;
	case GT_PF_TYPE_INT:
		gt_proto_uint(data, GT_PF_ARG_INT, value);
		break;
	case GT_PF_TYPE_MICRO:
		gt_proto_double(data, GT_PF_ARG_DOUBLE, (double)value / 1e6);
		break;
	case GT_PF_TYPE_STRING:
		gt_proto_uint(data, GT_PF_ARG_STRING_IID, value);
		break;
	case GT_PF_TYPE_TEXT:
		if (text)
			gt_perfetto_put_clean(data, GT_PF_ARG_STRING, text, strlen(text));
		break;
	}
	gt_proto_end(data, at);
}

static void put_args(struct gt_proto *data, uint32_t field, const struct gt_perfetto_kernel *k,
		     uint64_t mask, const char *text)
{
	for (mask &= k->mask; mask; mask &= mask - 1) {
		unsigned int arg = (unsigned int)__builtin_ctzll(mask);

		put_arg(data, field, arg, k->arg[arg], text);
	}
}

/* ---- interned parts ---- */

/* Tracks and stages share one table of names. */
static void put_specification(struct gt_perfetto *pf, uint32_t iid, const char *name, size_t length,
			      uint32_t category)
{
	struct gt_proto *data = &pf->names.gpu;
	size_t at = gt_proto_begin(data, GT_PF_SPECIFICATIONS);

	gt_proto_uint(data, GT_PF_IID, iid);
	gt_perfetto_put_clean(data, GT_PF_TEXT, name, length);
	if (category)
		gt_proto_uint(data, GT_PF_SPEC_CATEGORY, category);
	gt_proto_end(data, at);
}

static const char *track_suffix(enum gt_event_kind kind)
{
	if (kind == GT_EVENT_SYNC)
		return " waits";
	return kind == GT_EVENT_RANGE ? " ranges" : "";
}

/* The track of a stream: one for its work, others for waits and ranges. */
static uint32_t find_queue(struct gt_perfetto *pf, const struct gt_event *event)
{
	const char *suffix = track_suffix(event->kind);
	const struct gt_place *place = &event->place;
	char name[64];
	size_t length;
	bool fresh;
	uint32_t iid = gt_perfetto_number(
		&pf->names, GT_PERFETTO_QUEUE, (uint64_t)place->context << 32 | place->stream,
		(uint64_t)(uint8_t)(*suffix ? suffix[1] : 0) << 32 | place->device,
		&pf->names.specifications, &fresh);

	if (!fresh)
		return iid;
	if (place->stream == NO_STREAM)
		length = gt_text_format(name, sizeof(name), "context %u%s", place->context, suffix);
	else
		length = gt_text_format(name, sizeof(name), "stream %u%s (context %u)",
					place->stream, suffix, place->context);
	put_specification(pf, iid, name, length, GT_PF_CATEGORY_OTHER);
	return iid;
}

/* The name of copies, sets, waits and graphs, derived from their kinds and ids. */
static size_t name_of(const struct gt_event *event, char *out, size_t size)
{
	if (event->kind == GT_EVENT_SYNC)
		return gt_text_format(out, size, "%s", gt_event_name_sync(event->sync.kind));
	if (event->kind == GT_EVENT_MEMSET)
		return gt_event_name_memset(&event->memory, out, size);
	if (event->kind == GT_EVENT_GRAPH)
		return gt_event_name_graph(&event->graph, out, size);
	return gt_event_name_memcpy(&event->memory, out, size);
}

static uint64_t copy_key(const struct gt_event *event)
{
	if (event->kind == GT_EVENT_SYNC)
		return (uint64_t)event->kind << 48 | event->sync.kind;
	if (event->kind == GT_EVENT_GRAPH)
		return (uint64_t)event->kind << 48 | event->graph.graph_id;
	return (uint64_t)event->kind << 48 | (uint64_t)event->memory.copy << 32 |
	       (uint64_t)event->memory.src << 16 | event->memory.dst;
}

/* A stage is the name of a slice. */
static uint32_t find_stage(struct gt_perfetto *pf, const struct gt_event *event,
			   const struct gt_string *string)
{
	bool is_kernel = event->kind == GT_EVENT_KERNEL;
	uint32_t category = is_kernel ? GT_PF_CATEGORY_COMPUTE : GT_PF_CATEGORY_OTHER;
	bool named = is_kernel || event->kind == GT_EVENT_RANGE, fresh;
	uint32_t iid;
	char name[96];
	size_t length;

	if (named)
		iid = gt_perfetto_number(&pf->names, GT_PERFETTO_STAGE, string ? string->id : 0,
					 category, &pf->names.specifications, &fresh);
	else
		iid = gt_perfetto_number(&pf->names, GT_PERFETTO_COPY, copy_key(event), 0,
					 &pf->names.specifications, &fresh);
	if (!fresh)
		return iid;
	if (named && string && string->length) {
		put_specification(pf, iid, string->text, string->length, category);
		return iid;
	}
	length = named ? gt_text_format(name, sizeof(name), "(no name)")
		       : name_of(event, name, sizeof(name));
	put_specification(pf, iid, name, length, category);
	return iid;
}

/* CUPTI's id of a context, unique in the process. */
static uint32_t find_context(struct gt_perfetto *pf, const struct gt_place *place)
{
	struct gt_proto *data = &pf->names.gpu;
	bool fresh;
	uint32_t none = 0;
	size_t at;

	gt_perfetto_number(&pf->names, GT_PERFETTO_CONTEXT, place->context, 0, &none, &fresh);
	if (!fresh)
		return place->context;
	at = gt_proto_begin(data, GT_PF_CONTEXTS);
	gt_proto_uint(data, GT_PF_IID, place->context);
	gt_proto_uint(data, GT_PF_CONTEXT_PID, gt_perfetto_pid(pf));
	gt_proto_uint(data, GT_PF_CONTEXT_API, GT_PF_API_CUDA);
	gt_proto_end(data, at);
	return place->context;
}

static void put_kernel(struct gt_perfetto *pf, const struct gt_perfetto_kernel *k,
		       const struct gt_event *event)
{
	struct gt_proto *data = &pf->names.gpu;
	struct gt_perfetto_extras extras;
	size_t at;

	gt_perfetto_find_extras(pf, event, &extras);
	if (has_stack(k->mask))
		extras.line = gt_perfetto_stack_line(pf, event->launch.stack);
	at = gt_proto_begin(data, GT_PF_KERNELS);
	gt_proto_uint(data, GT_PF_IID, k->iid);
	put_args(data, GT_PF_KERNEL_ARG, k, k->mask, NULL);
	gt_perfetto_put_extras(data, event, &extras);
	gt_proto_end(data, at);
}

/* ---- the table of kernels ---- */

static uint64_t hash_of(const struct gt_perfetto_kernel *k, uint64_t own)
{
	uint64_t hash = (k->mask ^ (uintptr_t)k->name) * 0x9e3779b97f4a7c15u;

	for (uint64_t mask = k->mask & ~own; mask; mask &= mask - 1)
		hash = (hash ^ hash >> 32 ^ k->arg[__builtin_ctzll(mask)]) * 0xbf58476d1ce4e5b9u;
	return hash ^ hash >> 29;
}

static bool is_same(const struct gt_perfetto_kernel *slot, const struct gt_perfetto_kernel *k,
		    uint64_t own)
{
	if (slot->name != k->name || slot->mask != (k->mask & ~own))
		return false;
	for (uint64_t mask = slot->mask; mask; mask &= mask - 1) {
		int arg = __builtin_ctzll(mask);

		if (slot->arg[arg] != k->arg[arg])
			return false;
	}
	return true;
}

/* The slot of such a kernel, an empty one, or one to evict. */
static struct gt_perfetto_kernel *find_slot(struct gt_perfetto_kernels *kernels,
					    const struct gt_perfetto_kernel *k, uint64_t own)
{
	uint32_t first = (uint32_t)hash_of(k, own) & (GT_PERFETTO_KERNELS - 1) & ~(SET_SIZE - 1);

	for (uint32_t i = first; i < first + SET_SIZE; i++) {
		struct gt_perfetto_kernel *slot = &kernels->slots[i];

		if (!slot->mask || is_same(slot, k, own))
			return slot;
	}
	return &kernels->slots[first + kernels->clock++ % SET_SIZE];
}

static const struct gt_perfetto_kernel *intern_kernel(struct gt_perfetto *pf,
						      const struct gt_event *event,
						      const struct gt_perfetto_kernel *k,
						      uint64_t own)
{
	struct gt_perfetto_kernel *slot = find_slot(&pf->kernels, k, own);

	if (slot->mask && is_same(slot, k, own))
		return slot;
	*slot = *k;
	slot->mask &= ~own;
	slot->iid = ++pf->kernels.last;
	slot->stage = find_stage(pf, event, k->name);
	slot->queue = find_queue(pf, event);
	slot->context = find_context(pf, &event->place);
	put_kernel(pf, slot, event);
	return slot;
}

/* ---- the packet ---- */

/* Of the argument that is a text; @room is for one that is made. */
static const char *text_of(const struct gt_event *event, char room[GT_LIBRARY_TEXT_MAX])
{
	if (event->kind == GT_EVENT_RANGE)
		return event->range.payload;
	if (event->kind != GT_EVENT_KERNEL || !gt_library_launches(&event->kernel.library))
		return NULL;
	gt_library_text(&event->kernel.library, true, room);
	return room;
}

/* The number of a GPU in the file. An unknown device comes behind all others. */
static uint32_t gpu_of(const struct gt_writer_part *part, uint32_t device)
{
	if (!part)
		return device;
	if (device < part->devices)
		return part->first_gpu + device;
	return part->gpu_count + part->number * GT_METADATA_DEVICES + device;
}

static void put_slice(struct gt_perfetto *pf, const struct gt_event *event,
		      const struct gt_perfetto_kernel *own, const struct gt_perfetto_kernel *shared,
		      uint64_t line)
{
	struct gt_proto *batch = &pf->file.batch;
	uint64_t mask = own->mask & ~shared->mask;
	uint32_t gpu = gpu_of(pf->options.part, event->place.device);
	size_t packet = gt_perfetto_begin(pf, GT_PF_SEQUENCE_GPU, event->start);
	size_t at = gt_proto_begin(batch, GT_PF_RENDER_STAGE), launch;
	char text[GT_LIBRARY_TEXT_MAX];

	gt_proto_uint(batch, GT_PF_STAGE_EVENT_ID, gt_perfetto_call(pf, event->correlation));
	gt_proto_uint(batch, GT_PF_STAGE_DURATION, event->end - event->start);
	gt_proto_uint(batch, GT_PF_STAGE_CONTEXT, shared->context);
	if (event->correlation && !pf->options.few_details) /* the event's id is no argument */
		gt_proto_uint(batch, GT_PF_STAGE_SUBMISSION, event->correlation);
	if (gpu)
		gt_proto_uint(batch, GT_PF_STAGE_GPU, gpu);
	gt_proto_uint(batch, GT_PF_STAGE_QUEUE, shared->queue);
	gt_proto_uint(batch, GT_PF_STAGE_STAGE, shared->stage);
	gt_proto_uint(batch, GT_PF_STAGE_KERNEL, shared->iid);
	if (mask) {
		launch = gt_proto_begin(batch, GT_PF_STAGE_LAUNCH);
		put_args(batch, GT_PF_LAUNCH_ARG, own, mask, text_of(event, text));
		gt_perfetto_put_line(batch, line);
		gt_proto_end(batch, launch);
	}
	gt_proto_end(batch, at);
	gt_proto_end(batch, packet);
}

bool gt_perfetto_begins_flow(const struct gt_perfetto *pf, const struct gt_event *event)
{
	return gt_event_is_gpu(event->kind) && event->kind != GT_EVENT_SYNC &&
	       event->launch.known && event->launch.start && event->launch.first &&
	       event->correlation > pf->options.border && !pf->options.few_details;
}

void gt_perfetto_put_gpu(struct gt_perfetto *pf, const struct gt_event *event)
{
	const struct gt_perfetto_kernel *shared;
	struct gt_perfetto_kernel own;
	uint64_t line = 0;

	gt_perfetto_put_gpus(pf);
	describe(pf, event, &own);
	shared = intern_kernel(pf, event, &own, own_mask(&pf->kernels));
	if (has_stack(own.mask & ~shared->mask))
		line = gt_perfetto_stack_line(pf, event->launch.stack);
	gt_perfetto_put_names(pf);
	put_slice(pf, event, &own, shared, line);
	if (gt_perfetto_begins_flow(pf, event))
		gt_ledger_add(&pf->file.output.batch_ledger, GT_LEDGER_FLOWS_WRITTEN, 1);
}

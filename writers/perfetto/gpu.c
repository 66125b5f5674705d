/* SPDX-License-Identifier: Apache-2.0
 *
 * Packets of GPU work: Perfetto's render stages. Arguments that slices share - kernel, grid,
 * registers, stream - belong to an interned kernel, so that a slice has only its time, its call and
 * a few numbers. Perfetto lays out overlapping work itself.
 */
#include "writers/perfetto/perfetto.h"

#include <string.h>

/* Stream of synchronization records that concern no particular stream. */
#define NO_STREAM        UINT32_MAX

/* Bytes of a slice without arguments of its own, at most; the number of its launch. */
#define SLICE_ROOM       120u
#define NUMBER_ROOM      (GT_PROTO_VARINT + 1 + GT_PERFETTO_ARG_ROOM)

/* The text of an argument; the others are numbers, and these the tags of their fields. */
#define TAG_OF_TEXT      0u

#define TAG(field, wire) ((field) << 3 | (wire))

/* By enum gt_pf_type. */
#define TAG_UINT         TAG(GT_PF_ARG_UINT, GT_PROTO_WIRE_VARINT)
#define TAG_INT          TAG(GT_PF_ARG_INT, GT_PROTO_WIRE_VARINT)
#define TAG_MICRO        TAG(GT_PF_ARG_DOUBLE, GT_PROTO_WIRE_64)
#define TAG_STRING       TAG(GT_PF_ARG_STRING_IID, GT_PROTO_WIRE_VARINT)
#define TAG_TEXT         TAG_OF_TEXT

static const uint8_t tags[GT_PF_ARG_COUNT_] = {
#define GT_PF_ARG(id, name, type, where) [GT_PF_ARG_##id] = TAG_##type,
#include "core/schema/pftrace_args.def"
};

/* Bits of the arguments that belong to the slice itself. */
static const uint64_t own_args = 0
#define GT_PF_ARG(id, name, type, where) | (uint64_t)(GT_PF_##where == GT_PF_OWN) << GT_PF_ARG_##id
#include "core/schema/pftrace_args.def"
	;

/* Of those in which slices are most often alike: of the slice, too, of many kernels. */
static const uint64_t many_args = (uint64_t)1 << GT_PF_ARG_GRAPH_NODE | (uint64_t)1
										<< GT_PF_ARG_STACK;

static const uint64_t text_args = 0
#define GT_PF_ARG(id, name, type, where)                                                           \
	| (uint64_t)(GT_PF_TYPE_##type == GT_PF_TYPE_TEXT) << GT_PF_ARG_##id
#include "core/schema/pftrace_args.def"
	;

_Static_assert(GT_PF_ARG_COUNT_ <= 64, "a bit per argument");

/* Arguments of GPU work. */
struct args {
	uint64_t mask;                    /* bit per argument */
	uint64_t value[GT_PF_ARG_COUNT_]; /* of these; the others are not set */
};

static bool has_stack(const struct args *args)
{
	return args->mask >> GT_PF_ARG_STACK & 1;
}

/* ---- arguments of an event ---- */

static void set(struct args *args, enum gt_pf_arg arg, uint64_t value)
{
	args->mask |= (uint64_t)1 << arg;
	args->value[arg] = value;
}

static void set_if(struct args *args, enum gt_pf_arg arg, uint64_t value)
{
	if (value)
		set(args, arg, value);
}

static void set_triple(struct args *args, enum gt_pf_arg first, const uint32_t v[3])
{
	for (int i = 0; i < 3; i++)
		set(args, first + (unsigned int)i, v[i]);
}

static void set_place(struct args *args, const struct gt_event *event)
{
	set(args, GT_PF_ARG_KIND, event->kind);
	set(args, GT_PF_ARG_DEVICE, event->place.device);
	set(args, GT_PF_ARG_CONTEXT, event->place.context);
	set(args, GT_PF_ARG_STREAM, event->place.stream);
	if (event->place.has_channel)
		set(args, GT_PF_ARG_CHANNEL, event->place.channel);
}

static void set_kernel(struct gt_perfetto *pf, struct args *args,
		       const struct gt_kernel_event *kernel)
{
	set_triple(args, GT_PF_ARG_GRID_X, kernel->grid);
	set_triple(args, GT_PF_ARG_BLOCK_X, kernel->block);
	if (kernel->cluster[0] > 1 || kernel->cluster[1] > 1 || kernel->cluster[2] > 1)
		set_triple(args, GT_PF_ARG_CLUSTER_X, kernel->cluster);
	set(args, GT_PF_ARG_REGISTERS, kernel->registers);
	set_if(args, GT_PF_ARG_STATIC_SHARED, kernel->static_shared);
	set_if(args, GT_PF_ARG_DYNAMIC_SHARED, kernel->dynamic_shared);
	set_if(args, GT_PF_ARG_SHARED_EXECUTED, kernel->shared_executed);
	set_if(args, GT_PF_ARG_LOCAL, kernel->local_per_thread);
	set_if(args, GT_PF_ARG_COOPERATIVE, kernel->cooperative);
	if (kernel->has_priority)
		set(args, GT_PF_ARG_PRIORITY, (uint64_t)(int64_t)kernel->priority);
	if (kernel->has_occupancy) {
		set(args, GT_PF_ARG_BLOCKS_PER_SM, kernel->blocks_per_sm_micro);
		set_if(args, GT_PF_ARG_WARPS_PER_SM, kernel->warps_per_sm_micro);
		set(args, GT_PF_ARG_EST_OCCUPANCY, kernel->est_occupancy_percent);
		set_if(args, GT_PF_ARG_OCCUPANCY, kernel->theoretical_occupancy_percent);
	}
	set_if(args, GT_PF_ARG_RESIDENT, kernel->resident_blocks);
	set_if(args, GT_PF_ARG_LIMIT_BLOCKS, kernel->limit_blocks);
	set_if(args, GT_PF_ARG_LIMIT_WARPS, kernel->limit_warps);
	set_if(args, GT_PF_ARG_LIMIT_REGISTERS, kernel->limit_registers);
	set_if(args, GT_PF_ARG_LIMIT_SHARED, kernel->limit_shared);
	if (kernel->mangled)
		set(args, GT_PF_ARG_MANGLED, gt_perfetto_value(pf, kernel->mangled, true));
}

static void set_memory(struct args *args, const struct gt_event *event)
{
	const struct gt_memory_event *memory = &event->memory;

	set(args, GT_PF_ARG_DST, memory->dst);
	if (event->kind == GT_EVENT_MEMSET) {
		set(args, GT_PF_ARG_VALUE, memory->value);
		return;
	}
	set(args, GT_PF_ARG_COPY, memory->copy);
	set(args, GT_PF_ARG_SRC, memory->src);
	if (memory->peer) {
		set(args, GT_PF_ARG_SRC_DEVICE, memory->src_device);
		set(args, GT_PF_ARG_DST_DEVICE, memory->dst_device);
	}
}

static void set_graph(struct gt_perfetto *pf, struct args *args, uint32_t graph,
		      const struct gt_stack *created)
{
	set_if(args, GT_PF_ARG_GRAPH, graph);
	set_if(args, GT_PF_ARG_CREATED, gt_perfetto_stack(pf, created));
}

static void set_whole_graph(struct args *args, const struct gt_graph_event *graph)
{
	set_if(args, GT_PF_ARG_NODES, graph->nodes);
	if (graph->has_end_device)
		set(args, GT_PF_ARG_END_DEVICE, graph->end_device);
}

static void set_range(struct gt_perfetto *pf, struct args *args, const struct gt_range_event *range)
{
	if (range->domain)
		set(args, GT_PF_ARG_DOMAIN, gt_perfetto_value(pf, range->domain, true));
	if (range->category)
		set(args, GT_PF_ARG_CATEGORY, gt_perfetto_value(pf, range->category, true));
	set_if(args, GT_PF_ARG_COLOR, range->color);
	set_if(args, GT_PF_ARG_UNFINISHED, range->unfinished);
}

/* What it has in common with other work, all of it in struct gt_perfetto_shape, too. */
static void set_shared(struct gt_perfetto *pf, struct args *args, const struct gt_event *event)
{
	bool few = pf->options.few_details;

	set_place(args, event);
	if (event->kind == GT_EVENT_RANGE) {
		set_range(pf, args, &event->range);
		return;
	}
	if (event->kind == GT_EVENT_KERNEL) {
		if (!few)
			set_kernel(pf, args, &event->kernel);
		set_graph(pf, args, event->kernel.graph_id, event->kernel.created);
	} else if (event->kind == GT_EVENT_SYNC) {
		set(args, GT_PF_ARG_SYNC, event->sync.kind);
		set_if(args, GT_PF_ARG_THREAD, few ? 0 : event->sync.thread);
		set_graph(pf, args, event->sync.graph_id, event->sync.created);
	} else if (event->kind == GT_EVENT_GRAPH) {
		set_graph(pf, args, event->graph.graph_id, event->graph.created);
		if (!few)
			set_whole_graph(args, &event->graph);
	} else {
		set_memory(args, event);
		set_graph(pf, args, event->memory.graph_id, event->memory.created);
	}
	if (event->launch.nvtx)
		set(args, GT_PF_ARG_NVTX, gt_perfetto_value(pf, event->launch.nvtx, true));
	set_if(args, GT_PF_ARG_FORWARD, gt_perfetto_stack(pf, event->launch.forward));
}

static uint64_t graph_node_of(const struct gt_event *event)
{
	if (event->kind == GT_EVENT_KERNEL)
		return event->kernel.graph_node_id;
	if (event->kind == GT_EVENT_SYNC)
		return event->sync.graph_node_id;
	return event->kind == GT_EVENT_GRAPH ? 0 : event->memory.graph_node_id;
}

/* Which belongs to the slice or to the kernel: gt_perfetto_has_many(). */
static void set_node_and_stack(struct gt_perfetto *pf, struct args *args,
			       const struct gt_event *event)
{
	if (event->kind == GT_EVENT_RANGE)
		return;
	set_if(args, GT_PF_ARG_GRAPH_NODE, graph_node_of(event));
	if (event->launch.known)
		set_if(args, GT_PF_ARG_STACK, gt_perfetto_stack(pf, event->launch.stack));
}

static void set_own_of_kernel(struct args *args, const struct gt_event *event)
{
	const struct gt_kernel_event *kernel = &event->kernel;

	if (kernel->queued)
		set(args, GT_PF_ARG_QUEUED, event->start - kernel->queued);
	if (kernel->submitted)
		set(args, GT_PF_ARG_SUBMITTED, event->start - kernel->submitted);
	set_if(args, GT_PF_ARG_GRID_ID, kernel->grid_id);
	set_if(args, GT_PF_ARG_COLLECTIVE, gt_library_launches(&kernel->library));
}

/* What belongs to the slice. */
static void set_own(struct gt_perfetto *pf, struct args *args, const struct gt_event *event)
{
	if (event->kind == GT_EVENT_KERNEL) {
		if (!pf->options.few_details)
			set_own_of_kernel(args, event);
	} else if (event->kind == GT_EVENT_SYNC) {
		set_if(args, GT_PF_ARG_CUDA_EVENT, event->sync.cuda_event);
		if (event->sync.has_wait_on) {
			set(args, GT_PF_ARG_WAIT_STREAM, event->sync.wait_on_stream);
			set(args, GT_PF_ARG_WAIT_CORRELATION, event->sync.wait_on_correlation);
		}
	} else if (event->kind == GT_EVENT_RANGE) {
		set_if(args, GT_PF_ARG_RANGE, event->range.id);
		set_if(args, GT_PF_ARG_PAYLOAD, event->range.payload[0] != 0);
	} else if (event->kind != GT_EVENT_GRAPH) {
		set(args, GT_PF_ARG_BYTES, event->memory.bytes);
	}
}

/* ---- writing them ---- */

static void put_text_arg(struct gt_proto *data, uint32_t field, unsigned int arg, const char *text)
{
	size_t at = gt_proto_begin(data, field);

	gt_proto_uint(data, GT_PF_ARG_NAME_IID, arg + 1);
	if (text)
		gt_perfetto_put_clean(data, GT_PF_ARG_STRING, text, strlen(text));
	gt_proto_end(data, at);
}

/* Numbers first: the text is the last of those that an event can have. */
static void put_args(struct gt_proto *data, uint32_t field, const struct args *args,
		     const char *text)
{
	uint8_t *at = gt_proto_reserve(data, GT_PF_ARG_COUNT_ * GT_PERFETTO_ARG_ROOM);
	uint64_t mask = args->mask & ~text_args;

	if (!at)
		return;
	for (; mask; mask &= mask - 1) {
		unsigned int arg = (unsigned int)__builtin_ctzll(mask);
		uint64_t value = args->value[arg];

		if (tags[arg] == TAG_MICRO)
			at = gt_perfetto_put_real(at, field, arg + 1, (double)value / 1e6);
		else
			at = gt_perfetto_put_arg(at, field, arg + 1, tags[arg], value);
	}
	gt_proto_written(data, at);
	if (args->mask & text_args)
		put_text_arg(data, field, (unsigned int)__builtin_ctzll(args->mask & text_args),
			     text);
}

/* ---- interned kernels ---- */

/* Its end of each slice, and the kernel itself as interned data. */
static void put_kernel(struct gt_perfetto *pf, struct gt_perfetto_kernel *kernel,
		       const struct args *args, const struct gt_event *event)
{
	struct gt_proto *data = &pf->names.gpu;
	uint32_t stage = gt_perfetto_stage(pf, event), queue = gt_perfetto_queue(pf, event);
	struct gt_perfetto_extras extras;
	uint8_t *tail = kernel->tail;
	size_t at;

	gt_perfetto_context(pf, event->place.context);
	tail = gt_proto_put_uint(tail, GT_PF_STAGE_QUEUE, queue);
	tail = gt_proto_put_uint(tail, GT_PF_STAGE_STAGE, stage);
	tail = gt_proto_put_uint(tail, GT_PF_STAGE_KERNEL, kernel->iid);
	kernel->tail_size = (uint8_t)(tail - kernel->tail);
	gt_perfetto_find_extras(pf, event, &extras);
	if (has_stack(args))
		extras.line = gt_perfetto_stack_line(pf, event->launch.stack);
	at = gt_proto_begin(data, GT_PF_KERNELS);
	gt_proto_uint(data, GT_PF_IID, kernel->iid);
	put_args(data, GT_PF_KERNEL_ARG, args, NULL);
	gt_perfetto_put_extras(data, event, &extras);
	gt_proto_end(data, at);
}

static const struct gt_perfetto_kernel *intern_kernel(struct gt_perfetto *pf,
						      const struct gt_event *event)
{
	bool known, many = gt_perfetto_has_many(&pf->kernels);
	struct gt_perfetto_kernel *kernel = gt_perfetto_find_kernel(pf, event, &known);
	struct args args;

	if (known)
		return kernel;
	args.mask = 0;
	set_shared(pf, &args, event);
	if (!many)
		set_node_and_stack(pf, &args, event);
	args.mask &= ~(own_args | (many ? many_args : 0));
	put_kernel(pf, kernel, &args, event);
	return kernel;
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

/* The fields of the render stage that every slice has. */
static uint8_t *put_fields(const struct gt_perfetto *pf, const struct gt_event *event,
			   const struct gt_perfetto_kernel *kernel, uint8_t *at)
{
	uint32_t gpu = gpu_of(pf->options.part, event->place.device);

	at = gt_proto_put_uint(at, GT_PF_STAGE_EVENT_ID, gt_perfetto_call(pf, event->correlation));
	at = gt_proto_put_uint(at, GT_PF_STAGE_DURATION, event->end - event->start);
	at = gt_proto_put_uint(at, GT_PF_STAGE_CONTEXT, event->place.context);
	if (event->correlation && !pf->options.few_details) /* the event's id is no argument */
		at = gt_proto_put_uint(at, GT_PF_STAGE_SUBMISSION, event->correlation);
	if (gpu)
		at = gt_proto_put_uint(at, GT_PF_STAGE_GPU, gpu);
	memcpy(at, kernel->tail, sizeof(kernel->tail));
	return at + kernel->tail_size;
}

/* The only argument that most slices have, in the packet that is being made: of most its lengths,
 * too, are a byte each. NULL: not so. */
static uint8_t *put_number(uint8_t *packet, uint8_t *stage, uint8_t *at, uint64_t number)
{
	uint8_t *launch = gt_proto_put_tag(at, GT_PF_STAGE_LAUNCH, GT_PROTO_WIRE_BYTES) + 1;
	uint8_t *end = gt_perfetto_put_arg(launch, GT_PF_LAUNCH_ARG, GT_PF_ARG_GRID_ID + 1,
					   tags[GT_PF_ARG_GRID_ID], number);

	if (end - packet - 2 >= 0x80)
		return NULL;
	launch[-1] = (uint8_t)(end - launch);
	stage[-1] = (uint8_t)(end - stage);
	packet[1] = (uint8_t)(end - packet - 2);
	return end;
}

static void put_slice(struct gt_perfetto *pf, const struct gt_event *event,
		      const struct gt_perfetto_kernel *kernel, const struct args *own,
		      uint64_t line)
{
	struct gt_proto *batch = &pf->file.batch;
	uint8_t *packet = gt_proto_reserve(batch, SLICE_ROOM + NUMBER_ROOM), *stage, *at, *end;
	size_t begin, inner, launch;
	char text[GT_LIBRARY_TEXT_MAX];

	if (!packet)
		return;
	at = gt_perfetto_put_begin(pf, packet, GT_PF_SEQUENCE_GPU, event->start);
	stage = gt_proto_put_tag(at, GT_PF_RENDER_STAGE, GT_PROTO_WIRE_BYTES) + 1;
	at = put_fields(pf, event, kernel, stage);
	if (own->mask == (uint64_t)1 << GT_PF_ARG_GRID_ID && !line) {
		end = put_number(packet, stage, at, own->value[GT_PF_ARG_GRID_ID]);
		if (end) {
			gt_proto_written(batch, end);
			return;
		}
	}
	stage[-1] = (uint8_t)(at - stage);
	packet[1] = (uint8_t)(at - packet - 2);
	begin = batch->length + 2;
	inner = (size_t)(stage - batch->data);
	gt_proto_written(batch, at);
	if (!own->mask)
		return;
	launch = gt_proto_begin(batch, GT_PF_STAGE_LAUNCH);
	put_args(batch, GT_PF_LAUNCH_ARG, own, text_of(event, text));
	gt_perfetto_put_line(batch, line);
	gt_proto_end(batch, launch);
	gt_proto_end(batch, inner);
	gt_proto_end(batch, begin);
}

void gt_perfetto_put_gpu(struct gt_perfetto *pf, const struct gt_event *event)
{
	bool many = gt_perfetto_has_many(&pf->kernels);
	const struct gt_perfetto_kernel *kernel;
	struct args own;
	uint64_t line = 0;

	if (!pf->gpus_written)
		gt_perfetto_put_gpus(pf);
	kernel = intern_kernel(pf, event);
	own.mask = 0;
	set_own(pf, &own, event);
	if (many)
		set_node_and_stack(pf, &own, event);
	if (has_stack(&own))
		line = gt_perfetto_stack_line(pf, event->launch.stack);
	gt_perfetto_put_names(pf);
	put_slice(pf, event, kernel, &own, line);
	if (gt_perfetto_begins_flow(pf, event))
		gt_ledger_add(&pf->file.output.batch_ledger, GT_LEDGER_FLOWS_WRITTEN, 1);
}

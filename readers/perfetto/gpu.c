/* SPDX-License-Identifier: Apache-2.0
 *
 * Turns the render stages of a .pftrace into GPU events: shared arguments come from the interned
 * kernel, the others from the slice. One thread per reading.
 */
#include "readers/perfetto/pftrace.h"

#include <errno.h>
#include <stdio.h>

struct stage {
	uint64_t correlation, duration, name, kernel;
	struct gt_pftrace_args args;
};

static bool has(const struct gt_pftrace_args *args, enum gt_pf_arg arg)
{
	return args->mask >> arg & 1;
}

static uint32_t word(const struct gt_pftrace_args *args, enum gt_pf_arg arg)
{
	return (uint32_t)args->value[arg];
}

static void triple(const struct gt_pftrace_args *args, enum gt_pf_arg first, uint32_t *ret_v)
{
	for (unsigned int i = 0; i < 3; i++)
		ret_v[i] = word(args, first + i);
}

static const struct gt_string *text(struct gt_pftrace *pf, const struct gt_pftrace_args *args,
				    enum gt_pf_arg arg)
{
	return has(args, arg) ? gt_pftrace_find(pf, GT_PFTRACE_GPU_VALUES, args->value[arg]) : NULL;
}

static const struct gt_stack *stack(struct gt_pftrace *pf, const struct gt_pftrace_args *args,
				    enum gt_pf_arg arg)
{
	uint64_t id = args->value[arg];

	return id ? gt_pftrace_find(pf, GT_PFTRACE_STACKS, id) : NULL;
}

static void make_kernel(struct gt_pftrace *pf, const struct stage *stage, struct gt_event *event)
{
	const struct gt_pftrace_args *args = &stage->args;
	struct gt_kernel_event *kernel = &event->kernel;

	*kernel = (struct gt_kernel_event){
		.name = gt_pftrace_find(pf, GT_PFTRACE_STAGES, stage->name),
		.mangled = text(pf, args, GT_PF_ARG_MANGLED),
		.registers = word(args, GT_PF_ARG_REGISTERS),
		.static_shared = word(args, GT_PF_ARG_STATIC_SHARED),
		.dynamic_shared = word(args, GT_PF_ARG_DYNAMIC_SHARED),
		.shared_executed = word(args, GT_PF_ARG_SHARED_EXECUTED),
		.local_per_thread = word(args, GT_PF_ARG_LOCAL),
		.graph_id = word(args, GT_PF_ARG_GRAPH),
		.graph_node_id = args->value[GT_PF_ARG_GRAPH_NODE],
		.grid_id = args->value[GT_PF_ARG_GRID_ID],
		.cooperative = word(args, GT_PF_ARG_COOPERATIVE) != 0,
		.has_priority = has(args, GT_PF_ARG_PRIORITY),
		.priority = (int32_t)args->value[GT_PF_ARG_PRIORITY],
		.has_occupancy = has(args, GT_PF_ARG_BLOCKS_PER_SM),
		.blocks_per_sm_micro = args->value[GT_PF_ARG_BLOCKS_PER_SM],
		.warps_per_sm_micro = args->value[GT_PF_ARG_WARPS_PER_SM],
		.est_occupancy_percent = word(args, GT_PF_ARG_EST_OCCUPANCY),
		.theoretical_occupancy_percent = word(args, GT_PF_ARG_OCCUPANCY),
		.resident_blocks = (uint16_t)word(args, GT_PF_ARG_RESIDENT),
		.limit_blocks = (uint16_t)word(args, GT_PF_ARG_LIMIT_BLOCKS),
		.limit_warps = (uint16_t)word(args, GT_PF_ARG_LIMIT_WARPS),
		.limit_registers = (uint16_t)word(args, GT_PF_ARG_LIMIT_REGISTERS),
		.limit_shared = (uint16_t)word(args, GT_PF_ARG_LIMIT_SHARED),
		.created = stack(pf, args, GT_PF_ARG_CREATED)};
	triple(args, GT_PF_ARG_GRID_X, kernel->grid);
	triple(args, GT_PF_ARG_BLOCK_X, kernel->block);
	triple(args, GT_PF_ARG_CLUSTER_X, kernel->cluster);
	if (has(args, GT_PF_ARG_QUEUED))
		kernel->queued = event->start - args->value[GT_PF_ARG_QUEUED];
	if (has(args, GT_PF_ARG_SUBMITTED))
		kernel->submitted = event->start - args->value[GT_PF_ARG_SUBMITTED];
	if (has(args, GT_PF_ARG_COLLECTIVE) && args->text)
		gt_library_parse(args->text->text, args->text->length, &kernel->library);
}

static void make_memory(struct gt_pftrace *pf, const struct stage *stage, struct gt_event *event)
{
	const struct gt_pftrace_args *args = &stage->args;

	event->memory =
		(struct gt_memory_event){.bytes = args->value[GT_PF_ARG_BYTES],
					 .copy = (enum gt_copy_kind)word(args, GT_PF_ARG_COPY),
					 .src = (enum gt_memory_kind)word(args, GT_PF_ARG_SRC),
					 .dst = (enum gt_memory_kind)word(args, GT_PF_ARG_DST),
					 .value = word(args, GT_PF_ARG_VALUE),
					 .peer = has(args, GT_PF_ARG_SRC_DEVICE),
					 .src_device = word(args, GT_PF_ARG_SRC_DEVICE),
					 .dst_device = word(args, GT_PF_ARG_DST_DEVICE),
					 .graph_id = word(args, GT_PF_ARG_GRAPH),
					 .graph_node_id = args->value[GT_PF_ARG_GRAPH_NODE],
					 .created = stack(pf, args, GT_PF_ARG_CREATED)};
}

static void make_graph(struct gt_pftrace *pf, const struct stage *stage, struct gt_event *event)
{
	const struct gt_pftrace_args *args = &stage->args;

	event->graph = (struct gt_graph_event){.graph_id = word(args, GT_PF_ARG_GRAPH),
					       .nodes = word(args, GT_PF_ARG_NODES),
					       .has_end_device = has(args, GT_PF_ARG_END_DEVICE),
					       .end_device = word(args, GT_PF_ARG_END_DEVICE),
					       .created = stack(pf, args, GT_PF_ARG_CREATED)};
}

static void make_sync(struct gt_pftrace *pf, const struct stage *stage, struct gt_event *event)
{
	const struct gt_pftrace_args *args = &stage->args;

	event->sync = (struct gt_sync_event){.kind = (enum gt_sync_kind)word(args, GT_PF_ARG_SYNC),
					     .cuda_event = word(args, GT_PF_ARG_CUDA_EVENT),
					     .has_wait_on = has(args, GT_PF_ARG_WAIT_STREAM),
					     .wait_on_stream = word(args, GT_PF_ARG_WAIT_STREAM),
					     .wait_on_correlation =
						     word(args, GT_PF_ARG_WAIT_CORRELATION),
					     .thread = word(args, GT_PF_ARG_THREAD),
					     .graph_id = word(args, GT_PF_ARG_GRAPH),
					     .graph_node_id = args->value[GT_PF_ARG_GRAPH_NODE],
					     .created = stack(pf, args, GT_PF_ARG_CREATED)};
}

static void make_range(struct gt_pftrace *pf, const struct stage *stage, struct gt_event *event)
{
	const struct gt_pftrace_args *args = &stage->args;

	event->range =
		(struct gt_range_event){.name = gt_pftrace_find(pf, GT_PFTRACE_STAGES, stage->name),
					.domain = text(pf, args, GT_PF_ARG_DOMAIN),
					.category = text(pf, args, GT_PF_ARG_CATEGORY),
					.id = args->value[GT_PF_ARG_RANGE],
					.color = word(args, GT_PF_ARG_COLOR),
					.unfinished = word(args, GT_PF_ARG_UNFINISHED) != 0,
					.on_gpu = true};
	if (args->text)
		snprintf(event->range.payload, sizeof(event->range.payload), "%s",
			 args->text->text);
}

/* Fills the event according to its kind. False: not GPU work. */
static bool make(struct gt_pftrace *pf, const struct stage *stage, struct gt_event *event)
{
	switch (event->kind) {
	case GT_EVENT_KERNEL:
		make_kernel(pf, stage, event);
		return true;
	case GT_EVENT_MEMCPY:
	case GT_EVENT_MEMSET:
		make_memory(pf, stage, event);
		return true;
	case GT_EVENT_GRAPH:
		make_graph(pf, stage, event);
		return true;
	case GT_EVENT_SYNC:
		make_sync(pf, stage, event);
		return true;
	case GT_EVENT_RANGE:
		make_range(pf, stage, event);
		return true;
	default:
		return false;
	}
}

static void take_launch(struct gt_pftrace *pf, struct gt_wire launch, struct stage *stage)
{
	struct gt_wire_field field;

	while (gt_wire_next(&launch, &field))
		if (field.number == GT_PF_LAUNCH_ARG)
			gt_pftrace_take_arg(pf, gt_wire_inside(&field), &stage->args);
}

/* Reads the fields of a slice; its own arguments come last and override those of the kernel. */
static struct stage take_fields(struct gt_pftrace *pf, struct gt_wire wire)
{
	const struct gt_pftrace_args *shared;
	struct gt_wire_field field, launch = {0};
	struct stage stage = {0};

	while (gt_wire_next(&wire, &field)) {
		if (field.number == GT_PF_STAGE_EVENT_ID)
			stage.correlation = field.value;
		else if (field.number == GT_PF_STAGE_DURATION)
			stage.duration = field.value;
		else if (field.number == GT_PF_STAGE_STAGE)
			stage.name = field.value;
		else if (field.number == GT_PF_STAGE_KERNEL)
			stage.kernel = field.value;
		else if (field.number == GT_PF_STAGE_LAUNCH)
			launch = field;
	}
	shared = gt_pftrace_find(pf, GT_PFTRACE_KERNELS, stage.kernel);
	if (shared)
		stage.args = *shared;
	if (launch.data)
		take_launch(pf, gt_wire_inside(&launch), &stage);
	return stage;
}

int gt_pftrace_take_stage(struct gt_pftrace *pf, struct gt_wire wire, uint64_t ns)
{
	struct stage stage;
	struct gt_event event;

	if (!pf->has_metadata)
		return -EBADMSG;
	stage = take_fields(pf, wire);
	event = (struct gt_event){
		.kind = (enum gt_event_kind)stage.args.value[GT_PF_ARG_KIND],
		.start = ns,
		.end = ns + stage.duration,
		.correlation = (uint32_t)stage.correlation,
		.place = {.device = word(&stage.args, GT_PF_ARG_DEVICE),
			  .context = word(&stage.args, GT_PF_ARG_CONTEXT),
			  .stream = word(&stage.args, GT_PF_ARG_STREAM),
			  .channel = word(&stage.args, GT_PF_ARG_CHANNEL),
			  .has_channel = has(&stage.args, GT_PF_ARG_CHANNEL)},
		.launch = {.known = has(&stage.args, GT_PF_ARG_STACK),
			   .stack = stack(pf, &stage.args, GT_PF_ARG_STACK),
			   .nvtx = text(pf, &stage.args, GT_PF_ARG_NVTX),
			   .forward = stack(pf, &stage.args, GT_PF_ARG_FORWARD)},
	};
	if (event.end < event.start || !make(pf, &stage, &event)) {
		pf->events->strange++;
		return 0;
	}
	return gt_events_give(pf->events, &event);
}

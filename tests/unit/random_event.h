/* SPDX-License-Identifier: Apache-2.0
 *
 * Random events of all kinds, the same in every run and for a seed, with the stacks and launches of
 * a test.
 */
#ifndef GT_TESTS_RANDOM_EVENT_H
#define GT_TESTS_RANDOM_EVENT_H

#include "core/schema/event.h"
#include "tests/unit/trace_fixture.h"

/* What the events refer to; the test fills both. */
static struct gt_stack_frame frames[4];
static struct gt_stack *stacks[3];

static uint32_t seed = 12345;

static uint32_t any(uint32_t below)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % below;
}

static const struct gt_string *any_name(struct trace *t)
{
	static const char *const names[] = {"void gemm<float, 128>(float const*)",
					    "naïve \"kernel\"",
					    "tab\there",
					    "broken \xff utf-8",
					    "k",
					    "\xe6\xa0\xb8"};

	return trace_string(t, names[any(sizeof(names) / sizeof(names[0]))]);
}

/* Of one name always the same. */
static const struct gt_string *mangled_of(struct trace *t, const struct gt_string *name)
{
	char text[64];

	snprintf(text, sizeof(text), "_Z%u%.40s", name->length, name->text);
	return trace_string(t, text);
}

/* A product, a solution, or a call that was wrong. */
static struct gt_library_call any_math(bool of_kernel)
{
	struct gt_math_call math = {.function = (1 + any(GT_MATH_FUNCTION_COUNT_ - 1)) &
						GT_MATH_FUNCTIONS,
				    .unknown = any(GT_MATH_UNKNOWN_COUNT_) & 15,
				    .number = 1 + any(100000),
				    .sizes = GT_MATH_M | GT_MATH_N | (any(2) ? GT_MATH_K : 0),
				    .m = 1 + any(4096),
				    .n = any(4096),
				    .a = (uint8_t)(1 + any(34)),
				    .b = (uint8_t)any(35),
				    .compute = any(2) ? 77 : 68,
				    .transa = (uint8_t)(1 + any(3)),
				    .side = (uint8_t)(any(3) & 3)};

	if (math.sizes & GT_MATH_K)
		math.k = any(2) ? -(int64_t)(1 + any(9)) : 1ll << any(40);
	if (any(2)) {
		math.sizes |= GT_MATH_BATCH;
		math.batch = any(100);
	}
	math.has_algorithm = any(2);
	if (math.has_algorithm)
		math.algorithm = (int32_t)any(120) - 1;
	math.overflow = any(4) == 0;
	math.flops = math.overflow ? 0 : 1ull << any(60);
	math.bytes = any(2) * 4096;
	if (math.algorithm < -1)
		math.algorithm = -1;
	return (struct gt_library_call){
		.math = math, .is_math = true, .result = of_kernel ? 0 : (int32_t)any(3)};
}

/* A call of NCCL, or what a kernel does for one: what all forms keep of it. */
static struct gt_library_call any_library(bool of_kernel)
{
	struct gt_library_call call = {
		.function = (uint8_t)(any(2) ? GT_NCCL_ALL_REDUCE : GT_NCCL_SEND),
		.operations = 1,
		.communicator = 0xfedcba9876543210u + any(3),
		.ranks = 2 + any(1000),
		.rank = 1 + any(2),
		.in = any(2) * 4096,
		.out = 1ull << any(50),
		.dtype = (uint8_t)(1 + any(12)),
		.reduction = (uint8_t)any(7)};

	if (any(3) == 0)
		return any_math(of_kernel);
	if (call.function == GT_NCCL_SEND) {
		call.peer = call.to = 1 + any(2);
		call.to_number = any(3);
	} else
		call.sequence = 1 + any(100000);
	if (of_kernel && any(3) == 0) {
		call.operations = 2 + any(3);
		call.function = GT_NCCL_NONE;
		call.peer = 0;
		call.to = call.to_number ? call.to : 0;
	}
	if (!of_kernel)
		call.result = (int32_t)any(3);
	return call;
}

/* What a range of NCCL itself tells, of its kernel with the type that the name says. */
static struct gt_library_call any_untyped(bool of_kernel)
{
	struct gt_library_call call = {
		.untyped = true,
		.function = (uint8_t)(any(2) ? GT_NCCL_ALL_GATHER : GT_NCCL_RECV),
		.operations = 1,
		.communicator = any(2) ? 0xfedcba9876543210u : 0,
		.ranks = any(3),
		.rank = any(3),
		.in = 1 + any(100000),
		.out = (uint64_t)any(2) << any(50),
		.dtype = (uint8_t)(of_kernel ? any(12) : 0),
		.peer = any(3)};

	call.from = call.function == GT_NCCL_RECV ? call.peer : 0;
	return call;
}

static void fill_kernel(struct trace *t, struct gt_event *e)
{
	e->kernel = (struct gt_kernel_event){.name = any_name(t),
					     .grid = {1 + any(3), 2, 1},
					     .block = {256, 1 + any(2), 1},
					     .cluster = {1 + any(2), 1, 1},
					     .registers = any(255),
					     .static_shared = any(2) * 1024,
					     .dynamic_shared = any(2) * 49152,
					     .shared_executed = any(2) * 4096,
					     .local_per_thread = any(2) * 8,
					     .graph_id = any(3),
					     .graph_node_id = any(4),
					     .grid_id = any(3),
					     .cooperative = any(2),
					     .has_priority = any(2),
					     .priority = -(int32_t)any(5),
					     .has_occupancy = any(2),
					     .blocks_per_sm_micro = any(100000000),
					     .warps_per_sm_micro = any(64000000),
					     .est_occupancy_percent = any(101),
					     .theoretical_occupancy_percent = any(101),
					     .resident_blocks = (uint16_t)any(33),
					     .limit_registers = (uint16_t)any(33),
					     .created = any(3) ? NULL : stacks[2]};
	if (any(4) == 0)
		e->kernel.library = any(3) ? any_library(true) : any_untyped(true);
	if (any(2))
		e->kernel.mangled = mangled_of(t, e->kernel.name);
	if (any(2))
		e->kernel.queued = e->start - any(5000);
	if (!e->kernel.has_priority)
		e->kernel.priority = 0;
	if (e->kernel.queued && any(2))
		e->kernel.submitted = e->kernel.queued + any(10);
}

static void fill_memory(struct gt_event *e)
{
	e->memory = (struct gt_memory_event){.bytes = any(1000000),
					     .copy = any(GT_COPY_KIND_COUNT_),
					     .src = any(GT_MEMORY_KIND_COUNT_),
					     .dst = any(GT_MEMORY_KIND_COUNT_),
					     .value = any(256),
					     .peer = e->kind == GT_EVENT_MEMCPY && any(2),
					     .src_device = any(2),
					     .dst_device = any(2)};
}

static void fill_graph(struct gt_event *e)
{
	e->graph = (struct gt_graph_event){.graph_id = 1 + any(4),
					   .nodes = any(2) * 100,
					   .has_end_device = any(2),
					   .created = any(3) ? NULL : stacks[2]};
	if (e->graph.has_end_device)
		e->graph.end_device = any(2);
}

static void fill_sync(struct gt_event *e)
{
	e->sync = (struct gt_sync_event){.kind = any(GT_SYNC_KIND_COUNT_),
					 .cuda_event = any(3),
					 .has_wait_on = any(2),
					 .wait_on_stream = any(20),
					 .wait_on_correlation = any(1000)};
	if (e->sync.kind == GT_SYNC_HOST_FUNCTION) {
		e->sync.thread = any(3);
		e->sync.graph_id = any(3);
		e->sync.graph_node_id = e->sync.graph_id ? any(50) : 0;
		e->sync.created = e->sync.graph_id && any(2) ? stacks[2] : NULL;
	}
	if (any(4) == 0)
		e->place.stream = UINT32_MAX;
}

static void fill_range(struct trace *t, struct gt_event *e)
{
	e->range = (struct gt_range_event){.name = any_name(t),
					   .domain = any(2) ? trace_string(t, "nn") : NULL,
					   .category = any(2) ? trace_string(t, "math") : NULL,
					   .id = any(100),
					   .color = any(2) * 0xff00ff00u,
					   .unfinished = any(2)};
	if (any(2))
		strcpy(e->range.payload, "{\"x\": 1}");
	if (e->kind == GT_EVENT_RANGE)
		e->range.on_gpu = any(3) == 0;
	e->range.detached = e->kind == GT_EVENT_RANGE && !e->range.on_gpu && any(2);
	e->range.is_operator = e->kind == GT_EVENT_RANGE && !e->range.on_gpu && any(3) == 0;
	if (e->range.is_operator) {
		e->range.has_sequence = any(2);
		e->range.sequence = e->range.has_sequence ? any(50) : 0;
		e->range.dims = any(2) ? trace_string(t, "[[64, 64], []]") : NULL;
	}
	e->range.is_library = e->kind == GT_EVENT_RANGE && !e->range.on_gpu &&
			      !e->range.is_operator && any(3) == 0;
	if (e->range.is_library) {
		e->range.library = any_library(false);
		e->range.name = trace_string(t, gt_library_name(&e->range.library));
	}
	if (e->kind == GT_EVENT_RANGE && !e->range.on_gpu && !e->range.is_operator &&
	    !e->range.is_library && any(4) == 0) {
		e->range.domain = trace_string(t, "NCCL");
		e->range.library = any_untyped(false);
		e->range.name = trace_string(t, gt_library_name(&e->range.library));
	}
	e->range.is_os = e->kind == GT_EVENT_RANGE && !e->range.on_gpu && !e->range.is_operator &&
			 !e->range.is_library && !e->range.library.function && any(3) == 0;
	if (e->range.is_os) {
		e->range.os = (struct gt_os_facts){.result = (int64_t)any(1000) - 1,
						   .has_bytes = any(2),
						   .error = any(2) ? 4 : 0,
						   .descriptor = any(2) ? (int32_t)any(50) : -1,
						   .kind = (uint8_t)any(GT_OS_KIND_COUNT_)};
		e->range.file = any(2) ? trace_string(t, "/data/shard-7") : NULL;
	}
	e->stack = !e->range.on_gpu && any(3) == 0 ? stacks[any(2)] : NULL;
}

/* In the place of a range. */
static void fill_unified(struct trace *t, struct gt_event *e)
{
	struct gt_unified_facts facts = {
		.kind = (uint8_t)(1 + any(GT_UNIFIED_KIND_COUNT_ - 1)),
		.address = any(3) ? (1 + any(1000)) << 12 : 0,
		.value = any(1000),
		.from = GT_UNIFIED_NONE,
		.to = GT_UNIFIED_NONE,
	};
	bool two = gt_unified_is_migration(facts.kind) || facts.kind == GT_UNIFIED_REMOTE_MAP;

	if (facts.kind == GT_UNIFIED_THRASHING) {
		facts.devices = any(16);
		facts.on_cpu = (uint8_t)any(2);
	} else {
		facts.from = any(2) ? (uint16_t)any(3) : GT_UNIFIED_CPU;
	}
	if (two)
		facts.to = any(2) ? (uint16_t)any(3) : GT_UNIFIED_CPU;
	if (two || gt_unified_is_fault(facts.kind))
		facts.why = (uint8_t)any(5);
	if (facts.kind == GT_UNIFIED_THROTTLING)
		facts.value = 0;
	e->range = (struct gt_range_event){.name = trace_string(t, gt_unified_name(facts.kind)),
					   .is_unified = true,
					   .unified = facts,
					   .detached = true};
	e->stack = NULL;
	e->tid = gt_unified_row(&facts);
}

static void fill_other(struct trace *t, struct gt_event *e)
{
	static const char *const words[] = {NULL, "ring full", "no buffer"};

	switch (e->kind) {
	case GT_EVENT_OVERHEAD:
		e->overhead.name = trace_string(t, "Buffer Flush");
		e->overhead.kernel = e->end & 1 ? trace_string(t, "gemm<4>(float*)") : NULL;
		break;
	case GT_EVENT_COUNTER:
		e->counter = (struct gt_counter_event){.name = trace_string(t, "GPU 0 memory"),
						       .series = trace_string(t, "allocated"),
						       .value = (int64_t)any(1000) - 500,
						       .on_gpu = any(2)};
		e->end = e->start;
		break;
	case GT_EVENT_NOTE:
		e->note = (struct gt_note_event){.name = "LOST",
						 .cause = words[any(3)],
						 .what = words[any(3)],
						 .count = any(3),
						 .of_what = any(2) ? "API calls" : NULL};
		break;
	case GT_EVENT_SAMPLE:
		e->sample.waiting = any(2);
		e->stack = any(3) ? stacks[any(2)] : NULL;
		e->end = e->start;
		break;
	case GT_EVENT_TENSOR:
		e->tensor = (struct gt_tensor_event){.address = 1 + any(1000),
						     .bytes = (int64_t)any(1000) - 500,
						     .allocated = any(5000),
						     .reserved = any(9000),
						     .device_type = 1,
						     .device = (int32_t)any(2)};
		e->stack = any(3) ? stacks[any(2)] : NULL;
		e->end = e->start;
		break;
	case GT_EVENT_FRAME:
		e->frame = (struct gt_frame_event){.frame = &frames[0],
						   .first_line = 7,
						   .last_line = 7 + any(3),
						   .calls = 1 + any(9)};
		break;
	default:
		e->thread.name = trace_string(t, any(2) ? "loader" : "worker");
		break;
	}
}

/* An event at about the i-th microsecond; @launches: number of calls so far. */
static struct gt_event any_event(struct trace *t, uint32_t i, struct gt_launch *launches,
				 uint32_t *count)
{
	static const enum gt_event_kind kinds[] = {
		GT_EVENT_KERNEL, GT_EVENT_KERNEL, GT_EVENT_MEMCPY, GT_EVENT_MEMSET,
		GT_EVENT_SYNC,   GT_EVENT_RANGE,  GT_EVENT_MARK,   GT_EVENT_COUNTER,
		GT_EVENT_NOTE,   GT_EVENT_THREAD, GT_EVENT_FRAME,  GT_EVENT_OVERHEAD,
		GT_EVENT_SAMPLE, GT_EVENT_GRAPH,  GT_EVENT_TENSOR};
	struct gt_event e = {.kind = kinds[any(sizeof(kinds) / sizeof(kinds[0]))],
			     .tid = 4100 + any(3),
			     .start = AT(1000000 + i * 1000ull + any(5000))};

	e.end = e.start + any(900);
	if (e.kind == GT_EVENT_MARK)
		e.end = e.start;
	if (gt_event_is_gpu(e.kind) || e.kind == GT_EVENT_RANGE)
		e.place = (struct gt_place){.context = 1, .stream = 7 + any(3)};
	if (gt_event_is_gpu(e.kind)) {
		e.tid = 0;
		e.correlation = any(20) && *count ? 1 + any(*count) : 0;
		if (e.correlation) {
			e.launch = launches[e.correlation];
			launches[e.correlation].first = false;
		}
		e.launch.nvtx = e.launch.known && any(2) ? trace_string(t, "nn:forward") : NULL;
		e.launch.forward = e.launch.known && any(3) == 0 ? stacks[any(3)] : NULL;
		e.place.has_channel = e.kind == GT_EVENT_KERNEL && any(2);
		e.place.channel = e.place.has_channel ? any(4) : 0;
	}
	if (e.kind == GT_EVENT_KERNEL)
		fill_kernel(t, &e);
	else if (e.kind == GT_EVENT_SYNC)
		fill_sync(&e);
	else if (e.kind == GT_EVENT_GRAPH)
		fill_graph(&e);
	else if (gt_event_is_gpu(e.kind))
		fill_memory(&e);
	else if (e.kind == GT_EVENT_RANGE || e.kind == GT_EVENT_MARK)
		any(4) || e.kind != GT_EVENT_RANGE ? fill_range(t, &e) : fill_unified(t, &e);
	else
		fill_other(t, &e);
	if (e.kind == GT_EVENT_RANGE && e.range.on_gpu)
		e.tid = 0;
	return e;
}

static struct gt_event any_call(struct trace *t, uint32_t i, struct gt_launch *launches,
				uint32_t *count)
{
	struct gt_event e = {.kind = GT_EVENT_API,
			     .tid = 4100 + any(3),
			     .start = AT(1000000 + i * 1000ull),
			     .correlation = ++*count,
			     .stack = any(4) ? stacks[any(2)] : NULL,
			     .api = {.cbid = 200 + any(2) * 11,
				     .result = any(10) ? 0 : -(int32_t)any(800),
				     .enqueues = true}};

	e.end = e.start + any(900);
	e.api.op = any(3) ? 0 : 1 + any(90);
	e.api.domain = any(2) ? GT_API_DRIVER : GT_API_RUNTIME;
	e.api.name = trace_string(t, any(2) ? "cudaLaunchKernel" : "cuLaunchKernel");
	launches[*count] = (struct gt_launch){.known = true,
					      .first = true,
					      .tid = e.tid,
					      .start = e.start,
					      .stack = e.stack,
					      .op = e.api.op};
	return e;
}

#endif

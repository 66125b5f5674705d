/* SPDX-License-Identifier: Apache-2.0
 *
 * The Chrome writer, line by line: one expected line for each kind of event, compared whole.
 */
#include "tests/unit/trace_fixture.h"

#define LAUNCH                                                                                     \
	{                                                                                          \
		.known = true, .first = true, .tid = 4100, .start = AT(23106)                      \
	}

static void expect_line(struct trace *t, const char *line)
{
	const char *at = strstr(trace_read(t), line);

	cr_assert_not_null(at, "missing line\n%sin\n%s", line, t->text + 16384);
	cr_assert(at[-1] == '\n', "not at the beginning of a line: %s", line);
}

static struct gt_event kernel_event(struct trace *t)
{
	return (struct gt_event){
		.kind = GT_EVENT_KERNEL,
		.start = AT(26165),
		.end = AT(26165 + 115119),
		.correlation = 1002,
		.place = {.device = 0, .context = 1, .stream = 7},
		.launch = LAUNCH,
		.kernel = {.name = trace_string(t, "void gemm<float, 128>(float const*)"),
			   .grid = {64, 8, 1},
			   .block = {256, 1, 1},
			   .registers = 122,
			   .dynamic_shared = 49152,
			   .has_occupancy = true,
			   .blocks_per_sm_micro = 3878788,
			   .warps_per_sm_micro = 31030304,
			   .est_occupancy_percent = 48,
			   .theoretical_occupancy_percent = 50},
	};
}

Test(chrome, api_call)
{
	struct trace t;
	struct gt_event event = {.kind = GT_EVENT_API,
				 .tid = 4100,
				 .start = AT(23106),
				 .end = AT(23106 + 3185),
				 .correlation = 1002,
				 .api = {.cbid = 211, .enqueues = true}};

	trace_open(&t);
	event.api.name = trace_string(&t, "cudaLaunchKernel");
	trace_event(&t, &event);
	event.api = (struct gt_api_event){.domain = GT_API_DRIVER,
					  .cbid = 307,
					  .result = 1,
					  .name = trace_string(&t, "cuLaunchKernel")};
	event.correlation = 1003;
	trace_event(&t, &event);
	trace_close(&t);
	expect_line(&t,
		    ",{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", "
		    "\"pid\": 4100, \"tid\": 4100, \"ts\": 5000000000023.106, \"dur\": 3.185, "
		    "\"args\": {\"cbid\": 211, \"correlation\": 1002}}\n");
	expect_line(&t, ",{\"ph\": \"X\", \"cat\": \"cuda_driver\", \"name\": \"cuLaunchKernel\", "
			"\"pid\": 4100, \"tid\": 4100, \"ts\": 5000000000023.106, \"dur\": 3.185, "
			"\"args\": {\"cbid\": 307, \"correlation\": 1003, \"result\": 1}}\n");
	expect_line(&t, ",{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": 4100, \"tid\": 4100, "
			"\"ts\": 5000000000012.345, \"args\": {\"name\": \"thread 4100\"}}\n");
	cr_assert_eq(t.ledger.count[GT_LEDGER_CALLS_WRITTEN], 2);
	trace_end(&t);
}

Test(chrome, kernel_and_its_flow)
{
	struct trace t;
	struct gt_event event;

	trace_open(&t);
	event = kernel_event(&t);
	trace_event(&t, &event);
	trace_close(&t);
	expect_line(
		&t,
		",{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"void gemm<float, 128>(float "
		"const*)\", "
		"\"pid\": 0, \"tid\": 7, \"ts\": 5000000000026.165, \"dur\": 115.119, \"args\": {"
		"\"queued\": 0, \"device\": 0, \"context\": 1, \"stream\": 7, \"correlation\": "
		"1002, "
		"\"registers per thread\": 122, \"shared memory\": 49152, "
		"\"dynamic shared memory\": 49152, \"blocks per SM\": 3.878788, "
		"\"warps per SM\": 31.030304, \"grid\": [64, 8, 1], \"block\": [256, 1, 1], "
		"\"est. achieved occupancy %\": 48, \"theoretical occupancy %\": 50}}\n");
	expect_line(&t, ",{\"ph\": \"s\", \"id\": 1002, \"pid\": 4100, \"tid\": 4100, "
			"\"ts\": 5000000000023.106, \"cat\": \"ac2g\", \"name\": \"ac2g\"}\n");
	expect_line(&t, ",{\"ph\": \"f\", \"id\": 1002, \"pid\": 0, \"tid\": 7, "
			"\"ts\": 5000000000026.165, \"cat\": \"ac2g\", \"name\": \"ac2g\", \"bp\": "
			"\"e\"}\n");
	expect_line(&t, ",{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 0, \"tid\": 0, "
			"\"ts\": 5000000000012.345, "
			"\"args\": {\"name\": \"GPU 0 NVIDIA H200 (rank 0, train)\"}}\n");
	expect_line(&t, ",{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": 0, \"tid\": 7, "
			"\"ts\": 5000000000012.345, \"args\": {\"name\": \"stream 7\"}}\n");
	cr_assert_eq(t.ledger.count[GT_LEDGER_KERNELS_WRITTEN], 1);
	cr_assert_eq(t.ledger.count[GT_LEDGER_FLOWS_WRITTEN], 1);
	trace_end(&t);
}

/* More of both than the writer keeps printed. */
Test(chrome, each_launch_has_its_own_configuration_and_stream)
{
	enum { CONFIGURATIONS = 1500, STREAMS = 100 };
	struct trace t;
	struct gt_event event;
	const char *at;

	trace_open(&t);
	event = kernel_event(&t);
	event.kernel.has_occupancy = event.kernel.has_priority = false;
	for (uint32_t i = 0; i < 2 * CONFIGURATIONS; i++) {
		event.correlation = 2000 + i;
		event.start += 200000;
		event.end += 200000;
		event.place.stream = 1 + i % STREAMS;
		event.kernel.grid[0] = 1 + i % CONFIGURATIONS;
		event.kernel.registers = 16 + i % 3;
		trace_event(&t, &event);
	}
	trace_close(&t);
	at = trace_read(&t);
	for (uint32_t i = 0; i < 2 * CONFIGURATIONS; i++) {
		char expected[256];

		snprintf(expected, sizeof(expected),
			 "\"device\": 0, \"context\": 1, \"stream\": %u, \"correlation\": %u, "
			 "\"registers per thread\": %u, \"shared memory\": 49152, "
			 "\"dynamic shared memory\": 49152, \"grid\": [%u, 8, 1]",
			 1 + i % STREAMS, 2000 + i, 16 + i % 3, 1 + i % CONFIGURATIONS);
		at = strstr(at, expected);
		cr_assert_not_null(at, "missing %s", expected);
	}
	trace_end(&t);
}

/* More calls than the writer keeps the beginnings of, of two libraries with the same names. */
Test(chrome, each_call_has_its_own_name_and_thread)
{
	struct gt_event event = {.kind = GT_EVENT_API};
	struct trace t;
	char text[128];
	const char *at;

	trace_open(&t);
	for (uint32_t i = 0; i < 900; i++) {
		snprintf(text, sizeof(text), "call %u", i % 29);
		event.start = event.end = AT(i * 1000);
		event.tid = 5000 + i % 7;
		event.api.domain = i % 2 ? GT_API_DRIVER : GT_API_RUNTIME;
		event.api.name = gt_intern_cstr(t.strings, text);
		trace_event(&t, &event);
	}
	trace_close(&t);
	at = trace_read(&t);
	for (uint32_t i = 0; i < 900; i++) {
		snprintf(text, sizeof(text),
			 "\"cuda_%s\", \"name\": \"call %u\", \"pid\": 4100, \"tid\": %u, ",
			 i % 2 ? "driver" : "runtime", i % 29, 5000 + i % 7);
		at = strstr(at, text);
		cr_assert_not_null(at, "missing %s", text);
	}
	trace_end(&t);
}

Test(chrome, graph_launch_has_one_start_and_an_end_per_node)
{
	struct trace t;
	struct gt_event event;
	unsigned int starts = 0, ends = 0;

	trace_open(&t);
	event = kernel_event(&t);
	for (int i = 0; i < 5; i++) {
		event.kernel.graph_id = 3;
		event.kernel.graph_node_id = 0x300000000ull + (uint64_t)i;
		trace_event(&t, &event);
		event.launch.first = false;
		event.start += 200000;
		event.end += 200000;
	}
	trace_close(&t);
	for (const char *at = trace_read(&t); (at = strstr(at, "\"ac2g\", \"name\"")); at++) {
		starts += trace_begins(at, "\"ac2g\", \"name\": \"ac2g\"}\n");
		ends += trace_begins(at, "\"ac2g\", \"name\": \"ac2g\", \"bp\": \"e\"}\n");
	}
	cr_assert_eq(starts, 1, "%u", starts);
	cr_assert_eq(ends, 5, "%u", ends);
	cr_assert_not_null(strstr(t.text, "\"graph id\": 3, \"graph node id\": 4}}"));
	trace_end(&t);
}

Test(chrome, flow_starts_at_the_node_that_is_printed_first)
{
	struct trace t;
	struct gt_event event;
	const char *start, *end;

	trace_open(&t);
	event = kernel_event(&t);
	for (int i = 0; i < 3; i++) {
		trace_event(&t, &event);
		event.launch.first = false;
		event.start -= 150000;
		event.end -= 150000;
	}
	trace_close(&t);
	start = strstr(trace_read(&t), "{\"ph\": \"s\"");
	end = strstr(t.text, "{\"ph\": \"f\"");
	cr_assert_not_null(start);
	cr_assert_lt(start, end);
	cr_assert_null(strstr(start + 1, "{\"ph\": \"s\""));
	cr_assert_eq(t.ledger.count[GT_LEDGER_FLOWS_WRITTEN], 1);
	trace_end(&t);
}

Test(chrome, copies_and_sets)
{
	struct trace t;
	struct gt_event event = {.kind = GT_EVENT_MEMCPY,
				 .start = AT(15653),
				 .end = AT(15653 + 41943),
				 .correlation = 1000,
				 .place = {.context = 1, .stream = 20},
				 .memory = {.bytes = 1048576,
					    .copy = GT_COPY_HTOD,
					    .src = GT_MEMORY_PINNED,
					    .dst = GT_MEMORY_DEVICE}};

	trace_open(&t);
	trace_event(&t, &event);
	event.kind = GT_EVENT_MEMSET;
	event.start = AT(123589);
	event.end = AT(123589 + 1280);
	event.memory.bytes = 65536;
	event.memory.value = 255;
	trace_event(&t, &event);
	event.kind = GT_EVENT_MEMCPY;
	event.start = event.end = AT(200000);
	event.memory = (struct gt_memory_event){.copy = GT_COPY_PTOP,
						.src = GT_MEMORY_DEVICE,
						.dst = GT_MEMORY_MANAGED_STATIC,
						.peer = true,
						.src_device = 1};
	trace_event(&t, &event);
	trace_close(&t);
	expect_line(
		&t,
		",{\"ph\": \"X\", \"cat\": \"gpu_memcpy\", \"name\": \"Memcpy HtoD (Pinned -> "
		"Device)\", "
		"\"pid\": 0, \"tid\": 20, \"ts\": 5000000000015.653, \"dur\": 41.943, \"args\": {"
		"\"device\": 0, \"context\": 1, \"stream\": 20, \"correlation\": 1000, "
		"\"bytes\": 1048576, \"memory bandwidth (GB/s)\": 25.000024}}\n");
	expect_line(
		&t,
		",{\"ph\": \"X\", \"cat\": \"gpu_memset\", \"name\": \"Memset (Device)\", "
		"\"pid\": 0, \"tid\": 20, \"ts\": 5000000000123.589, \"dur\": 1.280, \"args\": {"
		"\"device\": 0, \"context\": 1, \"stream\": 20, \"correlation\": 1000, "
		"\"bytes\": 65536, \"memory bandwidth (GB/s)\": 51.2, \"value\": 255}}\n");
	expect_line(
		&t,
		",{\"ph\": \"X\", \"cat\": \"gpu_memcpy\", "
		"\"name\": \"Memcpy PtoP (Device -> Managed Static)\", "
		"\"pid\": 0, \"tid\": 20, \"ts\": 5000000000200.000, \"dur\": 0.000, \"args\": {"
		"\"device\": 0, \"context\": 1, \"stream\": 20, \"correlation\": 1000, "
		"\"bytes\": 0, \"memory bandwidth (GB/s)\": 0.0, \"fromDevice\": 1, "
		"\"toDevice\": 0}}\n");
	trace_end(&t);
}

Test(chrome, synchronization_only_when_asked)
{
	struct gt_writer_options options = {.sync_tracks = true};
	struct trace t;
	struct gt_event event = {.kind = GT_EVENT_SYNC,
				 .start = AT(64100),
				 .end = AT(64100),
				 .correlation = 1011,
				 .place = {.context = 1, .stream = 7},
				 .sync = {.kind = GT_SYNC_STREAM_WAIT_EVENT,
					  .cuda_event = 3,
					  .has_wait_on = true,
					  .wait_on_stream = 20,
					  .wait_on_correlation = 990}};

	trace_open(&t);
	trace_event(&t, &event);
	trace_close(&t);
	cr_assert_null(strstr(trace_read(&t), "cuda_sync"));
	trace_end(&t);

	trace_prepare(&t);
	trace_open_in(&t, t.folder, 0, &options);
	trace_event(&t, &event);
	event.sync = (struct gt_sync_event){.kind = GT_SYNC_CONTEXT};
	event.place.stream = UINT32_MAX;
	event.start = AT(500000);
	event.end = AT(512000);
	trace_event(&t, &event);
	trace_close(&t);
	expect_line(&t,
		    ",{\"ph\": \"X\", \"cat\": \"cuda_sync\", \"name\": \"Stream Wait Event\", "
		    "\"pid\": 0, \"tid\": 1000007, \"ts\": 5000000000064.100, \"dur\": 0.000, "
		    "\"args\": {\"cuda_sync_kind\": \"Stream Wait Event\", \"wait_on_stream\": 20, "
		    "\"wait_on_cuda_event_record_corr_id\": 990, \"wait_on_cuda_event_id\": 3, "
		    "\"stream\": 7, \"correlation\": 1011, \"device\": 0, \"context\": 1}}\n");
	expect_line(&t, ",{\"ph\": \"X\", \"cat\": \"cuda_sync\", \"name\": \"Context Sync\", "
			"\"pid\": 0, \"tid\": 1000000, \"ts\": 5000000000500.000, \"dur\": 12.000, "
			"\"args\": {\"cuda_sync_kind\": \"Context Sync\", \"stream\": -1, "
			"\"correlation\": 1011, \"device\": 0, \"context\": 1}}\n");
	trace_end(&t);
}

Test(chrome, functions_of_call_stacks)
{
	struct trace t;
	struct gt_stack_frame python = {.kind = GT_FRAME_PYTHON, .line = 42},
			      native = {.offset = 0x1a2b};
	struct gt_event event = {
		.kind = GT_EVENT_FRAME, .tid = 4100, .start = AT(1000), .end = AT(2500)};

	trace_open(&t);
	python.function = trace_string(&t, "step");
	python.file = trace_string(&t, "/src/train.py");
	native.function = trace_string(&t, "main");
	native.module = trace_string(&t, "/opt/app/train");
	event.frame = (struct gt_frame_event){&python, 41, 42, 10};
	trace_event(&t, &event);
	event.frame = (struct gt_frame_event){&native, 0, 0, 1};
	trace_event(&t, &event);
	trace_close(&t);
	expect_line(
		&t,
		",{\"ph\": \"X\", \"cat\": \"call_stack\", \"name\": \"step (train.py:41-42)\", "
		"\"pid\": 4100, \"tid\": 25169924, \"ts\": 5000000000001.000, \"dur\": 1.500, "
		"\"args\": {\"frame\": \"step (/src/train.py:42)\", \"calls\": 10}}\n");
	expect_line(&t,
		    ",{\"ph\": \"X\", \"cat\": \"call_stack\", \"name\": \"main (train)\", "
		    "\"pid\": 4100, \"tid\": 25169924, \"ts\": 5000000000001.000, \"dur\": 1.500, "
		    "\"args\": {\"frame\": \"main (/opt/app/train+0x1a2b)\", \"calls\": 1}}\n");
	cr_assert_eq(t.ledger.count[GT_LEDGER_FRAMES_WRITTEN], 2);
	trace_end(&t);
}

Test(chrome, ranges_marks_counters_notes_overhead)
{
	struct trace t;
	struct gt_event event = {
		.kind = GT_EVENT_RANGE, .tid = 4100, .start = AT(1000), .end = AT(2500)};

	trace_open(&t);
	event.range = (struct gt_range_event){.name = trace_string(&t, "forward"),
					      .domain = trace_string(&t, "nn"),
					      .id = 900000,
					      .color = 0xff00ff00};
	trace_event(&t, &event);
	event.kind = GT_EVENT_MARK;
	event.range = (struct gt_range_event){.name = trace_string(&t, "here")};
	trace_event(&t, &event);
	event.kind = GT_EVENT_COUNTER;
	event.counter = (struct gt_counter_event){.name = trace_string(&t, "GPU 0 memory"),
						  .series = trace_string(&t, "allocated"),
						  .value = 4194304,
						  .on_gpu = true};
	trace_event(&t, &event);
	event.kind = GT_EVENT_NOTE;
	event.note = (struct gt_note_event){
		.name = "LOST", .cause = "ring full", .count = 12, .of_what = "API calls"};
	trace_event(&t, &event);
	event.kind = GT_EVENT_OVERHEAD;
	event.tid = 4177;
	event.overhead.name = trace_string(&t, "Buffer Flush");
	trace_event(&t, &event);
	trace_close(&t);
	expect_line(&t, ",{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"forward\", "
			"\"pid\": 4100, \"tid\": 4100, \"ts\": 5000000000001.000, \"dur\": 1.500, "
			"\"args\": {\"External id\": 900000, \"domain\": \"nn\", "
			"\"color\": \"0xff00ff00\"}}\n");
	expect_line(
		&t,
		",{\"ph\": \"i\", \"s\": \"t\", \"cat\": \"user_annotation\", \"name\": \"here\", "
		"\"pid\": 4100, \"tid\": 4100, \"ts\": 5000000000001.000, \"args\": {}}\n");
	expect_line(&t, ",{\"ph\": \"C\", \"cat\": \"gputrace\", \"name\": \"GPU 0 memory\", "
			"\"pid\": 0, \"tid\": 0, \"ts\": 5000000000001.000, "
			"\"args\": {\"allocated\": 4194304}}\n");
	expect_line(&t, ",{\"ph\": \"i\", \"s\": \"t\", \"cat\": \"gputrace\", \"name\": \"LOST\", "
			"\"pid\": 4100, \"tid\": 4100, \"ts\": 5000000000001.000, "
			"\"args\": {\"cause\": \"ring full\", \"API calls\": 12, "
			"\"duration (us)\": 1.500}}\n");
	expect_line(&t,
		    ",{\"ph\": \"X\", \"cat\": \"overhead\", \"name\": \"Buffer Flush\", "
		    "\"pid\": 4100, \"tid\": 8392785, \"ts\": 5000000000001.000, \"dur\": 1.500, "
		    "\"args\": {}}\n");
	expect_line(&t,
		    ",{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": 4100, \"tid\": 8392785, "
		    "\"ts\": 5000000000012.345, \"args\": {\"name\": \"thread 4177 tracing "
		    "overhead\"}}\n");
	trace_end(&t);
}

Test(chrome, stack_in_words_once_and_by_number)
{
	struct trace t;
	struct gt_stack_frame frames[3];
	struct gt_stack *stack;
	struct gt_event event;
	const char *first;

	trace_open(&t);
	frames[0] = (struct gt_stack_frame){.function = trace_string(&t, "Net::forward(\"x\")"),
					    .module = trace_string(&t, "/opt/app/train"),
					    .file = trace_string(&t, "/src/net.cu"),
					    .line = 42};
	frames[1] = (struct gt_stack_frame){.kind = GT_FRAME_PYTHON,
					    .function = trace_string(&t, "step"),
					    .file = trace_string(&t, "/src/train.py"),
					    .line = 7};
	frames[2] = (struct gt_stack_frame){.module = trace_string(&t, "/lib/libc.so.6"),
					    .build_id = trace_string(&t, "0a1b"),
					    .offset = 0x1a2b};
	stack = trace_stack(5, frames, 3);
	event = kernel_event(&t);
	event.launch.stack = stack;
	event.launch.nvtx = trace_string(&t, "nn:forward");
	trace_event(&t, &event);
	event.launch.first = false;
	event.start = AT(300000);
	event.end = AT(300001);
	trace_event(&t, &event);
	trace_close(&t);
	first = strstr(
		trace_read(&t),
		"\"launched by\": \"Net::forward(\\\"x\\\") (net.cu:42) < step (train.py:7) < "
		"...\", \"stack\": 5, \"frames\": [\"Net::forward(\\\"x\\\") "
		"(/src/net.cu:42)\", \"step (/src/train.py:7)\", \"/lib/libc.so.6+0x1a2b\"], "
		"\"modules\": {\"/lib/libc.so.6\": \"0a1b\"}, \"nvtx\": \"nn:forward\"}}\n");
	cr_assert_not_null(first, "%s", t.text + 16384);
	cr_assert_not_null(strstr(first + 10, "(train.py:7) < ...\", \"stack\": 5, \"nvtx\""));
	cr_assert_null(strstr(first + 200, "\"frames\""));
	cr_assert_eq(t.ledger.count[GT_LEDGER_STACKS_WRITTEN], 1);
	free(stack);
	trace_end(&t);
}

Test(chrome, launched_by_is_at_most_8_frames_and_400_bytes)
{
	struct trace t;
	char name[1000];
	struct gt_stack_frame few = {0}, frames[20];
	struct gt_stack *stack;
	struct gt_event event;
	const char *line, *end;

	trace_open(&t);
	for (int i = 0; i < 20; i++)
		frames[i] = (struct gt_stack_frame){.function = trace_string(&t, "f")};
	stack = trace_stack(1, frames, 20);
	event = kernel_event(&t);
	event.launch.stack = stack;
	trace_event(&t, &event);
	memset(name, 'n', sizeof(name));
	few.function = gt_intern_get(t.strings, name, sizeof(name) - 1);
	t.writer->ops->flush(t.writer, UINT64_MAX);
	free(stack);
	stack = trace_stack(2, &few, 1);
	event.launch.stack = stack;
	event.start = AT(300000);
	event.end = AT(300001);
	trace_event(&t, &event);
	trace_close(&t);
	cr_assert_not_null(
		strstr(trace_read(&t),
		       "\"launched by\": \"f < f < f < f < f < f < f < f < ...\", \"stack\": 1"));
	line = strstr(t.text, "\"launched by\": \"nnnn");
	cr_assert_not_null(line);
	line += strlen("\"launched by\": \"");
	end = strstr(line, " < ...\", \"stack\": 2");
	cr_assert_not_null(end);
	cr_assert_eq(end - line, 400);
	free(stack);
	trace_end(&t);
}

Test(chrome, small_pid_is_moved_off_the_gpu_rows)
{
	struct trace t;
	struct gt_event event = {.kind = GT_EVENT_API, .tid = 1, .start = AT(1), .end = AT(2)};

	trace_prepare(&t);
	t.metadata.pid = 1;
	trace_open_in(&t, t.folder, 0, NULL);
	event.api.name = trace_string(&t, "cudaMalloc");
	trace_event(&t, &event);
	trace_close(&t);
	cr_assert_not_null(
		strstr(trace_read(&t), "\"name\": \"cudaMalloc\", \"pid\": 4194305, \"tid\": 1,"));
	trace_end(&t);
}

Test(chrome, without_gpu_records_the_calls_say_who_made_them)
{
	struct trace t;
	struct gt_stack_frame frame = {0};
	struct gt_stack *stack;
	struct gt_event event = {.kind = GT_EVENT_API,
				 .tid = 4100,
				 .start = AT(1),
				 .end = AT(2),
				 .api = {.enqueues = true}};

	trace_prepare(&t);
	frame.function = trace_string(&t, "main");
	stack = trace_stack(1, &frame, 1);
	event.stack = stack;
	event.api.name = trace_string(&t, "cudaLaunchKernel");
	trace_open_in(&t, t.folder, 0, NULL);
	trace_event(&t, &event);
	t.metadata.mode = "hooks only";
	t.writer->ops->metadata(t.writer, &t.metadata);
	trace_event(&t, &event);
	trace_close(&t);
	cr_assert_not_null(
		strstr(trace_read(&t), "\"args\": {\"stack\": 1, \"frames\": [\"main\"]}}\n"));
	cr_assert_not_null(
		strstr(t.text, "\"args\": {\"launched by\": \"main\", \"stack\": 1}}\n"));
	free(stack);
	trace_end(&t);
}

static uint64_t count_text(const char *text, const char *what)
{
	uint64_t found = 0;

	for (; (text = strstr(text, what)); text++)
		found++;
	return found;
}

Test(chrome, names_that_come_late_are_printed_again)
{
	struct trace t;
	struct gt_event event = {.kind = GT_EVENT_API, .tid = 4177, .start = AT(1), .end = AT(2)};

	trace_open(&t);
	event.api.name = trace_string(&t, "cudaMalloc");
	trace_event(&t, &event);
	event = (struct gt_event){.kind = GT_EVENT_THREAD, .tid = 4177};
	event.thread.name = trace_string(&t, "loader \x01");
	trace_event(&t, &event);
	event.tid = 4178; /* never used: no track */
	trace_event(&t, &event);
	trace_close(&t);
	cr_assert_not_null(strstr(trace_read(&t), "\"tid\": 4177, \"ts\": 5000000000012.345, "
						  "\"args\": {\"name\": \"thread 4177\"}}\n"));
	cr_assert_not_null(strstr(t.text, "\"tid\": 4177, \"ts\": 5000000000012.345, "
					  "\"args\": {\"name\": \"loader \\u0001\"}}\n"));
	cr_assert_null(strstr(t.text, "4178"));
	cr_assert_eq(t.ledger.count[GT_LEDGER_NAMES_WRITTEN], count_text(t.text, "\"ph\": \"M\""));
	trace_end(&t);
}

/* The properties of a GPU come after its first work: the writer gets them, then that they
 * came. */
Test(chrome, gpu_whose_metadata_come_late)
{
	struct trace t;
	struct gt_event event = {.kind = GT_EVENT_KERNEL,
				 .start = AT(1000),
				 .end = AT(2000),
				 .correlation = 1,
				 .place = {.context = 1, .stream = 7}};

	trace_prepare(&t);
	t.metadata.device_count = 0;
	trace_open_in(&t, t.folder, 0, NULL);
	event.kernel.name = trace_string(&t, "k");
	trace_event(&t, &event);
	cr_assert_eq(t.writer->ops->flush(t.writer, UINT64_MAX), 0);
	t.metadata.device_count = 1;
	event = (struct gt_event){.kind = GT_EVENT_DEVICE, .device = t.metadata.devices[0]};
	for (int i = 0; i < 2; i++) {
		t.writer->ops->metadata(t.writer, &t.metadata);
		trace_event(&t, &event);
	}
	trace_close(&t);
	trace_read(&t);
	cr_assert(strstr(t.text, "\"name\": \"GPU 0 (rank 0, train)\""), "%s", t.text);
	cr_assert(strstr(t.text, "\"name\": \"GPU 0 NVIDIA H200 (rank 0, train)\""), "%s", t.text);
	trace_end(&t);
}

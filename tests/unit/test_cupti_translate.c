/* SPDX-License-Identifier: Apache-2.0
 *
 * Records of CUPTI 11.8, 12.4, 12.9 and 13.0, each in its own size, must give the same events:
 * bytes after the oldest form are filled with garbage and must not matter. Then clocks, missing and
 * reversed time stamps, unknown kinds.
 */
#include "collectors/cupti/records/translate.h"

#include <criterion/criterion.h>
#include <cupti.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/cupti/records/layout.h"

#define SECOND 1000000000ull
#define EPOCH  (1790000000ull * SECOND)

static struct gt_clock trace_clock;
static struct gt_ledger ledger;
static struct gt_translate translate;
static struct gt_intern *strings;
static struct gt_event events[16];
static int event_count;

static void keep(void *context, struct gt_event *event)
{
	(void)context;
	if (event_count < 16)
		events[event_count++] = *event;
}

static void setup(void)
{
	trace_clock =
		(struct gt_clock){.count = 1, .trace_offset = (int64_t)(EPOCH - 100 * SECOND)};
	trace_clock.first = (struct gt_clock_sample){
		.monotonic = 100 * SECOND, .realtime = EPOCH, .ticks = 5000};
	trace_clock.samples[0] = trace_clock.first;
	ledger = (struct gt_ledger){0};
	strings = gt_intern_new(1 << 20);
	translate = (struct gt_translate){.clock = &trace_clock,
					  .strings = strings,
					  .demangle = gt_demangle_new(strings),
					  .ledger = &ledger,
					  .session_start = EPOCH,
					  .emit = keep};
	event_count = 0;
}

static void teardown(void)
{
	gt_demangle_free(translate.demangle);
	gt_intern_free(strings);
}

TestSuite(cupti_translate, .init = setup, .fini = teardown);

static CUpti_ActivityKernel8 a_kernel(void)
{
	CUpti_ActivityKernel8 r;

	memset(&r, 0, sizeof(r));
	r.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
	r.registersPerThread = 122;
	r.start = EPOCH + 1000;
	r.end = EPOCH + 4500;
	r.deviceId = 3;
	r.contextId = 1;
	r.streamId = 7;
	r.gridX = 64;
	r.gridId = 4711;
	r.gridY = 8;
	r.gridZ = 1;
	r.blockX = 256;
	r.blockY = r.blockZ = 1;
	r.staticSharedMemory = 1024;
	r.dynamicSharedMemory = 2048;
	r.correlationId = 1002;
	r.name = "_Z9transposePKfPf";
	r.graphId = 5;
	r.graphNodeId = (5ull << 32) | 9;
	r.channelID = 11;
	r.channelType = CUPTI_CHANNEL_TYPE_COMPUTE;
	r.launchType = CUPTI_ACTIVITY_LAUNCH_TYPE_COOPERATIVE_SINGLE_DEVICE;
	return r;
}

/* The record as a CUPTI with records of @size bytes writes it, garbage after the fields of 11.8. */
static const void *in_size(const void *record, size_t known, size_t size)
{
	static _Alignas(8) unsigned char buffer[512];

	memset(buffer, 0xA5, sizeof(buffer));
	memcpy(buffer, record, known < size ? known : size);
	return buffer;
}

static void check_kernel(const struct gt_event *e)
{
	cr_assert_eq(e->kind, GT_EVENT_KERNEL);
	cr_assert_eq(e->start, EPOCH + 1000);
	cr_assert_eq(e->end, EPOCH + 4500);
	cr_assert_eq(e->correlation, 1002);
	cr_assert_eq(e->place.device, 3);
	cr_assert_eq(e->place.stream, 7);
	cr_assert(e->place.has_channel);
	cr_assert_eq(e->place.channel, 11);
	cr_assert_str_eq(e->kernel.name->text, "transpose(float const*, float*)");
	cr_assert_eq(e->kernel.grid[1], 8);
	cr_assert_eq(e->kernel.block[0], 256);
	cr_assert_eq(e->kernel.registers, 122);
	cr_assert_eq(e->kernel.static_shared, 1024);
	cr_assert_eq(e->kernel.dynamic_shared, 2048);
	cr_assert_eq(e->kernel.graph_node_id, (5ull << 32) | 9);
	cr_assert_eq(e->kernel.grid_id, 4711);
	cr_assert(e->kernel.cooperative);
	cr_assert_not(e->launch.known);
}

Test(cupti_translate, kernels_of_every_version)
{
	static const size_t sizes[] = {sizeof(CUpti_ActivityKernel8), sizeof(CUpti_ActivityKernel9),
				       sizeof(CUpti_ActivityKernel10), 256};
	CUpti_ActivityKernel8 r = a_kernel();

	cr_assert_eq(sizes[0], 200);
	cr_assert_eq(sizes[1], 208);
	cr_assert_eq(sizes[2], 216);
	for (int i = 0; i < 4; i++) {
		gt_translate_record(&translate, in_size(&r, sizeof(r), sizes[i]));
		check_kernel(&events[i]);
	}
	cr_assert_eq(ledger.count[GT_LEDGER_RECORDS_KERNEL], 4);
}

Test(cupti_translate, copies_and_sets_of_every_version)
{
	CUpti_ActivityMemcpy5 copy;
	CUpti_ActivityMemset4 set;

	memset(&copy, 0, sizeof(copy));
	memset(&set, 0, sizeof(set));
	copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
	copy.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
	copy.srcKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
	copy.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
	copy.bytes = 1 << 20;
	copy.start = EPOCH;
	copy.end = EPOCH + 10;
	copy.correlationId = 4;
	set.kind = CUPTI_ACTIVITY_KIND_MEMSET;
	set.value = 255;
	set.bytes = 77;
	set.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_MANAGED;
	set.start = EPOCH;
	set.end = EPOCH + 5;
	gt_translate_record(&translate, in_size(&copy, sizeof(copy), 88));
	gt_translate_record(&translate, in_size(&copy, sizeof(copy), 96));
	gt_translate_record(&translate, in_size(&set, sizeof(set), 88));
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(events[i].memory.copy, GT_COPY_HTOD);
		cr_assert_eq(events[i].memory.src, GT_MEMORY_PINNED);
		cr_assert_eq(events[i].memory.dst, GT_MEMORY_DEVICE);
		cr_assert_eq(events[i].memory.bytes, 1 << 20);
		cr_assert_not(events[i].memory.peer);
	}
	cr_assert_eq(events[2].memory.dst, GT_MEMORY_MANAGED);
	cr_assert_eq(events[2].memory.value, 255);
}

Test(cupti_translate, a_peer_copy_names_both_devices)
{
	CUpti_ActivityMemcpyPtoP4 r;

	memset(&r, 0, sizeof(r));
	r.kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
	r.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
	r.start = r.end = EPOCH + 1;
	r.srcDeviceId = 1;
	r.dstDeviceId = 2;
	r.correlationId = 12;
	gt_translate_record(&translate, &r);
	cr_assert(events[0].memory.peer);
	cr_assert_eq(events[0].memory.src_device, 1);
	cr_assert_eq(events[0].memory.dst_device, 2);
	cr_assert_eq(events[0].correlation, 12);
}

static CUpti_ActivityGraphTrace2 a_graph(void)
{
	CUpti_ActivityGraphTrace2 r;

	memset(&r, 0, sizeof(r));
	r.kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
	r.correlationId = 77;
	r.start = EPOCH + 1000;
	r.end = EPOCH + 9000;
	r.deviceId = r.endDeviceId = 3;
	r.graphId = 12;
	r.contextId = r.endContextId = 2;
	r.streamId = 7;
	return r;
}

/* 11.8 has no device of the last node: what follows its record is not looked at. */
Test(cupti_translate, whole_graphs_of_every_version)
{
	static const struct {
		uint32_t version;
		size_t bytes;
	} versions[] = {{18, 48}, {22, 56}, {26, 56}, {130000, 56}, {130300, 64}};
	CUpti_ActivityGraphTrace2 r = a_graph();

	cr_assert_eq(sizeof(CUpti_ActivityGraphTrace), 48);
	cr_assert_eq(sizeof(r), 56);
	for (int i = 0; i < 5; i++) {
		const struct gt_event *e = &events[i];

		translate.version = versions[i].version;
		gt_translate_record(&translate, in_size(&r, sizeof(r), versions[i].bytes));
		cr_assert_eq(e->kind, GT_EVENT_GRAPH);
		cr_assert_eq(e->correlation, 77);
		cr_assert_eq(e->start, EPOCH + 1000);
		cr_assert_eq(e->end, EPOCH + 9000);
		cr_assert_eq(e->place.device, 3);
		cr_assert_eq(e->place.context, 2);
		cr_assert_eq(e->place.stream, 7);
		cr_assert_not(e->place.has_channel);
		cr_assert_eq(e->graph.graph_id, 12);
		cr_assert_not(e->graph.has_end_device);
	}
	cr_assert_eq(ledger.count[GT_LEDGER_RECORDS_GRAPH], 5);
}

Test(cupti_translate, a_graph_that_ends_on_another_device)
{
	CUpti_ActivityGraphTrace2 r = a_graph();

	translate.version = 22;
	r.endDeviceId = 5;
	gt_translate_record(&translate, &r);
	cr_assert(events[0].graph.has_end_device);
	cr_assert_eq(events[0].graph.end_device, 5);
	cr_assert_eq(events[0].place.device, 3);
}

Test(cupti_translate, a_graph_without_stamps_or_in_progress_is_an_instant)
{
	CUpti_ActivityGraphTrace2 r = a_graph();

	r.end = 0;
	gt_translate_record(&translate, &r);
	r.start = 0;
	gt_translate_record(&translate, &r);
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(events[i].kind, GT_EVENT_NOTE);
		cr_assert_str_eq(events[i].note.name, "graph (untimed)");
		cr_assert_eq(events[i].correlation, 77);
	}
	cr_assert_eq(ledger.count[GT_LEDGER_GRAPHS_UNTIMED], 2);
	cr_assert_eq(ledger.count[GT_LEDGER_RECORDS_UNFINISHED], 1);
}

Test(cupti_translate, no_stamps_give_an_instant_never_a_slice)
{
	CUpti_ActivityKernel8 r = a_kernel();

	r.start = r.end = 0;
	translate.then = EPOCH + 7;
	gt_translate_record(&translate, &r);
	cr_assert_eq(events[0].kind, GT_EVENT_NOTE);
	cr_assert_eq(events[0].start, EPOCH + 7);
	cr_assert_str_eq(events[0].note.name, "kernel (untimed)");
	cr_assert_eq(events[0].correlation, 1002);
	cr_assert_eq(ledger.count[GT_LEDGER_KERNELS_UNTIMED], 1);
}

Test(cupti_translate, no_stamps_because_the_clock_was_changed)
{
	CUpti_ActivityKernel8 r = a_kernel();

	translate.clock_changed = true;
	gt_translate_record(&translate, &r);
	cr_assert_eq(events[0].kind, GT_EVENT_KERNEL);
	r.start = r.end = 0;
	gt_translate_record(&translate, &r);
	cr_assert_eq(events[1].kind, GT_EVENT_NOTE);
	cr_assert_str_eq(events[1].note.what,
			 "another tool changed CUPTI's clock before this record was delivered");
	cr_assert_eq(translate.clock_untimed, 1);
}

Test(cupti_translate, reversed_stamps_become_an_empty_slice_and_are_counted)
{
	CUpti_ActivityKernel8 r = a_kernel();

	r.end = r.start - 10;
	gt_translate_record(&translate, &r);
	cr_assert_eq(events[0].start, events[0].end);
	cr_assert_eq(ledger.count[GT_LEDGER_TIME_REVERSED], 1);
}

Test(cupti_translate, a_foreign_clock_is_converted_and_counted)
{
	CUpti_ActivityKernel8 r = a_kernel();

	trace_clock.samples[trace_clock.count++] = (struct gt_clock_sample){
		.monotonic = 101 * SECOND, .realtime = EPOCH + SECOND, .ticks = 5000 + 3 * SECOND};
	r.start = 5000 + 3 * SECOND / 2; /* 3 ticks a ns */
	r.end = r.start + 3000;
	gt_translate_record(&translate, &r);
	cr_assert_eq(events[0].start, EPOCH + SECOND / 2);
	cr_assert_eq(events[0].end - events[0].start, 1000);
	cr_assert_eq(ledger.count[GT_LEDGER_TIME_FOREIGN], 2);
}

Test(cupti_translate, clock_monotonic_is_known_too)
{
	CUpti_ActivityKernel8 r = a_kernel();

	r.start = 100 * SECOND + 500;
	r.end = r.start + 1000;
	gt_translate_record(&translate, &r);
	cr_assert_eq(events[0].start, EPOCH + 500);
	cr_assert_eq(events[0].end - events[0].start, 1000);
	cr_assert_eq(ledger.count[GT_LEDGER_TIME_FOREIGN], 2);
}

Test(cupti_translate, stamps_since_a_sample_that_is_minutes_old)
{
	CUpti_ActivityKernel8 r = a_kernel();

	r.start = EPOCH + 200 * SECOND;
	r.end = r.start + 1000;
	translate.now = EPOCH + 201 * SECOND;
	gt_translate_record(&translate, &r);
	cr_assert_eq(events[0].kind, GT_EVENT_KERNEL);
	cr_assert_eq(events[0].start, r.start);
	cr_assert_eq(ledger.count[GT_LEDGER_TIME_UNKNOWN], 0);
	translate.now = EPOCH + 100 * SECOND;
	gt_translate_record(&translate, &r);
	cr_assert_eq(ledger.count[GT_LEDGER_TIME_UNKNOWN], 1);
}

Test(cupti_translate, unknown_kinds_are_counted)
{
	CUpti_Activity r = {.kind = (CUpti_ActivityKind)63};

	gt_translate_record(&translate, in_size(&r, sizeof(r), 64));
	r.kind = (CUpti_ActivityKind)0xFFFFFFFF;
	gt_translate_record(&translate, in_size(&r, sizeof(r), 64));
	cr_assert_eq(event_count, 0);
	cr_assert_eq(ledger.count[GT_LEDGER_RECORDS_UNKNOWN], 2);
}

Test(cupti_translate, a_device_gives_occupancy_to_its_kernels)
{
	CUpti_ActivityDevice5 d;
	CUpti_ActivityKernel8 r = a_kernel();

	memset(&d, 0, sizeof(d));
	d.kind = CUPTI_ACTIVITY_KIND_DEVICE;
	d.id = 3;
	d.name = "NVIDIA H200"; /* shared by all records (CUPTI 11.8): not ours to free */
	d.computeCapabilityMajor = 9;
	d.numMultiprocessors = 132;
	d.numThreadsPerWarp = 32;
	d.maxWarpsPerMultiprocessor = 64;
	d.maxThreadsPerBlock = 1024;
	d.maxRegistersPerBlock = d.maxRegistersPerMultiprocessor = 65536;
	d.maxSharedMemoryPerBlock = 49152;
	d.maxSharedMemoryPerMultiprocessor = 233472;
	gt_translate_record(&translate, in_size(&d, sizeof(CUpti_ActivityDevice4),
						sizeof(CUpti_ActivityDevice4)));
	gt_translate_record(&translate, &r);
	cr_assert_eq(events[0].kind, GT_EVENT_DEVICE);
	cr_assert_str_eq(events[0].device.name->text, "NVIDIA H200");
	cr_assert_eq(events[0].device.shared_per_block_optin, 232448);
	cr_assert(events[1].kernel.has_occupancy);
	cr_assert_eq(events[1].kernel.theoretical_occupancy_percent, 25);
}

/* Its owner frees the name, perhaps before we read the record. */
Test(cupti_translate, a_device_of_another_tool)
{
	CUpti_ActivityDevice5 device;
	char *name = strdup("NVIDIA H200");

	memset(&device, 0, sizeof(device));
	device.kind = CUPTI_ACTIVITY_KIND_DEVICE;
	device.numMultiprocessors = 132;
	device.name = name;
	translate.version = 130000;
	translate.borrowed = true;
	gt_translate_record(&translate, &device);
	cr_assert_str_eq(events[0].device.name->text, "GPU");
	cr_assert_eq(events[0].device.sm_count, 132);
	cr_assert_str_eq(name, "NVIDIA H200");
	translate.borrowed = false;
	gt_translate_record(&translate, &device); /* this one is freed */
	cr_assert_str_eq(events[1].device.name->text, "NVIDIA H200");
	translate.borrowed = true;
	device.name = (const char *)8;
	gt_translate_record(&translate, &device);
	cr_assert_eq(event_count, 2, "it is known already");
}

Test(cupti_translate, a_hidden_device_does_not_replace_one_that_is_used)
{
	CUpti_ActivityDevice4 device;

	memset(&device, 0, sizeof(device));
	device.kind = CUPTI_ACTIVITY_KIND_DEVICE;
	device.name = "NVIDIA H200";
	device.isCudaVisible = 1;
	translate.version = 18;
	gt_translate_record(&translate, &device);
	device.name = "NVIDIA T4";
	device.isCudaVisible = 0;
	gt_translate_record(&translate, &device);
	cr_assert_eq(event_count, 1);
	device.isCudaVisible = 1;
	gt_translate_record(&translate, &device);
	cr_assert_eq(event_count, 2, "named again");
}

Test(cupti_translate, a_wait_names_the_record_it_waits_for)
{
	CUpti_ActivityCudaEvent record;
	CUpti_ActivitySynchronization wait;

	memset(&record, 0, sizeof(record));
	memset(&wait, 0, sizeof(wait));
	record.kind = CUPTI_ACTIVITY_KIND_CUDA_EVENT;
	record.eventId = 6;
	record.streamId = 20;
	record.correlationId = 990;
	wait.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
	wait.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT;
	wait.cudaEventId = 6;
	wait.streamId = 7;
	wait.start = wait.end = EPOCH + 3;
	gt_translate_record(&translate, &record);
	gt_translate_record(&translate, &wait);
	cr_assert_eq(event_count, 1);
	cr_assert_eq(events[0].sync.kind, GT_SYNC_STREAM_WAIT_EVENT);
	cr_assert(events[0].sync.has_wait_on);
	cr_assert_eq(events[0].sync.wait_on_stream, 20);
	cr_assert_eq(events[0].sync.wait_on_correlation, 990);
}

/* As since 12.8. */
union newer_record {
	CUpti_ActivityCudaEvent recording;
	CUpti_ActivitySynchronization wait;
	char bytes[64];
};

static void record_again(uint32_t correlation, uint64_t sync_id)
{
	union newer_record record = {.bytes = {0}};

	record.recording.kind = CUPTI_ACTIVITY_KIND_CUDA_EVENT;
	record.recording.eventId = 6;
	record.recording.streamId = 20;
	record.recording.correlationId = correlation;
	memcpy(record.bytes + GT_CUPTI_SYNC_ID_OF_RECORDING, &sync_id, sizeof(sync_id));
	gt_translate_record(&translate, &record);
}

/* What a wait for event 6 names, after two recordings. */
static uint32_t waited_on(uint32_t version, uint64_t first, uint64_t second, uint64_t sync_id)
{
	union newer_record record = {.bytes = {0}};

	translate.version = version;
	record_again(990, first);
	record_again(995, second);
	record.wait.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
	record.wait.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT;
	record.wait.cudaEventId = 6;
	record.wait.start = record.wait.end = EPOCH + 3;
	memcpy(record.bytes + GT_CUPTI_SYNC_ID_OF_WAIT, &sync_id, sizeof(sync_id));
	gt_translate_record(&translate, &record);
	return events[event_count - 1].sync.wait_on_correlation;
}

Test(cupti_translate, a_wait_names_its_record_though_the_event_was_recorded_again)
{
	cr_assert_eq(waited_on(26, 100, 101, 100), 990);
	cr_assert_eq(waited_on(26, 200, 201, 201), 995);
	cr_assert_eq(waited_on(26, 0, 0, 0), 995, "without ids: the newest one");
	cr_assert_eq(waited_on(26, 300, 301, UINT64_MAX), 995);
	cr_assert_eq(waited_on(26, 400, 401, UINT32_MAX), 995);
	cr_assert_eq(waited_on(26, 500, 501, 7), 995, "an id that is not known");
	cr_assert_eq(waited_on(18, 600, 601, 600), 995, "its record has no such id");
}

static struct gt_cupti_host_launch a_host_function(void)
{
	return (struct gt_cupti_host_launch){.kind = GT_CUPTI_KIND_HOST_LAUNCH,
					     .stream = 13,
					     .context = 1,
					     .device = 2,
					     .correlation = 1003,
					     .process = 50,
					     .thread = 51,
					     .start = EPOCH + 1000,
					     .end = EPOCH + 6000};
}

Test(cupti_translate, a_host_function_is_a_wait_of_its_stream)
{
	struct gt_cupti_host_launch function = a_host_function();
	const struct gt_event *event = &events[0];

	gt_translate_record(&translate, &function);
	cr_assert_eq(event_count, 1);
	cr_assert_eq(ledger.count[GT_LEDGER_RECORDS_SYNC], 1);
	cr_assert_eq(event->kind, GT_EVENT_SYNC);
	cr_assert_eq(event->sync.kind, GT_SYNC_HOST_FUNCTION);
	cr_assert_eq(event->start, EPOCH + 1000);
	cr_assert_eq(event->end, EPOCH + 6000);
	cr_assert_eq(event->correlation, 1003);
	cr_assert_eq(event->place.device, 2);
	cr_assert_eq(event->place.context, 1);
	cr_assert_eq(event->place.stream, 13);
	cr_assert_eq(event->sync.thread, 51);
	cr_assert_eq(event->sync.graph_id, 0);
}

Test(cupti_translate, a_host_node_has_the_ids_of_its_graph)
{
	struct gt_cupti_host_node node = {.kind = GT_CUPTI_KIND_HOST_NODE,
					  .stream = 13,
					  .context = 1,
					  .device = 2,
					  .correlation = 1004,
					  .graph = 5,
					  .node = (5ull << 32) | 9,
					  .process = 50,
					  .thread = 51,
					  .start = EPOCH + 2000,
					  .end = EPOCH + 2500};

	gt_translate_record(&translate, &node);
	cr_assert_eq(event_count, 1);
	cr_assert_eq(events[0].sync.kind, GT_SYNC_HOST_FUNCTION);
	cr_assert_eq(events[0].start, EPOCH + 2000);
	cr_assert_eq(events[0].end, EPOCH + 2500);
	cr_assert_eq(events[0].correlation, 1004);
	cr_assert_eq(events[0].place.stream, 13);
	cr_assert_eq(events[0].sync.thread, 51);
	cr_assert_eq(events[0].sync.graph_id, 5);
	cr_assert_eq(events[0].sync.graph_node_id, (5ull << 32) | 9);
}

Test(cupti_translate, a_host_function_without_times_is_counted_only)
{
	struct gt_cupti_host_launch never = a_host_function(), running = a_host_function();

	never.start = never.end = 0;
	running.end = 0;
	gt_translate_record(&translate, &never);
	gt_translate_record(&translate, &running);
	cr_assert_eq(event_count, 0);
	cr_assert_eq(ledger.count[GT_LEDGER_RECORDS_SYNC], 2);
	cr_assert_eq(ledger.count[GT_LEDGER_TIME_UNKNOWN], 2);
}

Test(cupti_translate, a_kind_of_a_too_new_cupti_that_looks_wrong_is_left_out)
{
	CUpti_ActivityKernel8 good = a_kernel(), bad = a_kernel();
	CUpti_ActivityMemset4 set;

	memset(&set, 0, sizeof(set));
	set.kind = CUPTI_ACTIVITY_KIND_MEMSET;
	set.start = set.end = EPOCH + 1;
	bad.name = (const char *)(uintptr_t)0x1234;
	translate.version = 990000;
	gt_translate_record(&translate, &bad);
	gt_translate_record(&translate, &good);
	gt_translate_record(&translate, &set);
	cr_assert_eq(event_count, 1, "the set");
	cr_assert_eq(ledger.count[GT_LEDGER_RECORDS_INSANE], 2);
	cr_assert_eq(ledger.count[GT_LEDGER_RECORDS_KERNEL], 0);
}

Test(cupti_translate, a_too_new_cupti_that_looks_right_is_used)
{
	CUpti_ActivityKernel8 r = a_kernel();

	translate.version = 990000;
	gt_translate_record(&translate, in_size(&r, sizeof(r), 256));
	check_kernel(&events[0]);
	cr_assert_eq(ledger.count[GT_LEDGER_RECORDS_INSANE], 0);
}

Test(cupti_translate, a_duration_is_kept_though_the_clocks_drift)
{
	CUpti_ActivityKernel8 r = a_kernel();

	trace_clock.samples[trace_clock.count++] = (struct gt_clock_sample){
		.monotonic = 101 * SECOND, .realtime = EPOCH + SECOND + 7000};
	r.start = EPOCH + SECOND;
	r.end = EPOCH + SECOND + 10000; /* after the sample: another offset */
	gt_translate_record(&translate, &r);
	cr_assert_eq(events[0].end - events[0].start, 10000);
}

Test(cupti_translate, a_clock_that_was_set_back_by_an_hour_is_still_the_same_clock)
{
	CUpti_ActivityKernel8 r = a_kernel();

	trace_clock.samples[trace_clock.count++] =
		(struct gt_clock_sample){.monotonic = 200 * SECOND,
					 .realtime = EPOCH - 3600 * SECOND,
					 .ticks = 5000 + 300 * SECOND};
	r.start = EPOCH - 3600 * SECOND + 500;
	r.end = r.start + 700;
	gt_translate_record(&translate, &r);
	cr_assert_eq(events[0].start, EPOCH + 100 * SECOND + 500);
	cr_assert_eq(events[0].end - events[0].start, 700);
	cr_assert_eq(ledger.count[GT_LEDGER_TIME_FOREIGN], 0);
}

/* Counts of glibc's malloc; a sanitizer has its own, and finds the leak itself. */
static size_t bytes_in_use(void)
{
	return mallinfo2().uordblks;
}

Test(cupti_translate, memory_that_comes_with_an_overhead_is_freed)
{
	CUpti_ActivityOverhead3 r;
	size_t before;

	memset(&r, 0, sizeof(r));
	r.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
	r.overheadKind = (CUpti_ActivityOverheadKind)(6 << 16);
	r.start = EPOCH + 1000;
	r.end = EPOCH + 2000;
	translate.version = 22;
	gt_translate_record(&translate, &r);
	before = bytes_in_use();
	for (int i = 0; i < 100; i++) {
		r.overheadData = malloc(4096);
		gt_translate_record(&translate, &r);
	}
	cr_assert_lt(bytes_in_use(), before + 4096 * 50);
	/* a CUPTI whose records end before it: these bytes belong to the next record */
	translate.version = 18;
	r.overheadData = &r;
	gt_translate_record(&translate, &r);
	cr_assert_eq(ledger.count[GT_LEDGER_RECORDS_OVERHEAD], 102);
}

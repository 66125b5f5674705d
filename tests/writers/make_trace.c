/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes a trace of an invented training loop through the real writer and sink, for the tests of the
 * file: cuts, full disks, readers. The same arguments give the same file.
 *
 *   make_trace DIR STEPS [key=value ...]
 *     seed=N       of the pseudo-random times (1)
 *     overlap=1    work of one stream overlaps, contexts share stream ids, some records come late
 *     hostile=1    names with quotes, control characters, broken UTF-8
 *     close=0      ends as a killed process does: flushed, never closed
 *     max_size=N   bytes, as --max-size
 *     fsize=N      RLIMIT_FSIZE while writing: a disk that is full from there on
 *     sync=1       synchronization rows
 *     full=1       frames on every slice
 *     few=1        as --details=few
 *     brief=1      as --details=default; else all
 *     own=1        also a flow for each operation of a call, as all
 *     stepless=1   no ranges ProfilerStep#N
 *     perfetto=1   the other form
 *     rank=N world=N pid=N devices=N
 *
 * Prints the path of the file, then "key value" of every ledger key. Exit 0, or 1 with the errno
 * of the writer's close on stderr.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "core/guest/log.h"
#include "core/intern.h"
#include "core/stack.h"
#include "writers/sink.h"
#include "writers/writer.h"

#define BASE 1782967788000000000ull

struct settings {
	const char *directory;
	uint64_t steps;
	uint64_t seed, overlap, hostile, close, max_size, fsize, sync, full, few, brief, own,
		stepless, perfetto, rank, world, pid, devices;
};

struct maker {
	struct settings set;
	struct gt_intern *strings;
	struct gt_metadata metadata;
	struct gt_writer *writer;
	struct gt_ledger ledger; /* the collectors' counts; the writer adds its own */
	struct gt_stack_frame frames[6];
	struct gt_stack *stacks[4];
	uint64_t now;            /* of the host thread */
	uint64_t called;         /* start of its last call */
	uint64_t stream_end[64]; /* by device and stream */
	uint32_t correlation;
};

static uint64_t random_below(struct maker *m, uint64_t bound)
{
	m->set.seed ^= m->set.seed << 13;
	m->set.seed ^= m->set.seed >> 7;
	m->set.seed ^= m->set.seed << 17;
	return m->set.seed % bound;
}

static const struct gt_string *string(struct maker *m, const char *text)
{
	return gt_intern_cstr(m->strings, text);
}

static void put(struct maker *m, const struct gt_event *event)
{
	static const enum gt_ledger_key received[GT_EVENT_COUNT_] = {
		[GT_EVENT_API] = GT_LEDGER_CALLS_RECEIVED,
		[GT_EVENT_KERNEL] = GT_LEDGER_RECORDS_KERNEL,
		[GT_EVENT_MEMCPY] = GT_LEDGER_RECORDS_MEMCPY,
		[GT_EVENT_MEMSET] = GT_LEDGER_RECORDS_MEMSET,
	};

	if (received[event->kind])
		gt_ledger_add(&m->ledger, received[event->kind], 1);
	m->writer->ops->event(m->writer, event);
}

/* Writes one call of the host thread, @ns long. */
static void call(struct maker *m, const char *name, uint32_t cbid, bool enqueues, uint64_t ns)
{
	struct gt_event event = {
		.kind = GT_EVENT_API,
		.tid = m->metadata.pid,
		.start = m->now,
		.end = m->now + ns,
		.correlation = ++m->correlation,
		.stack = m->stacks[m->correlation % 4],
		.api = {.cbid = cbid, .enqueues = enqueues, .name = string(m, name)}};

	put(m, &event);
	m->called = m->now;
	m->now = event.end + 1000;
}

/* Makes the GPU work of the last call: its place and time. */
static struct gt_event work(struct maker *m, enum gt_event_kind kind, uint32_t device,
			    uint32_t stream, uint64_t ns)
{
	uint64_t *end = &m->stream_end[(device * 4 + stream % 4) % 64];
	uint64_t start = m->now + 2000 > *end ? m->now + 2000 : *end;
	struct gt_event event = {.kind = kind,
				 .correlation = m->correlation,
				 .place = {.device = device, .context = 1, .stream = stream},
				 .launch = {.known = true,
					    .first = true,
					    .tid = m->metadata.pid,
					    .start = m->called,
					    .stack = m->stacks[m->correlation % 4]}};

	if (m->set.overlap) {
		start = m->now + random_below(m, 200000);
		event.place.context = 1 + (uint32_t)random_below(m, 2);
	}
	event.start = start;
	event.end = start + ns;
	*end = event.end;
	return event;
}

static void copy(struct maker *m, uint32_t device, enum gt_copy_kind kind)
{
	bool in = kind == GT_COPY_HTOD;
	struct gt_event event;

	call(m, "cudaMemcpyAsync", 41, true, 3000);
	event = work(m, GT_EVENT_MEMCPY, device, 20, 40000 + random_below(m, 5000));
	event.memory = (struct gt_memory_event){.bytes = 1 << 20,
						.copy = kind,
						.src = in ? GT_MEMORY_PINNED : GT_MEMORY_DEVICE,
						.dst = in ? GT_MEMORY_DEVICE : GT_MEMORY_PINNED};
	put(m, &event);
}

static void set(struct maker *m, uint32_t device)
{
	struct gt_event event;

	call(m, "cudaMemsetAsync", 51, true, 3000);
	event = work(m, GT_EVENT_MEMSET, device, 7, 1280);
	event.memory = (struct gt_memory_event){.bytes = 65536, .dst = GT_MEMORY_DEVICE};
	put(m, &event);
}

static void kernel(struct maker *m, uint32_t device, uint32_t stream, const char *name, uint64_t ns)
{
	struct gt_event event;
	char mangled[1024];

	snprintf(mangled, sizeof(mangled), "_Z%zu%.1000s", strlen(name), name);
	call(m, "cudaLaunchKernel", 211, true, 3000 + random_below(m, 500));
	event = work(m, GT_EVENT_KERNEL, device, stream, ns + random_below(m, ns));
	event.launch.nvtx = string(m, "train:forward");
	event.kernel = (struct gt_kernel_event){.name = string(m, name),
						.mangled = string(m, mangled),
						.grid = {64, 8, 1},
						.block = {256, 1, 1},
						.registers = 122,
						.dynamic_shared = 49152,
						.has_occupancy = true,
						.blocks_per_sm_micro = 3878788,
						.warps_per_sm_micro = 31030304,
						.est_occupancy_percent = 48,
						.theoretical_occupancy_percent = 50,
						.resident_blocks = 4,
						.limit_blocks = 32,
						.limit_warps = 8,
						.limit_registers = 4,
						.limit_shared = 4};
	put(m, &event);
}

/* One call that starts five nodes. */
static void graph(struct maker *m, uint32_t device)
{
	struct gt_event event;

	call(m, "cudaGraphLaunch", 311, true, 6000);
	for (uint32_t node = 0; node < 5; node++) {
		event = work(m, GT_EVENT_KERNEL, device, 7, 3000);
		event.launch.first = node == 0;
		event.kernel = (struct gt_kernel_event){.name = string(m, "void node(int)"),
							.grid = {1, 1, 1},
							.block = {32, 1, 1},
							.graph_id = 1,
							.graph_node_id = 0x100000000ull + node,
							.created = m->stacks[3]};
		put(m, &event);
	}
}

static void synchronize(struct maker *m, uint32_t device)
{
	struct gt_event event;
	uint64_t end = m->stream_end[(device * 4 + 3) % 64];

	call(m, "cudaStreamSynchronize", 131, false, end > m->now ? end - m->now + 1000 : 2000);
	event = work(m, GT_EVENT_SYNC, device, 7, 0);
	event.start = m->now - 3000;
	event.end = m->now - 1000;
	event.sync.kind = GT_SYNC_STREAM;
	put(m, &event);
}

static void range(struct maker *m, const char *name, uint64_t start, uint64_t id)
{
	struct gt_event event = {.kind = GT_EVENT_RANGE,
				 .tid = m->metadata.pid,
				 .start = start,
				 .end = m->now,
				 .range = {.name = string(m, name), .id = id}};

	put(m, &event);
}

static void late(struct maker *m, uint32_t device)
{
	struct gt_event event;

	call(m, "cudaLaunchKernel", 211, true, 3000);
	event = work(m, GT_EVENT_KERNEL, device, 7, 5000);
	event.start -= random_below(m, 3000000);
	event.end = event.start + 1 + random_below(m, 90000);
	event.kernel = (struct gt_kernel_event){.name = string(m, "late"), .grid = {1, 1, 1}};
	put(m, &event);
}

static void step(struct maker *m, uint64_t number)
{
	static const char hostile[] =
		"a\"b\\c\x01\n\t\x7f\xff\xc0\x80\xed\xa0\x80 \xf0\x9f\x98\x80 \xe2\x82";
	uint64_t start = m->now, inner;
	char name[64];
	uint32_t device = (uint32_t)(number % m->set.devices);

	m->now += 1000;
	copy(m, device, GT_COPY_HTOD);
	set(m, device);
	inner = m->now;
	m->now += 500;
	for (int i = 0; i < 8; i++)
		kernel(m, device, 7, "void gemm_kernel<float, 128, 64>(float const*, float*)",
		       60000);
	kernel(m, device, 20,
	       "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 90000);
	graph(m, device);
	if (m->set.hostile)
		kernel(m, device, 7, hostile, 1000);
	if (m->set.overlap)
		late(m, device);
	range(m, "forward", inner, 900000 + number);
	copy(m, device, GT_COPY_DTOH);
	synchronize(m, device);
	snprintf(name, sizeof(name), "ProfilerStep#%lu", (unsigned long)number);
	if (!m->set.stepless)
		range(m, name, start, 800000 + number);
	m->now += 5000;
}

static void make_stacks(struct maker *m)
{
	static const char *const functions[] = {
		"Net::forward(Tensor const&)", "train_step()", "main", "step", NULL,
		"void launch<float>(float*)"};

	for (int i = 0; i < 6; i++)
		m->frames[i] = (struct gt_stack_frame){
			.function = functions[i] ? string(m, functions[i]) : NULL,
			.module = string(m, "/opt/app/train"),
			.offset = 0x1000u + (uint64_t)i};
	m->frames[0].file = string(m, "/src/net.cu");
	m->frames[0].line = 42;
	m->frames[3].kind = GT_FRAME_PYTHON;
	m->frames[3].file = string(m, "/src/train.py");
	m->frames[3].line = 7;
	for (uint32_t i = 0; i < 4; i++) {
		m->stacks[i] =
			calloc(1, sizeof(struct gt_stack) + 4 * sizeof(struct gt_stack_frame *));
		m->stacks[i]->id = i + 1;
		m->stacks[i]->count = 4;
		for (uint32_t k = 0; k < 4; k++)
			m->stacks[i]->frames[k] = &m->frames[(i + k) % 6];
	}
}

static void make_metadata(struct maker *m)
{
	m->metadata = (struct gt_metadata){.version = "0.1.0",
					   .process = "train",
					   .host = "n3",
					   .pid = (uint32_t)m->set.pid,
					   .rank = (int32_t)m->set.rank,
					   .world_size = (int32_t)m->set.world,
					   .local_rank = -1,
					   .has_rank = true,
					   .base = BASE,
					   .start = BASE + 5000000012345ull,
					   .cupti_version = 130000,
					   .runtime_version = 13000,
					   .driver_version = 13000,
					   .mode = "cupti",
					   .unwinder = "libunwind rules",
					   .device_count = (uint32_t)m->set.devices};
	if (m->set.few)
		snprintf(m->metadata.options, sizeof(m->metadata.options), "details=few");
	if (m->set.own)
		snprintf(m->metadata.options, sizeof(m->metadata.options), "details=all");
	for (uint32_t i = 0; i < m->set.devices; i++)
		m->metadata.devices[i] = (struct gt_device_event){.id = i,
								  .name = string(m, "NVIDIA H200"),
								  .total_memory = 150121545728ull,
								  .compute_major = 9,
								  .sm_count = 132,
								  .warp_size = 32,
								  .max_threads_per_block = 1024,
								  .max_threads_per_sm = 2048,
								  .registers_per_block = 65536,
								  .registers_per_sm = 65536,
								  .shared_per_block = 49152,
								  .shared_per_sm = 233472};
}

static void fill_disk_at(uint64_t bytes)
{
	struct rlimit limit = {.rlim_cur = bytes, .rlim_max = RLIM_INFINITY};

	signal(SIGXFSZ, SIG_IGN); /* the drain thread blocks it; this program has one thread */
	setrlimit(RLIMIT_FSIZE, &limit);
}

static int finish(struct maker *m, struct gt_sink *sink)
{
	struct gt_ledger *ledger = &m->ledger;
	int error = 0;

	ledger->count[GT_LEDGER_CALLS_SEEN] = ledger->count[GT_LEDGER_CALLS_RECEIVED];
	if (m->set.close)
		error = m->writer->ops->close(m->writer, &m->metadata, ledger);
	else
		m->writer->ops->flush(m->writer, UINT64_MAX);
	m->writer->ops->fini(m->writer);
	puts(gt_sink_path(sink));
	for (int i = 0; i < GT_LEDGER_COUNT_; i++)
		printf("%s %lu\n", gt_ledger_rows[i].json, (unsigned long)ledger->count[i]);
	if (error)
		fprintf(stderr, "close: error %d\n", -error);
	return error ? 1 : 0;
}

static int run(struct maker *m)
{
	struct gt_writer_options options = {.full_stacks = m->set.full,
					    .sync_tracks = m->set.sync,
					    .few_details = m->set.few,
					    .brief = m->set.brief,
					    .own_flows = m->set.own};
	char name[64];
	struct gt_sink_options where = {.directory = m->set.directory,
					.fallback = m->set.directory,
					.name = name,
					.suffix = m->set.perfetto ? ".pftrace" : ".pt.trace.json",
					.max_size = m->set.max_size};
	struct gt_sink *sink;
	int error = 0, failed;

	snprintf(name, sizeof(name), "rank%d_n3_%u.1782967788123", m->metadata.rank,
		 m->metadata.pid);
	sink = gt_sink_open(&where, &error);
	m->writer = gt_writer_new(m->set.perfetto ? "perfetto" : "chrome");
	if (!sink || !m->writer) {
		fprintf(stderr, "make_trace: cannot open %s: error %d\n", m->set.directory, -error);
		return 2;
	}
	if (m->set.fsize)
		fill_disk_at(m->set.fsize);
	m->writer->ops->open(m->writer, sink, &m->metadata, &options);
	m->now = m->metadata.start + 100000;
	for (uint64_t i = 0; i < m->set.steps; i++) {
		step(m, i);
		if (i % 16 == 15)
			m->writer->ops->flush(m->writer, m->now - 1000000);
	}
	failed = finish(m, sink);
	gt_writer_free(m->writer);
	gt_sink_close(sink);
	return failed;
}

static bool parse(struct settings *set, int argc, char **argv)
{
	struct {
		const char *key;
		uint64_t *value;
	} keys[] = {
		{"seed=", &set->seed},         {"overlap=", &set->overlap},
		{"hostile=", &set->hostile},   {"close=", &set->close},
		{"max_size=", &set->max_size}, {"fsize=", &set->fsize},
		{"sync=", &set->sync},         {"full=", &set->full},
		{"rank=", &set->rank},         {"world=", &set->world},
		{"pid=", &set->pid},           {"devices=", &set->devices},
		{"few=", &set->few},           {"brief=", &set->brief},
		{"own=", &set->own},           {"stepless=", &set->stepless},
		{"perfetto=", &set->perfetto},
	};

	if (argc < 3)
		return false;
	set->directory = argv[1];
	set->steps = strtoull(argv[2], NULL, 10);
	for (int i = 3; i < argc; i++) {
		size_t k = 0;

		while (k < sizeof(keys) / sizeof(keys[0]) &&
		       strncmp(argv[i], keys[k].key, strlen(keys[k].key)) != 0)
			k++;
		if (k == sizeof(keys) / sizeof(keys[0]))
			return false;
		*keys[k].value = strtoull(argv[i] + strlen(keys[k].key), NULL, 10);
	}
	return set->seed && set->devices && set->devices <= GT_METADATA_DEVICES;
}

int main(int argc, char **argv)
{
	struct maker m = {.set = {.seed = 1, .close = 1, .world = 1, .pid = 4100, .devices = 1}};
	int status;

	if (!parse(&m.set, argc, argv)) {
		fprintf(stderr, "usage: make_trace DIR STEPS [key=value ...]\n");
		return 2;
	}
	gt_log_set_level(GT_LOG_QUIET);
	m.strings = gt_intern_new((size_t)64 << 20);
	make_metadata(&m);
	make_stacks(&m);
	status = run(&m);
	for (int i = 0; i < 4; i++)
		free(m.stacks[i]);
	gt_intern_free(m.strings);
	return status;
}

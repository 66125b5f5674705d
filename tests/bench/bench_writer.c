/* SPDX-License-Identifier: Apache-2.0
 *
 * How many events a second the writers print: launches as a training loop makes them, each a
 * call and a kernel with stack, occupancy and arrow. Once into /dev/null (printing alone), once
 * into a file of the folder given (default /tmp). The median of five runs, in events a second of
 * processor time (user and system: what one core can do whatever else runs), and the elapsed time
 * beside it.
 *
 *   bench_writer [FOLDER [LAUNCHES [FORM [RUNS]]]]
 *
 * FORM: chrome, chrome-all (--details=all), perfetto; -gzip: compressed; -known: 200 kinds of
 * launches in place of 12 800, so that after the first ones nothing is interned. Instructions of an
 * event: of one run into /dev/null, the difference of two numbers of launches
 * (docs/benchmarks/writing.md).
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/guest/log.h"
#include "core/intern.h"
#include "core/stack.h"
#include "writers/sink.h"
#include "writers/writer.h"

#define RUNS   5 /* at most */
#define NAMES  50
#define STACKS 200
#define FRAMES 20
#define BASE   1782967788000000000ull

struct world {
	struct gt_intern *strings;
	const struct gt_string *kernels[NAMES];
	const struct gt_string *call;
	struct gt_stack_frame frames[STACKS + FRAMES];
	struct gt_stack *stacks[STACKS];
	struct gt_metadata metadata;
	uint32_t grids; /* how many different ones */
};

static void make_world(struct world *w)
{
	char text[160];

	w->strings = gt_intern_new((size_t)64 << 20);
	w->call = gt_intern_cstr(w->strings, "cudaLaunchKernel");
	for (int i = 0; i < NAMES; i++) {
		snprintf(text, sizeof(text),
			 "void at::native::vectorized_elementwise_kernel<4, Functor%d<float>, "
			 "std::array<char*, 3ul> >(int, Functor%d<float>)",
			 i, i);
		w->kernels[i] = gt_intern_cstr(w->strings, text);
	}
	for (int i = 0; i < STACKS + FRAMES; i++) {
		snprintf(text, sizeof(text), "at::native::some_function_%d(at::Tensor const&)", i);
		w->frames[i] = (struct gt_stack_frame){
			.function = gt_intern_cstr(w->strings, text),
			.module = gt_intern_cstr(w->strings, "/opt/lib/libtorch_cuda.so"),
			.offset = (uint64_t)i * 16};
	}
	for (uint32_t i = 0; i < STACKS; i++) {
		w->stacks[i] = calloc(1, sizeof(struct gt_stack) +
						 FRAMES * sizeof(struct gt_stack_frame *));
		w->stacks[i]->id = i + 1;
		w->stacks[i]->count = FRAMES;
		for (uint32_t k = 0; k < FRAMES; k++)
			w->stacks[i]->frames[k] = &w->frames[i + k];
	}
	w->metadata = (struct gt_metadata){.version = "0",
					   .process = "bench",
					   .pid = 4100,
					   .world_size = 1,
					   .base = BASE,
					   .start = BASE + 1000000000,
					   .cupti_version = 130000,
					   .mode = "cupti"};
}

/* One launch: the call, and its kernel on one of four streams. */
static void launch(struct world *w, struct gt_writer *writer, uint64_t i)
{
	uint64_t now = w->metadata.start + i * 5000;
	const struct gt_stack *stack = w->stacks[i % STACKS];
	struct gt_event call = {.kind = GT_EVENT_API,
				.tid = 4100,
				.start = now,
				.end = now + 3100 + i % 97,
				.correlation = (uint32_t)i + 1,
				.stack = stack,
				.api = {.cbid = 211, .enqueues = true, .name = w->call}};
	struct gt_event kernel = {
		.kind = GT_EVENT_KERNEL,
		.start = now + 6000 + i % 4 * 700,
		.end = now + 6000 + i % 4 * 700 + 17000 + i % 993,
		.correlation = (uint32_t)i + 1,
		.place = {.context = 1, .stream = 7 + (uint32_t)i % 4},
		.launch = {.known = true, .first = true, .tid = 4100, .start = now, .stack = stack},
		.kernel = {.name = w->kernels[i % NAMES],
			   .grid = {64 + (uint32_t)i % w->grids, 8, 1},
			   .block = {256, 1, 1},
			   .registers = 96,
			   .dynamic_shared = 49152,
			   .has_occupancy = true,
			   .blocks_per_sm_micro = (64 + i % w->grids) * 8 * 1000000 / 132,
			   .warps_per_sm_micro = 31030304,
			   .est_occupancy_percent = 48,
			   .theoretical_occupancy_percent = 50}};

	writer->ops->event(writer, &call);
	writer->ops->event(writer, &kernel);
}

static double now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

struct cost {
	double processor, elapsed; /* seconds */
	uint64_t bytes;            /* of the file, or of what went into a device */
};

/* What is measured. */
static const struct form {
	const char *name, *writer;
	struct gt_writer_options options;
	uint32_t grids;
} forms[] = {
	{"chrome", "chrome", {.brief = true}, 512},
	{"chrome-known", "chrome", {.brief = true}, 8},
	{"chrome-gzip", "chrome", {.brief = true}, 512},
	{"chrome-all", "chrome", {0}, 512},
	{"perfetto", "perfetto", {.brief = true}, 512},
	{"perfetto-gzip", "perfetto", {.brief = true}, 512},
	{"perfetto-known", "perfetto", {.brief = true}, 8},
};

static bool is_packed(const struct form *form)
{
	return strstr(form->name, "-gzip");
}

static struct cost run(struct world *w, const struct form *form, const char *where,
		       uint64_t launches)
{
	struct gt_sink_options options = {.directory = where,
					  .fallback = where,
					  .name = "bench",
					  .suffix = ".pt.trace.json",
					  .packs = is_packed(form)};
	struct gt_ledger ledger = {0};
	struct gt_writer *writer = gt_writer_new(form->writer);
	int error = 0;
	struct gt_sink *sink = gt_sink_open(&options, &error);
	struct cost cost;
	struct stat st;

	w->grids = form->grids;
	if (!sink || !writer || writer->ops->open(writer, sink, &w->metadata, &form->options) < 0) {
		fprintf(stderr, "bench_writer: cannot write into %s\n", where);
		exit(1);
	}
	cost.processor = -now(CLOCK_PROCESS_CPUTIME_ID);
	cost.elapsed = -now(CLOCK_MONOTONIC);
	for (uint64_t i = 0; i < launches; i++) {
		launch(w, writer, i);
		if (i % 50000 == 49999)
			writer->ops->flush(writer, w->metadata.start + i * 5000 - 1000000);
	}
	writer->ops->close(writer, &w->metadata, &ledger);
	cost.processor += now(CLOCK_PROCESS_CPUTIME_ID);
	cost.elapsed += now(CLOCK_MONOTONIC);
	cost.bytes = ledger.count[GT_LEDGER_BYTES_WRITTEN];
	if (ledger.count[GT_LEDGER_KERNELS_WRITTEN] != launches) {
		fprintf(stderr, "bench_writer: events were lost\n");
		exit(1);
	}
	writer->ops->fini(writer);
	gt_writer_free(writer);
	if (gt_sink_can_patch(sink) && !stat(gt_sink_path(sink), &st)) {
		cost.bytes = (uint64_t)st.st_size;
		unlink(gt_sink_path(sink));
	}
	gt_sink_close(sink);
	return cost;
}

static int by_processor(const void *a, const void *b)
{
	const struct cost *x = a, *y = b;

	return x->processor < y->processor ? -1 : x->processor > y->processor;
}

static void measure(struct world *w, const struct form *form, const char *where, uint64_t launches,
		    int runs)
{
	struct cost costs[RUNS], median;
	double events = 2 * (double)launches;

	for (int i = 0; i < runs; i++)
		costs[i] = run(w, form, where, launches);
	qsort(costs, (size_t)runs, sizeof(costs[0]), by_processor);
	median = costs[runs / 2];
	printf("%-14s %-10s %6.2f M events/s of processor, %4.0f ns/event; elapsed %6.2f M "
	       "events/s; "
	       "%.0f bytes/launch\n",
	       form->name, where, events / median.processor / 1e6, median.processor * 1e9 / events,
	       events / median.elapsed / 1e6, (double)median.bytes / (double)launches);
}

int main(int argc, char **argv)
{
	static struct world w;
	uint64_t launches = argc > 2 ? strtoull(argv[2], NULL, 10) : 500000;
	const char *folder = argc > 1 ? argv[1] : "/tmp", *only = argc > 3 ? argv[3] : NULL;
	int runs = argc > 4 ? atoi(argv[4]) : RUNS;

	gt_log_set_level(GT_LOG_QUIET);
	make_world(&w);
	if (runs < 1 || runs > RUNS)
		runs = RUNS;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (only && strcmp(only, forms[i].name))
			continue;
		if (!is_packed(&forms[i])) /* a device's is not compressed */
			measure(&w, &forms[i], "/dev/null", launches, runs);
		if (strcmp(folder, "/dev/null"))
			measure(&w, &forms[i], folder, launches, runs);
	}
	for (int i = 0; i < STACKS; i++)
		free(w.stacks[i]);
	gt_intern_free(w.strings);
	return 0;
}

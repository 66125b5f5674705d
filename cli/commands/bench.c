/* SPDX-License-Identifier: Apache-2.0
 *
 * gputrace bench: what tracing costs on this machine, by level and by cause.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/bench/bench.h"
#include "cli/cmdline.h"

#define REPETITIONS       5
#define REPETITIONS_QUICK 3

static const struct gt_cmdline_option options[] = {
	{"workloads", "A,B,...", NULL,
	 "run only these: loop, loop4, loop16, sets, queries (short calls around launches), rate1k "
	 "to rate400k, graph, copies, blocks, decode, cold (other work takes the caches between "
	 "calls), newstacks (each launch on a new call path), writes and locks (of "
	 "the operating system), products (of cuBLAS), transforms (of "
	 "cuFFT), convolutions (of cuDNN), sparse (products of cuSPARSE), factors (of cuSOLVER)"},
	{"levels", "A,B,...", NULL,
	 "run only these: none, preload, floor, hooks, kernels, minimal, calls, stacks, "
	 "python, nvtx, full, pftrace; floor-shared (one activity buffer for all threads), "
	 "floor-8K, floor-64K, floor-1M (smaller buffers), whole (stacks with --graphs=whole), "
	 "memory (stacks with --memory), unified (--unified-memory), nvml (--nvml), cublas "
	 "(--libraries=cublas), cufft, cudnn, cusparse, cusolver, osrt (--osrt), watchdog "
	 "(--watchdog), recorder (--flight-recorder), outside (of the window), waiting (--wait), "
	 "between (two windows), switching (windows of 10 of 40 launches of graphs) "
	 "and threshold (--stack-threshold=1ms) run only if named"},
	{"repetitions", "N", "1..31", "repeat each run N times, interleaved (default 5)"},
	{"quick", NULL, NULL, "fewer and shorter runs"},
	{"peers", NULL, NULL, "also run torch.profiler and nsys, if installed"},
	{"clock", "WHICH", "wall|cpu",
	 "wall (default), or cpu: the launching thread's processor time, "
	 "for a machine that does other things too"},
	{"format", "NAME", "table|json|markdown",
	 "table (default), json (with every run), markdown"},
	{"library", "FILE", NULL, "libgputrace.so (gputrace sets it)"},
	{"parts", "FOLDER", NULL, "folder of the workloads (gputrace sets it)"},
	{NULL, NULL, NULL, NULL},
};

/* ---- what is wanted ---- */

static const char *level_name(size_t i)
{
	return i < gt_bench_level_count ? gt_bench_levels[i].name : NULL;
}

static const char *workload_name(size_t i)
{
	return i < gt_bench_workload_count ? gt_bench_workloads[i].name : NULL;
}

/* Marks the names of a list with commas. Returns the first that is none, NULL: all are. */
static const char *mark(const char *list, const char *(*name_of)(size_t), bool *ret_wanted)
{
	for (const char *word = list; *word; word += *word == ',') {
		size_t length = strcspn(word, ","), i = 0;

		while (name_of(i) &&
		       (strlen(name_of(i)) != length || strncmp(name_of(i), word, length) != 0))
			i++;
		if (!name_of(i))
			return word;
		ret_wanted[i] = true;
		word += length;
	}
	return NULL;
}

static int choose(const struct gt_cmdline *args, struct gt_bench *bench)
{
	const char *workloads = gt_cmdline_get(args, "workloads");
	const char *levels = gt_cmdline_get(args, "levels"), *wrong = NULL;

	for (size_t i = 0; i < gt_bench_workload_count; i++)
		bench->wanted_workload[i] =
			!workloads && (!bench->quick || gt_bench_workloads[i].quick);
	for (size_t i = 0; i < gt_bench_level_count; i++)
		bench->wanted_level[i] =
			gt_bench_levels[i].when == GT_BENCH_PEERS
				? bench->peers
				: gt_bench_levels[i].when == GT_BENCH_ALWAYS && !levels;
	if (workloads)
		wrong = mark(workloads, workload_name, bench->wanted_workload);
	if (!wrong && levels)
		wrong = mark(levels, level_name, bench->wanted_level);
	return wrong ? gt_cmdline_wrong(args,
					"'%.*s' is not one of them; see gputrace bench --help",
					(int)strcspn(wrong, ","), wrong)
		     : GT_EXIT_OK;
}

/* ---- the runs ---- */

static void show(const struct gt_bench *bench, size_t repetition, size_t workload, size_t level)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[Kgputrace: repetition %zu of %zu: %s, %s", repetition + 1,
			bench->repetitions, gt_bench_workloads[workload].title,
			gt_bench_levels[level].title);
}

static void note_obstacles(struct gt_bench *bench)
{
	for (size_t l = 0; l < gt_bench_level_count; l++) {
		const char *why = bench->wanted_level[l] ? gt_bench_obstacle(bench, l) : "";

		for (size_t w = 0; w < gt_bench_workload_count; w++)
			snprintf(bench->runs[w][l].missing, sizeof(bench->runs[w][l].missing), "%s",
				 why);
	}
}

/* What was measured so far is reported; the run that the signal hit is not. */
static volatile sig_atomic_t stopped;

static void stop(int number)
{
	stopped = 1;
}

static void run_one(struct gt_bench *bench, size_t repetition, size_t workload, size_t level)
{
	struct gt_bench_runs *runs = &bench->runs[workload][level];
	size_t before = runs->count;

	if (!bench->wanted_workload[workload] || !bench->wanted_level[level] || stopped)
		return;
	show(bench, repetition, workload, level);
	gt_bench_run(bench, workload, level);
	if (stopped) {
		runs->count = before;
		snprintf(runs->missing, sizeof(runs->missing), "%s", before ? "" : "interrupted");
	}
}

/* Repetition by repetition, so that what else the machine does falls on all of them. */
static void run_all(struct gt_bench *bench)
{
	for (size_t i = 0; i < bench->repetitions; i++)
		for (size_t w = 0; w < gt_bench_workload_count; w++)
			for (size_t l = 0; l < gt_bench_level_count; l++)
				run_one(bench, i, w, l);
	for (size_t w = 0; stopped && w < gt_bench_workload_count; w++)
		for (size_t l = 0; l < gt_bench_level_count; l++)
			if (!bench->runs[w][l].count && !bench->runs[w][l].missing[0])
				snprintf(bench->runs[w][l].missing,
					 sizeof(bench->runs[w][l].missing), "interrupted");
	if (isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
}

/* The first run of all tells whether anything can be run. */
static bool can_run(struct gt_bench *bench)
{
	struct gt_bench_runs *first = &bench->runs[0][0];
	char line[512];

	gt_bench_run(bench, 0, 0);
	if (first->count || stopped) {
		first->count = 0;
		first->missing[0] = 0;
		return true;
	}
	snprintf(line, sizeof(line),
		 "nothing can be measured here: %s; without a GPU: scripts/simcuda gputrace bench",
		 first->missing);
	gt_cmdline_complain(line);
	return false;
}

static int measure(struct gt_bench *bench, const struct gt_cmdline *args)
{
	struct gt_print how = gt_cmdline_print(args);

	snprintf(bench->folder, sizeof(bench->folder), "%s/gputrace-bench-XXXXXX",
		 getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	signal(SIGINT, stop); /* before there is something to be taken away */
	signal(SIGTERM, stop);
	if (!mkdtemp(bench->folder)) {
		gt_cmdline_complain("no scratch folder can be made; name another place by TMPDIR");
		return GT_EXIT_FAILED;
	}
	if (!can_run(bench)) {
		gt_bench_clean(bench);
		return GT_EXIT_FAILED;
	}
	note_obstacles(bench);
	run_all(bench);
	gt_bench_clean(bench);
	how.names = GT_NAMES_FULL;
	gt_bench_print(bench, &how, stdout);
	return stopped ? GT_EXIT_FAILED : GT_EXIT_OK;
}

static int run_bench(const struct gt_cmdline *args)
{
	static struct gt_bench bench;
	int rc;

	bench.quick = gt_cmdline_get(args, "quick") != NULL;
	bench.peers = gt_cmdline_get(args, "peers") != NULL;
	bench.by_cpu =
		gt_cmdline_get(args, "clock") && !strcmp(gt_cmdline_get(args, "clock"), "cpu");
	bench.library = gt_cmdline_get(args, "library");
	bench.parts = gt_cmdline_get(args, "parts");
	bench.repetitions = (size_t)gt_cmdline_number(
		args, "repetitions", bench.quick ? REPETITIONS_QUICK : REPETITIONS);
	if (!bench.library || !bench.parts)
		return gt_cmdline_wrong(args, "start it as gputrace bench: that knows where its "
					      "parts are");
	rc = choose(args, &bench);
	return rc ? rc : measure(&bench, args);
}

static const struct gt_cmdline_spec spec = {
	.command = &gt_command_bench,
	.details = "Runs small CUDA workloads without a tracer, under the minimal CUPTI tool (the "
		   "floor), and under gputrace at each level. Prints the host time of a launch in "
		   "ns, what is added to it and by whom (CUPTI, callback, unwinding, Python, "
		   "NVTX), the time of the tracer's own thread, bytes of file per launch, losses "
		   "and resident memory. \"< 40\" is a difference that is lost in the noise of the "
		   "machine: in some repetition it was below zero. Runs on a GPU or on the "
		   "simulated device, and says which; "
		   "numbers of the simulated device do not include the cost of CUPTI itself.",
	.example = "gputrace bench --quick",
	.options = options,
	.run = run_bench,
};

static int run(int argc, char **argv)
{
	return gt_cmdline_main(&spec, argc, argv);
}

const struct gt_command gt_command_bench = {
	.name = "bench",
	.arguments = "[--option...]",
	.help = "measure what tracing costs on this machine, by level and by cause",
	.run = run,
};

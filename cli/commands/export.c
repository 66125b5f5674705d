/* SPDX-License-Identifier: Apache-2.0
 *
 * gputrace export: traces as an SQLite file of nsys's form, or as CSV files.
 */
#include <signal.h>

#include "cli/cmdline.h"
#include "cli/export_dataset.h"
#include "cli/progress.h"
#include "transform/export.h"

static const struct gt_cmdline_option options[] = {
	{"sqlite", "FILE", NULL,
	 "write an SQLite file with the tables and columns of an nsys export"},
	{"csv", "FOLDER", NULL, "write a folder of CSV files, one per table"},
	{"parquet", "FOLDER", NULL,
	 "write a dataset of Parquet files: TABLE/rank=N/ (docs/DATASET.md); needs a Python with "
	 "pyarrow, python3 or that of GPUTRACE_PYTHON"},
	{"arrow", "FOLDER", NULL, "the same in Arrow files"},
	{NULL, NULL, NULL, NULL},
};

static volatile sig_atomic_t stopped; /* the signal */

static void stop(int number)
{
	stopped = number;
}

static bool goes_on(void)
{
	return !stopped;
}

static void watch_signals(void)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction action = {.sa_handler = stop, .sa_flags = (int)SA_RESETHAND};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		sigaction(numbers[i], &action, NULL);
}

/* As without us, but for what was half written. */
static void end_by_signal(void)
{
	if (stopped)
		raise(stopped);
}

static int export_to(const struct gt_job *job, const struct gt_export_sink *sink,
		     const char *target)
{
	char error[1024], *text = NULL;
	size_t size;
	FILE *losses;
	int rc;

	if (!target)
		return GT_EXIT_OK;
	losses = open_memstream(&text, &size);
	if (!losses)
		return GT_EXIT_FAILED;
	rc = gt_export(job->paths.at, job->paths.count, sink, target, goes_on, losses, error,
		       sizeof(error));
	fclose(losses);
	if (rc && !stopped)
		gt_cmdline_complain(error);
	else
		gt_cmdline_report_losses(text, NULL);
	free(text);
	return rc ? GT_EXIT_FAILED : GT_EXIT_OK;
}

static int run_export(const struct gt_cmdline *args)
{
	const char *sqlite = gt_cmdline_get(args, "sqlite"), *csv = gt_cmdline_get(args, "csv");
	const char *parquet = gt_cmdline_get(args, "parquet");
	const char *arrow = gt_cmdline_get(args, "arrow");
	struct gt_job job;
	int rc;

	if (parquet && arrow)
		return gt_cmdline_wrong(args, "--parquet or --arrow, not both");
	if (!sqlite && !csv && !parquet && !arrow)
		return gt_cmdline_wrong(args, "one of --sqlite=FILE, --csv=FOLDER, "
					      "--parquet=FOLDER and --arrow=FOLDER is needed");
	watch_signals();
	gt_progress_start("exporting");
	rc = gt_job_find_readable(&job, args->inputs, args->input_count, gt_cmdline_complain);
	rc = rc < 0 ? GT_EXIT_FAILED : export_to(&job, &gt_export_sqlite, sqlite);
	if (!rc)
		rc = export_to(&job, &gt_export_csv, csv);
	if (!rc && (parquet || arrow))
		rc = gt_export_dataset(parquet ? "parquet" : "arrow", parquet ? parquet : arrow,
				       job.paths.at, job.paths.count);
	gt_progress_stop();
	gt_job_fini(&job);
	end_by_signal();
	return rc;
}

static const struct gt_cmdline_spec spec = {
	.command = &gt_command_export,
	.details =
		"Tables: CUPTI_ACTIVITY_KIND_KERNEL, _MEMCPY, _MEMSET, _GRAPH_TRACE, _RUNTIME, "
		"_SYNCHRONIZATION, CUDA_CALLCHAINS, NVTX_EVENTS, StringIds, TARGET_INFO_GPU, "
		"TARGET_INFO_CUDA_DEVICE, PROCESSES, ThreadNames. The reports and rules of nsys "
		"2022.4 about CUDA and NVTX run on them (nsys stats FILE). Times are nanoseconds, "
		"as in the trace. A call's callchainId names its rows of CUDA_CALLCHAINS; a frame "
		"with a source line has that as its module. shortName is the name of the function "
		"alone; mangledName that of its module, if the trace has it, else the "
		"demangled one. What is not in the trace is absent, such as gridId of another "
		"tool's. globalPid and globalTid "
		"are "
		"packed as "
		"in nsys; if several processes have the same pid, the second and later ones get "
		"another machine id. An existing target is not overwritten. A dataset "
		"(--parquet, --arrow) has tables and columns of its own, and what gaps and ranks "
		"say: docs/DATASET.md.",
	.example = "# an nsys export, for scripts that read nsys\n"
		   "gputrace export --sqlite=trace.sqlite trace.json\n"
		   "# Parquet of all ranks, and a question to it in SQL\n"
		   "gputrace export --parquet=tables out\n"
		   "duckdb -c \"SELECT rank, name, sum(dur) "
		   "FROM 'tables/kernels/*/*.parquet' GROUP BY ALL\"",
	.options = options,
	.min_inputs = 1,
	.max_inputs = SIZE_MAX,
	.takes_newest = true,
	.takes_stdin = true,
	.run = run_export,
};

static int run(int argc, char **argv)
{
	return gt_cmdline_main(&spec, argc, argv);
}

const struct gt_command gt_command_export = {
	.name = "export",
	.arguments = "[FILE|FOLDER...]",
	.help = "export to SQLite with the schema of nsys, to CSV, Parquet or Arrow",
	.run = run,
};

/* SPDX-License-Identifier: Apache-2.0
 *
 * gputrace symbolize: source positions for the native frames of a trace.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "cli/cmdline.h"
#include "cli/outfile.h"
#include "cli/progress.h"
#include "readers/show.h"
#include "transform/symbolize.h"
#include "transform/symbolize_file.h"

#define SECONDS 20 /* for all traces in their place */

static const struct gt_cmdline_option options[] = {
	{"output", "FILE", NULL, "write to FILE, which must not exist (default: standard output)"},
	{"in-place", NULL, NULL,
	 "replace each trace by one with source lines, where there are any, in 20 seconds at most; "
	 "the servers in DEBUGINFOD_URLS are asked"},
	{"quiet", NULL, NULL, "with --in-place: print nothing about traces that have got lines"},
	{"debuginfod", NULL, NULL, "ask the servers in DEBUGINFOD_URLS for missing files"},
	{NULL, NULL, NULL, NULL},
};

static void report_cut(const char *path)
{
	char line[4400];

	snprintf(line, sizeof(line),
		 "%.4096s: the file was cut; symbolizing the part before the cut", path);
	gt_cmdline_complain(line);
}

static void report_found(const struct gt_symbolize *result)
{
	if (!result->frames) {
		fputs("gputrace symbolize: nothing to do: no native frame without a source line\n",
		      stderr);
		return;
	}
	fprintf(stderr,
		"gputrace symbolize: %" PRIu64 " of %" PRIu64
		" native frames without a source line got one; ",
		result->found, result->frames);
	if (result->missing)
		fprintf(stderr, "%" PRIu64 " module%s missing or with another build id\n",
			result->missing, gt_plural(result->missing));
	else
		fputs(result->found == result->frames
			      ? "no module is missing\n"
			      : "no module is missing: the others were built without -g, or the "
				"trace does not list them\n",
		      stderr);
}

static int symbolize(const struct gt_cmdline *args, const char *from)
{
	const char *path = gt_cmdline_get(args, "output");
	struct gt_symbolize result;
	struct gt_outfile out;
	int rc;

	if (!gt_cmdline_can_read_twice(from) || gt_outfile_open(&out, path))
		return GT_EXIT_FAILED;
	if (path || !isatty(STDOUT_FILENO))
		gt_progress_start("symbolizing");
	gt_progress_expect_file(from);
	gt_progress_expect_file(from); /* it is read twice */
	rc = gt_symbolize(from, out.file, GT_SYMBOLIZE_ALWAYS,
			  gt_cmdline_get(args, "debuginfod") != NULL, &result);
	gt_progress_stop();
	if (gt_outfile_close(&out, rc, result.error))
		return GT_EXIT_FAILED;
	if (result.cut)
		report_cut(from);
	report_found(&result);
	return GT_EXIT_OK;
}

static time_t now_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

/* One after the other, until the time is over. */
static int symbolize_in_place(const struct gt_cmdline *args)
{
	time_t end = now_seconds() + SECONDS;
	struct gt_job job = {0};
	int status = GT_EXIT_OK;

	if (gt_job_find(&job, args->inputs, args->input_count, gt_cmdline_complain))
		status = GT_EXIT_FAILED;
	for (size_t i = 0; i < job.paths.count; i++) {
		time_t left = end - now_seconds();
		struct gt_symbolize result;
		int rc;

		gt_progress_start("looking for source lines");
		rc = gt_symbolize_in_place(job.paths.at[i], left > 0 ? (unsigned int)left : 0,
					   &result);
		gt_progress_stop();
		if (rc) {
			gt_cmdline_complain(result.error);
			status = GT_EXIT_FAILED;
		} else if (!gt_cmdline_get(args, "quiet")) {
			report_found(&result);
		}
	}
	gt_job_fini(&job);
	return status;
}

static int run_symbolize(const struct gt_cmdline *args)
{
	bool in_place = gt_cmdline_get(args, "in-place");
	char *from;
	int rc;

	if (in_place && gt_cmdline_get(args, "output"))
		return gt_cmdline_wrong(args, "--in-place and --output exclude each other");
	if (in_place)
		return symbolize_in_place(args);
	if (args->input_count > 1)
		return gt_cmdline_wrong(args, "%s: one trace only, without --in-place",
					args->inputs[1]);
	from = gt_cmdline_trace(args, 0);
	rc = from ? symbolize(args, from) : GT_EXIT_FAILED;
	free(from);
	return rc;
}

static const struct gt_cmdline_spec spec = {
	.command = &gt_command_symbolize,
	.details = "Frames become \"function (file.cu:42)\", preceded by the functions inlined "
		   "there. A module is used only if its build id is the one recorded in the trace; "
		   "otherwise it is looked up by build id under /usr/lib/debug. Frames of modules "
		   "that are not found keep module and offset, and so does libc, which would be "
		   "the nearest line of a program built without -g. The network is used with "
		   "--debuginfod or --in-place, and only where DEBUGINFOD_URLS names servers.",
	.example = "# on the machine that has the program or its debug files\n"
		   "gputrace symbolize --output=lines.json out/n3_4100.*.pt.trace.json\n"
		   "# all traces of a folder, in their place\n"
		   "gputrace symbolize --in-place out",
	.options = options,
	.min_inputs = 1,
	.max_inputs = SIZE_MAX,
	.takes_newest = true,
	.run = run_symbolize,
};

static int run(int argc, char **argv)
{
	return gt_cmdline_main(&spec, argc, argv);
}

const struct gt_command gt_command_symbolize = {
	.name = "symbolize",
	.arguments = "[FILE|FOLDER...]",
	.help = "add source lines and inlined functions to native frames",
	.run = run,
};

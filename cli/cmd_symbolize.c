/* SPDX-License-Identifier: Apache-2.0
 *
 * gputrace symbolize: source positions for the native frames of a trace.
 */
#include <inttypes.h>
#include <unistd.h>

#include "cli/cmdline.h"
#include "cli/outfile.h"
#include "cli/progress.h"
#include "transform/symbolize.h"

static const struct gt_cmdline_option options[] = {
	{"output", "FILE", NULL, "write here; must not exist yet (default: standard output)"},
	{"debuginfod", NULL, NULL, "ask the servers in DEBUGINFOD_URLS for what is not here"},
	{NULL, NULL, NULL, NULL},
};

static void report_cut(const char *path)
{
	char line[4400];

	snprintf(line, sizeof(line),
		 "%.4096s: the file was cut; what stands before the cut is symbolized", path);
	gt_cmdline_complain(line);
}

static int run_symbolize(const struct gt_cmdline *args)
{
	const char *path = gt_cmdline_get(args, "output");
	struct gt_symbolize result;
	struct gt_outfile out;
	int rc;

	if (!gt_cmdline_can_read_twice(args->inputs[0]) || gt_outfile_open(&out, path))
		return GT_EXIT_FAILED;
	if (path || !isatty(STDOUT_FILENO))
		gt_progress_start("symbolizing");
	gt_progress_expect_file(args->inputs[0]);
	gt_progress_expect_file(args->inputs[0]); /* it is read twice */
	rc = gt_symbolize(args->inputs[0], out.file, gt_cmdline_get(args, "debuginfod") != NULL,
			  &result);
	gt_progress_stop();
	if (gt_outfile_close(&out, rc, result.error))
		return GT_EXIT_FAILED;
	if (result.cut)
		report_cut(args->inputs[0]);
	fprintf(stderr,
		"gputrace symbolize: %" PRIu64 " of %" PRIu64 " native frames have a source line; "
		"%" PRIu64 " modules are not here as they were\n",
		result.found, result.frames, result.missing);
	return GT_EXIT_OK;
}

static const struct gt_cmdline_spec spec = {
	.command = &gt_command_symbolize,
	.details =
		"Frames become \"function (file.cu:42)\", with what the compiler inlined there "
		"in front. A module is used only with the build-id that it had when the trace "
		"was made, or found by it under /usr/lib/debug; what is not found keeps its "
		"module and offset, and so does libc, which would be the nearest line of a program "
		"built without -g. The network is asked with --debuginfod only.",
	.example =
		"# on the machine that has the program, or its debug files\n"
		"gputrace symbolize --output=lines.json gputrace-out/run/n3_4100.*.pt.trace.json",
	.options = options,
	.min_inputs = 1,
	.max_inputs = 1,
	.run = run_symbolize,
};

static int run(int argc, char **argv)
{
	return gt_cmdline_main(&spec, argc, argv);
}

const struct gt_command gt_command_symbolize = {
	.name = "symbolize",
	.arguments = "FILE",
	.help = "source lines and inlined functions for the native frames of a trace",
	.run = run,
};

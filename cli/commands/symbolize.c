/* SPDX-License-Identifier: Apache-2.0
 *
 * gputrace symbolize: source positions for the native frames of a trace.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/cmdline.h"
#include "cli/outfile.h"
#include "cli/progress.h"
#include "readers/show.h"
#include "transform/symbolize.h"

static const struct gt_cmdline_option options[] = {
	{"output", "FILE", NULL, "write to FILE, which must not exist (default: standard output)"},
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
	rc = gt_symbolize(from, out.file, gt_cmdline_get(args, "debuginfod") != NULL, &result);
	gt_progress_stop();
	if (gt_outfile_close(&out, rc, result.error))
		return GT_EXIT_FAILED;
	if (result.cut)
		report_cut(from);
	fprintf(stderr,
		"gputrace symbolize: %" PRIu64 " of %" PRIu64 " native frames have a source line; "
		"%" PRIu64 " module%s missing or with another build id\n",
		result.found, result.frames, result.missing, gt_plural(result.missing));
	return GT_EXIT_OK;
}

static int run_symbolize(const struct gt_cmdline *args)
{
	char *from = gt_cmdline_trace(args, 0);
	int rc = from ? symbolize(args, from) : GT_EXIT_FAILED;

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
		   "--debuginfod only.",
	.example =
		"# on the machine that has the program or its debug files\n"
		"gputrace symbolize --output=lines.json gputrace-out/run/n3_4100.*.pt.trace.json",
	.options = options,
	.min_inputs = 1,
	.max_inputs = 1,
	.takes_newest = true,
	.run = run_symbolize,
};

static int run(int argc, char **argv)
{
	return gt_cmdline_main(&spec, argc, argv);
}

const struct gt_command gt_command_symbolize = {
	.name = "symbolize",
	.arguments = "[FILE|FOLDER]",
	.help = "add source lines and inlined functions to native frames",
	.run = run,
};

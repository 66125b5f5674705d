/* SPDX-License-Identifier: Apache-2.0
 *
 * gputrace verify: does a trace keep to the format, does its ledger balance?
 */
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "analysis/verify/verify.h"
#include "cli/cmdline.h"
#include "cli/progress.h"
#include "readers/show.h"

static const struct gt_cmdline_option options[] = {
	{"strict", NULL, NULL,
	 "losses that the ledger accounts for are findings, too, and so is a trace without a "
	 "ledger, whose losses are not known"},
	{"top", "N", "0..1000000000", "print N findings of each kind (default 5), count the rest"},
	{"quiet", NULL, NULL, "print findings only"},
	{NULL, NULL, NULL, NULL},
};

/* One file. Findings go out when it has been read: progress may stand on the terminal until
 * then. */
static int verify(const struct gt_cmdline *args, const char *path,
		  const struct gt_verify_options *how)
{
	struct gt_verify_result result;
	char *text = NULL;
	size_t size = 0;
	FILE *out = isatty(STDOUT_FILENO) ? open_memstream(&text, &size) : NULL;

	gt_verify_file(path, how, out ? out : stdout, &result);
	if (out && !fclose(out)) {
		gt_progress_hide();
		fputs(text, stdout);
	}
	free(text);
	if (!result.findings && !gt_cmdline_get(args, "quiet"))
		gt_show_line(stdout, "%s: ok, %" PRIu64 " event%s%s", path, result.events,
			     gt_plural(result.events),
			     result.is_unknown ? ", losses not known"
			     : result.losses   ? ", losses accounted for"
					       : "");
	return result.findings ? GT_EXIT_FAILED : GT_EXIT_OK;
}

static int run_verify(const struct gt_cmdline *args)
{
	struct gt_verify_options how = {
		.lines_per_check = (uint64_t)gt_cmdline_number(args, "top", 5),
		.strict = gt_cmdline_get(args, "strict"),
	};
	struct gt_job job;
	int rc;

	gt_progress_start("verifying");
	rc = gt_job_find(&job, args->inputs, args->input_count, gt_cmdline_complain);
	rc = rc < 0 ? GT_EXIT_FAILED : GT_EXIT_OK;
	for (size_t i = 0; i < job.paths.count; i++)
		if (verify(args, job.paths.at[i], &how))
			rc = GT_EXIT_FAILED;
	gt_progress_stop();
	gt_job_fini(&job);
	return rc;
}

static const struct gt_cmdline_spec spec = {
	.command = &gt_command_verify,
	.details = "Checks what docs/FORMAT.md specifies: the form of the file, each event, tracks "
		   "without partial overlaps, flows that begin and end at slices, ids, and the "
		   "ledger against itself and against the file. Prints one line per finding with "
		   "file and line; the exit status is 1 if there are findings.",
	.example = "gputrace verify out",
	.options = options,
	.min_inputs = 1,
	.max_inputs = SIZE_MAX,
	.takes_newest = true,
	.takes_stdin = true,
	.run = run_verify,
};

static int run(int argc, char **argv)
{
	return gt_cmdline_main(&spec, argc, argv);
}

const struct gt_command gt_command_verify = {
	.name = "verify",
	.arguments = "[FILE|FOLDER...]",
	.help = "check the format of a trace and its ledger",
	.run = run,
};

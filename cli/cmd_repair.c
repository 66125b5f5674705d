/* SPDX-License-Identifier: Apache-2.0
 *
 * gputrace repair: closes the files of processes that died.
 */
#include <errno.h>
#include <inttypes.h>

#include "analysis/repair.h"
#include "cli/cmdline.h"
#include "cli/progress.h"

static const struct gt_cmdline_option options[] = {
	{"quiet", NULL, NULL, "print nothing about files that could be repaired or were closed"},
	{NULL, NULL, NULL, NULL},
};

static void print(const char *path, const struct gt_repair *repair)
{
	if (repair->was_closed) {
		printf("%s: closed already\n", path);
		return;
	}
	printf("%s: closed (%s); %" PRIu64 " events kept, %" PRIu64 " bytes cut\n", path,
	       repair->why, repair->events, repair->cut);
}

static int run_repair(const struct gt_cmdline *args)
{
	struct gt_job job;
	int rc;

	gt_progress_start("repairing");
	rc = gt_job_find(&job, args->inputs, args->input_count, gt_cmdline_complain);
	rc = rc < 0 ? GT_EXIT_FAILED : GT_EXIT_OK;
	for (size_t i = 0; i < job.paths.count; i++) {
		struct gt_repair repair;

		if (gt_repair_file(job.paths.at[i], &repair) < 0) {
			gt_cmdline_complain(repair.error);
			rc = GT_EXIT_FAILED;
		} else if (!gt_cmdline_get(args, "quiet")) {
			gt_progress_hide();
			print(job.paths.at[i], &repair);
		}
	}
	gt_progress_stop();
	gt_job_fini(&job);
	return rc;
}

static const struct gt_cmdline_spec spec = {
	.command = &gt_command_repair,
	.details = "A traced process that is killed leaves its file as an array without an end, "
		   "which Perfetto "
		   "opens as it is and other readers do not. Repair makes it the closed object, in "
		   "place, "
		   "without what was cut in the middle of an event. Closed files are left alone; a "
		   "file with wrong "
		   "JSON in the middle is not touched (exit 1).",
	.example = "gputrace repair gputrace-out/run",
	.options = options,
	.min_inputs = 1,
	.max_inputs = SIZE_MAX,
	.run = run_repair,
};

static int run(int argc, char **argv)
{
	return gt_cmdline_main(&spec, argc, argv);
}

const struct gt_command gt_command_repair = {
	.name = "repair",
	.arguments = "FILE|FOLDER...",
	.help = "close the file of a process that was killed",
	.run = run,
};

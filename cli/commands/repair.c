/* SPDX-License-Identifier: Apache-2.0
 *
 * gputrace repair: makes the traces of processes that were killed whole.
 */
#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "analysis/verify/verify.h"
#include "cli/cmdline.h"
#include "cli/progress.h"
#include "readers/show.h"
#include "recover/begun.h"
#include "recover/recover.h"

static const struct gt_cmdline_option options[] = {
	{"quiet", NULL, NULL, "print nothing about repaired or closed files"},
	{"spool", "FOLDER", NULL,
	 "look for spools in FOLDER, too, where the program had --spool=FOLDER; off: close the "
	 "traces without their spools, which stay"},
	{"begun", NULL, NULL,
	 "only create the traces of processes that were killed before they had a file"},
	{NULL, NULL, NULL, NULL},
};

static void print_recovered(const char *path)
{
	gt_show_line(stdout, "%s: recovered from the spool of a process that was killed", path);
}

/* Events of the file, as gputrace verify counts them. */
static uint64_t count_events(const char *path)
{
	const struct gt_verify_options how = {.lines_per_check = 0};
	struct gt_verify_result result = {0};
	FILE *nowhere = fopen("/dev/null", "w");

	if (!nowhere)
		return 0;
	gt_verify_file(path, &how, nowhere, &result);
	fclose(nowhere);
	return result.events;
}

static void print(const char *path, const struct gt_recovery *recovery)
{
	gt_progress_hide();
	if (*recovery->next)
		print_recovered(recovery->next);
	if (recovery->was_closed) {
		gt_show_line(stdout, "%s: closed already", path);
		return;
	}
	if (recovery->is_foreign) {
		gt_show_line(stdout, "%s: left alone: %s", path,
			     recovery->is_empty      ? "it is empty"
			     : recovery->is_no_trace ? "it is no trace"
						     : "no trace of gputrace; name it to close it");
		return;
	}
	if (recovery->is_readable) {
		gt_show_line(stdout, "%s: %s, nothing to add", path,
			     recovery->was_repacked ? "its compressed data broke off; ended"
						    : "readable as it is");
		return;
	}
	if (recovery->was_torn)
		gt_show_line(stdout, "%s: %s when its process was killed; rebuilt", path,
			     recovery->was_empty ? "nothing had been written"
						 : "its header was cut");
	gt_show_line(stdout, "%s: closed (%s); %" PRIu64 " event%s kept, %" PRIu64 " byte%s cut",
		     path, recovery->why, recovery->events, gt_plural(recovery->events),
		     recovery->cut, gt_plural(recovery->cut));
	if (recovery->is_joined)
		gt_show_line(stdout,
			     "%s: %" PRIu64 " call%s and %" PRIu64
			     " GPU operation%s recovered that the process had not written; now "
			     "%" PRIu64 " events",
			     path, recovery->calls, gt_plural(recovery->calls),
			     recovery->operations, gt_plural(recovery->operations),
			     count_events(path));
	if (recovery->maybe_removed)
		gt_show_line(stdout,
			     "%s: up to %" PRIu64
			     " of these may be counted as removed (--keep), too",
			     path, recovery->maybe_removed);
}

static bool is_named(const struct gt_cmdline *args, const char *path)
{
	for (size_t i = 0; i < args->input_count; i++)
		if (!strcmp(args->inputs[i], path))
			return true;
	return false;
}

static int repair_one(const struct gt_cmdline *args, const char *path, bool quiet)
{
	static struct gt_recovery recovery;
	int rc = gt_recover_file(path, gt_cmdline_get(args, "spool"), is_named(args, path),
				 &recovery);

	if (*recovery.warning)
		gt_cmdline_complain(recovery.warning);
	if (rc)
		gt_cmdline_complain(recovery.error);
	else if (!quiet)
		print(path, &recovery);
	return rc;
}

static void print_begun(const char *path, const char *error, void *data)
{
	const bool *quiet = data;

	if (error)
		gt_cmdline_complain(error);
	else if (!*quiet)
		print_recovered(path);
}

static int run_repair(const struct gt_cmdline *args)
{
	bool quiet = gt_cmdline_get(args, "quiet");
	const char *spools = gt_cmdline_get(args, "spool");
	int failures = 0;
	struct gt_job job;

	signal(SIGXFSZ, SIG_IGN); /* the limit is an error as a full disk is */
	for (size_t i = 0; i < args->input_count; i++)
		failures += gt_recover_begun(args->inputs[i], spools, print_begun, &quiet);
	if (gt_cmdline_get(args, "begun"))
		return failures ? GT_EXIT_FAILED : GT_EXIT_OK;
	gt_progress_start("repairing");
	failures += gt_job_find(&job, args->inputs, args->input_count, gt_cmdline_complain) < 0;
	for (size_t i = 0; i < job.paths.count; i++)
		failures += repair_one(args, job.paths.at[i], quiet) < 0;
	gt_progress_stop();
	gt_job_fini(&job);
	return failures ? GT_EXIT_FAILED : GT_EXIT_OK;
}

static const struct gt_cmdline_spec spec = {
	.command = &gt_command_repair,
	.details = "The file of a killed process is an array without an end, which Perfetto opens "
		   "and other readers reject. Repair turns it into the closed object, in place: it "
		   "drops an event that was cut in the middle and adds what the process had not "
		   "written, recovered from its spool, which is then removed. A header "
		   "that was cut is rebuilt from what can be read, from the spool and from the "
		   "file's name; header_unknown lists what could not be recovered. A .pftrace is "
		   "readable as it is and gets the events of its spool. Closed files are left "
		   "alone, and so are files of other programs that are found in a folder and not "
		   "named. Not touched (exit status 1): a file that its process still writes, one "
		   "of another user that is not named, a symbolic link, one "
		   "whose spool cannot be read now (no memory, no room, another build of gputrace "
		   "wrote it), and one with wrong JSON in the middle, NaN or text that is not "
		   "UTF-8.",
	.example = "gputrace repair out",
	.options = options,
	.min_inputs = 1,
	.max_inputs = SIZE_MAX,
	.takes_newest = true,
	.run = run_repair,
};

static int run(int argc, char **argv)
{
	return gt_cmdline_main(&spec, argc, argv);
}

const struct gt_command gt_command_repair = {
	.name = "repair",
	.arguments = "[FILE|FOLDER...]",
	.help = "close and complete the trace of a process that was killed",
	.run = run,
};

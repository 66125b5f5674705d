/* SPDX-License-Identifier: Apache-2.0
 *
 * gputrace report: everything on one HTML page.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "analysis/report/report.h"
#include "cli/cmdline.h"
#include "cli/outfile.h"
#include "cli/progress.h"
#include "readers/show.h"

#define DEFAULT "gputrace-report.html"

static const struct gt_cmdline_option options[] = {
	{"output", "FILE", NULL,
	 "write to FILE, which must not exist (default " DEFAULT
	 ", which replaces an earlier report; -: standard output)"},
	{"title", "TEXT", NULL, "heading of the page (default: the program's name)"},
	GT_CMDLINE_FRAME_OPTIONS("user|innermost", GT_CMDLINE_USER_FRAME),
	GT_CMDLINE_SYMBOLIZE_OPTION,
	GT_CMDLINE_FILTER_OPTION,
	GT_CMDLINE_COMMUNICATION_OPTION,
	{NULL, NULL, NULL, NULL},
};

/* The page of an earlier command makes room for a new one; what is no page of ours stays. */
static void remove_earlier(const char *path)
{
	char head[128] = "";
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool is_ours =
		fd >= 0 && read(fd, head, sizeof(head) - 1) > 0 && strstr(head, GT_REPORT_MARK);

	if (fd >= 0)
		close(fd);
	if (is_ours)
		unlink(path);
}

static bool has_events(const struct gt_job *job)
{
	for (size_t i = 0; i < job->count; i++)
		if (job->models[i].reading.events)
			return true;
	return false;
}

static int print_to(const struct gt_cmdline *args, const struct gt_job *job,
		    const struct gt_filter *filter)
{
	const char *path = gt_cmdline_get(args, "output"), *title = gt_cmdline_get(args, "title");
	struct gt_outfile out;
	int rc;

	if (!has_events(job)) { /* an earlier page is worth more */
		gt_cmdline_complain("no events in the traces: no page was written");
		return GT_EXIT_FAILED;
	}
	if (!path)
		remove_earlier(path = DEFAULT);
	if (gt_outfile_open(&out, path))
		return GT_EXIT_FAILED;
	gt_progress_start("writing the page");
	rc = gt_report_print(job, filter, title, out.file);
	gt_progress_stop();
	rc = gt_outfile_close(&out, rc, NULL);
	if (!rc && strcmp(path, "-"))
		gt_show_line(stdout, "%s", path);
	return rc;
}

static int run_report(const struct gt_cmdline *args)
{
	return gt_cmdline_answer(args, print_to);
}

static const struct gt_cmdline_spec spec = {
	.command = &gt_command_report,
	.details =
		"The page is self-contained and needs no network: summary, findings, timeline, "
		"overlap, "
		"causes of idle time, flame graph, roofline, sortable tables, memory, and what is "
		"missing from the traces.",
	.example = "gputrace report --output=report.html out",
	.options = options,
	.min_inputs = 1,
	.max_inputs = SIZE_MAX,
	.takes_newest = true,
	.takes_stdin = true,
	.run = run_report,
};

static int run(int argc, char **argv)
{
	return gt_cmdline_main(&spec, argc, argv);
}

const struct gt_command gt_command_report = {
	.name = "report",
	.arguments = "[FILE|FOLDER...]",
	.help = "write an HTML page with summary, timeline, idle time, flame graph and tables",
	.run = run,
};

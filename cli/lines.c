/* SPDX-License-Identifier: Apache-2.0
 *
 * See lines.h. Single-threaded.
 */
#include "cli/lines.h"

#include <limits.h>
#include <string.h>

#include "cli/progress.h"
#include "transform/symbolize_model.h"

#define SECONDS 20 /* for all modules of all jobs */

static bool has_option(const struct gt_cmdline *args, const char *name)
{
	for (const struct gt_cmdline_option *option = args->spec->options; option->name; option++)
		if (!strcmp(option->name, name))
			return true;
	return false;
}

/* Are frames of call stacks shown? */
static bool shows_frames(const struct gt_cmdline *args)
{
	static const char *const keys[] = {"stack", "line", "function", "module"};
	const char *by = gt_cmdline_get(args, "by");

	if (!has_option(args, "by"))
		return true;
	for (size_t i = 0; by && i < sizeof(keys) / sizeof(keys[0]); i++)
		if (!strcmp(by, keys[i]))
			return true;
	return false;
}

static void report_damaged(const char *path)
{
	char line[PATH_MAX + 128];

	gt_progress_hide();
	snprintf(line, sizeof(line),
		 "%.*s: its debug information cannot be read; its frames have no source lines",
		 PATH_MAX, path);
	gt_cmdline_complain(line);
}

int gt_cmdline_symbolize(const struct gt_cmdline *args, struct gt_job *jobs, size_t count)
{
	const char *word = gt_cmdline_get(args, "symbolize");
	struct gt_symbolized result;
	int rc;

	if (!has_option(args, "symbolize") || (word && !strcmp(word, "off")) || !shows_frames(args))
		return 0;
	gt_progress_start("looking for source lines");
	rc = gt_symbolize_jobs(jobs, count, SECONDS, report_damaged, &result);
	gt_progress_stop();
	if (result.is_late)
		gt_cmdline_complain("looking for source lines took too long: some frames have "
				    "none (gputrace symbolize looks for all)");
	if (result.failed)
		gt_cmdline_complain("no source lines: the process that reads modules could not "
				    "be started");
	return rc;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * gputrace status: what the tracer in a running process says of itself.
 */
#include <stdio.h>
#include <string.h>

#include "cli/control/tell.h"
#include "readers/show.h"

static const struct gt_cmdline_option options[] = {
	GT_TELL_OPTIONS,
	{NULL, NULL, NULL, NULL},
};

static bool is_memory(const char *key, int length)
{
	return (length == 6 && !memcmp(key, "memory", 6)) ||
	       (length == 11 && !memcmp(key, "memory_peak", 11));
}

/* "key value" lines. */
static int print(const struct gt_talk *talk, void *context)
{
	(void)context;
	gt_show_line(stdout, "%u: %s", talk->box->head.pid, talk->box->head.process);
	for (const char *line = talk->text; *line;) {
		int length = (int)strcspn(line, "\n"), key = (int)strcspn(line, " \n");
		int value = length > key ? length - key - 1 : 0;
		const char *unit = is_memory(line, key) ? " bytes" : "";

		gt_show_line(stdout, "  %-20.*s %.*s%s", key, line, value, line + key + 1, unit);
		line += length + (line[length] == '\n');
	}
	return GT_EXIT_OK;
}

static int run_status(const struct gt_cmdline *args)
{
	return gt_tell(
		args, 0,
		&(struct gt_tell){
			.verb = "status", .argument = "", .patience_ms = 5000, .print = print});
}

static const struct gt_cmdline_spec spec = {
	.command = &gt_command_status,
	.details = "Prints what the tracer in each of the processes says of itself: whether it "
		   "records, into which file, how many kernels it has seen, its memory, and "
		   "since when CUPTI's flush has not returned. The exit status is 1 if a process "
		   "cannot be reached. See gputrace ps for all processes in a table.",
	.example = "gputrace status all",
	.options = options,
	.min_inputs = 1,
	.max_inputs = SIZE_MAX,
	.run = run_status,
};

static int run(int argc, char **argv)
{
	return gt_cmdline_main(&spec, argc, argv);
}

const struct gt_command gt_command_status = {
	.name = "status",
	.arguments = "PID...|all",
	.help = "print what the tracer in a running process says of itself",
	.run = run,
};

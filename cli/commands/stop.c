/* SPDX-License-Identifier: Apache-2.0
 *
 * gputrace stop: end the recording in running processes and close their traces.
 */
#include "cli/control/tell.h"

static const struct gt_cmdline_option options[] = {
	GT_TELL_OPTIONS,
	{NULL, NULL, NULL, NULL},
};

static int run_stop(const struct gt_cmdline *args)
{
	return gt_tell(args, 0,
		       &(struct gt_tell){.verb = "stop", .argument = "", .patience_ms = 60000});
}

static const struct gt_cmdline_spec spec = {
	.command = &gt_command_stop,
	.details = "Ends the window: what was recorded is written and the trace is "
		   "closed, and can be read; the process goes on and costs little. "
		   "Each gputrace start makes another trace. Returns when the file "
		   "is closed. A process that is not being recorded stays so.",
	.example = "gputrace stop 1234",
	.options = options,
	.min_inputs = 1,
	.max_inputs = SIZE_MAX,
	.run = run_stop,
};

static int run(int argc, char **argv)
{
	return gt_cmdline_main(&spec, argc, argv);
}

const struct gt_command gt_command_stop = {
	.name = "stop",
	.arguments = "PID...|all",
	.help = "end the recording in running processes and close their traces",
	.run = run,
};

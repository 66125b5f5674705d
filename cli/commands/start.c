/* SPDX-License-Identifier: Apache-2.0
 *
 * gputrace start: begin to record in running processes.
 */
#include "cli/control/tell.h"

static const struct gt_cmdline_option options[] = {
	GT_TELL_OPTIONS,
	{NULL, NULL, NULL, NULL},
};

static int run_start(const struct gt_cmdline *args)
{
	return gt_tell(args, 0,
		       &(struct gt_tell){.verb = "start", .argument = "", .patience_ms = 30000});
}

static const struct gt_cmdline_spec spec = {
	.command = &gt_command_start,
	.details = "Begins a window: from now on the process is recorded, into a "
		   "trace of its own, until gputrace stop, --duration or its end. "
		   "A process that was started with gputrace run --wait has "
		   "recorded nothing until then; with --delay or --start-at the "
		   "window begins now instead. Returns when recording has begun. A "
		   "process that is being recorded already goes on; one with "
		   "--capture-range or --schedule is refused: its ranges begin the "
		   "windows.",
	.example =
		"gputrace run --wait ./server &\ngputrace start all\nsleep 10\ngputrace stop all",
	.options = options,
	.min_inputs = 1,
	.max_inputs = SIZE_MAX,
	.run = run_start,
};

static int run(int argc, char **argv)
{
	return gt_cmdline_main(&spec, argc, argv);
}

const struct gt_command gt_command_start = {
	.name = "start",
	.arguments = "PID...|all",
	.help = "begin to record in running processes",
	.run = run,
};

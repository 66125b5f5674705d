/* SPDX-License-Identifier: Apache-2.0
 *
 * gputrace dump: a trace of what the flight recorder of a running process has kept.
 */
#include "cli/control/tell.h"

static const struct gt_cmdline_option options[] = {
	GT_TELL_OPTIONS,
	{NULL, NULL, NULL, NULL},
};

static int run_dump(const struct gt_cmdline *args)
{
	return gt_tell(args, 0,
		       &(struct gt_tell){.verb = "dump", .argument = "", .patience_ms = 60000});
}

static const struct gt_cmdline_spec spec = {
	.command = &gt_command_dump,
	.details = "Each process writes what its --flight-recorder has kept; the path of the "
		   "trace is printed. The programs keep running, and a later dump has what comes "
		   "from now on. The exit status is 1 if a process has no recorder, or cannot be "
		   "reached.",
	.example = "gputrace dump all",
	.options = options,
	.min_inputs = 1,
	.max_inputs = SIZE_MAX,
	.run = run_dump,
};

static int run(int argc, char **argv)
{
	return gt_cmdline_main(&spec, argc, argv);
}

const struct gt_command gt_command_dump = {
	.name = "dump",
	.arguments = "PID...|all",
	.help = "write what the flight recorder of a running process has kept",
	.run = run,
};

/* SPDX-License-Identifier: Apache-2.0
 *
 * gputrace flush: have running processes write what they have recorded.
 */
#include "cli/control/tell.h"

static const struct gt_cmdline_option options[] = {
	GT_TELL_OPTIONS,
	{NULL, NULL, NULL, NULL},
};

static int run_flush(const struct gt_cmdline *args)
{
	return gt_tell(args, 0,
		       &(struct gt_tell){.verb = "flush", .argument = "", .patience_ms = 60000});
}

static const struct gt_cmdline_spec spec = {
	.command = &gt_command_flush,
	.details = "Asks CUPTI for its records and writes all that is final into "
		   "the trace, which can be read meanwhile (gputrace stats). "
		   "Without it this happens at each --flush-period.",
	.example = "gputrace flush all && gputrace stats",
	.options = options,
	.min_inputs = 1,
	.max_inputs = SIZE_MAX,
	.run = run_flush,
};

static int run(int argc, char **argv)
{
	return gt_cmdline_main(&spec, argc, argv);
}

const struct gt_command gt_command_flush = {
	.name = "flush",
	.arguments = "PID...|all",
	.help = "have running processes write what they have recorded",
	.run = run,
};

/* SPDX-License-Identifier: Apache-2.0
 *
 * gputrace set: change an option in running processes.
 */
#include <string.h>

#include "cli/control/tell.h"
#include "cli/run_options.h"
#include "core/config.h"

static const struct gt_cmdline_option options[] = {
	GT_TELL_OPTIONS,
	{NULL, NULL, NULL, NULL},
};

/* Those that a process may change (pipeline/verbs_set.c), for completion. */
static const enum gt_option_id may_change[] = {
	GT_CONFIG_FLUSH_PERIOD,    GT_CONFIG_DURATION,   GT_CONFIG_STACKS,
	GT_CONFIG_STACK_THRESHOLD, GT_CONFIG_SAMPLE_CPU, GT_CONFIG_VERBOSE,
	GT_CONFIG_DETAILS,         GT_CONFIG_MAX_SIZE,   GT_CONFIG_KEEP,
};

static void print_words(FILE *out)
{
	for (size_t i = 0; i < sizeof(may_change) / sizeof(may_change[0]); i++) {
		const struct gt_option *option = &gt_options[may_change[i]];
		const char *value = option->type == GT_OPTION_ENUM   ? option->values
				    : option->type == GT_OPTION_BOOL ? "yes|no"
								     : "";

		do {
			size_t n = strcspn(value, "|");

			fprintf(out, "%s=%.*s\t%s\n", option->name, (int)n, value, option->help);
			value += n + (value[n] == '|');
		} while (*value);
	}
}

/* Whether it may change is known to the process. */
static int check(const struct gt_cmdline *args, const char *text)
{
	size_t length = strcspn(text, "=");
	int id = gt_config_find(text, length);
	struct gt_config config;
	char line[256];

	if (!text[length])
		return gt_cmdline_wrong(args, "'%s' is no OPTION=VALUE", text);
	if (id < 0) {
		gt_run_option_unknown("", text, length, line, sizeof(line));
		return gt_cmdline_wrong(args, "%s", line);
	}
	gt_config_init(&config);
	if (!gt_config_set(&config, (enum gt_option_id)id, text + length + 1))
		return GT_EXIT_OK;
	gt_config_explain((enum gt_option_id)id, gt_options[id].name, text + length + 1, line,
			  sizeof(line));
	return gt_cmdline_wrong(args, "%s", line);
}

static int run_set(const struct gt_cmdline *args)
{
	const char *text = args->inputs[0];
	int rc = check(args, text);

	if (rc)
		return rc;
	return gt_tell(args, 1,
		       &(struct gt_tell){.verb = "set", .argument = text, .patience_ms = 5000});
}

static const struct gt_cmdline_spec spec = {
	.command = &gt_command_set,
	.details = "Changes an option of gputrace run in running processes. At once: "
		   "flush-period, duration, stacks, stack-threshold, sample-cpu, verbose, "
		   "max-overhead, watchdog, watchdog-idle, dump-at-exit; with the next trace: "
		   "details, max-size, keep, kernels, nvtx-ranges, streams, devices. stacks and "
		   "sample-cpu can be turned down "
		   "and up again if the process was started with them. Other options are fixed "
		   "when a process starts, and are refused with the reason and this list. The "
		   "header of the trace "
		   "has the new value, and the trace a note when it came.",
	.example = "gputrace set stacks=off all\ngputrace set flush-period=100 1234",
	.options = options,
	.min_inputs = 2,
	.max_inputs = SIZE_MAX,
	.run = run_set,
	.print_words = print_words,
};

static int run(int argc, char **argv)
{
	return gt_cmdline_main(&spec, argc, argv);
}

const struct gt_command gt_command_set = {
	.name = "set",
	.arguments = "OPTION=VALUE PID...|all",
	.help = "change an option in running processes",
	.run = run,
};

/* SPDX-License-Identifier: Apache-2.0
 *
 * gputrace hang: what a running process waits for, as the tracer in it finds out (pipeline/hang).
 */
#include <stdio.h>
#include <string.h>

#include "cli/control/tell.h"
#include "readers/show.h"

/* The process looks at its threads for some ms each, and at what else it is asked before. */
#define PATIENCE_MS 10000

static const struct gt_cmdline_option options[] = {
	{"json", NULL, NULL, "one JSON object a line for each process, see docs/hang.md"},
	GT_TELL_OPTIONS,
	{NULL, NULL, NULL, NULL},
};

/* One report behind the other, an empty line between them. */
static int print(const struct gt_talk *talk, void *context)
{
	const char **between = context;

	fputs(*between, stdout);
	for (const char *line = talk->whole; *line;) {
		int length = (int)strcspn(line, "\n");

		gt_show_line(stdout, "%.*s", length, line);
		line += length + (line[length] == '\n');
	}
	return GT_EXIT_OK;
}

static int print_text(const struct gt_talk *talk, void *context)
{
	const char **between = context;
	int rc = print(talk, context);

	*between = "\n";
	return rc;
}

static int run_hang(const struct gt_cmdline *args)
{
	bool as_json = gt_cmdline_get(args, "json") != NULL;
	const char *between = "";

	return gt_tell(args, 0,
		       &(struct gt_tell){.verb = "hang",
					 .argument = as_json ? "json" : "text",
					 .patience_ms = PATIENCE_MS,
					 .print = as_json ? print : print_text,
					 .context = &between,
					 .is_long = true});
}

static const struct gt_cmdline_spec spec = {
	.command = &gt_command_hang,
	.details =
		"Prints what each of the processes waits for: the GPU, which never finished a "
		"kernel; a CUDA call, which never returned; or nothing of CUDA's, and where the "
		"host is. Then what is in flight on each stream and the line that launched it, "
		"and for each thread the CUDA call that it is in, since when, and its native and "
		"Python stack. The processes go on. It works while CUPTI's flush hangs, too. The "
		"exit status is 1 if a process cannot be spoken to. To have it reported without "
		"being asked: gputrace run --watchdog=60s.",
	.example = "gputrace hang 4100",
	.options = options,
	.min_inputs = 1,
	.max_inputs = SIZE_MAX,
	.run = run_hang,
};

static int run(int argc, char **argv)
{
	return gt_cmdline_main(&spec, argc, argv);
}

const struct gt_command gt_command_hang = {
	.name = "hang",
	.arguments = "PID...|all",
	.help = "say what a process waits for: the GPU, a CUDA call, or the host",
	.run = run,
};

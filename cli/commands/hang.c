/* SPDX-License-Identifier: Apache-2.0
 *
 * gputrace hang: what a running process waits for, as the tracer in it finds out (pipeline/hang).
 */
#include <stdio.h>
#include <string.h>

#include "cli/control/missing.h"
#include "cli/control/tell.h"
#include "core/control/hang_summary.h"
#include "readers/show.h"

/* The process looks at its threads for some ms each, and at what else it is asked before. */
#define PATIENCE_MS 10000

static const struct gt_cmdline_option options[] = {
	{"json", NULL, NULL, "one JSON object a line for each process, see docs/hang.md"},
	GT_TELL_OPTIONS,
	{NULL, NULL, NULL, NULL},
};

/* Several processes are compared; one by one they are printed. */
struct answers {
	struct gt_missing missing;
	const char *between; /* reports: an empty line */
	bool as_json, failed;
};

static int print(const struct gt_talk *talk, void *context)
{
	struct answers *answers = context;
	char *summary = strstr(talk->whole, GT_HANG_SUMMARY);

	if (summary) {
		*summary = 0;
		answers->failed |= gt_missing_take(&answers->missing, talk->box->head.pid,
						   talk->box->head.rank,
						   summary + strlen(GT_HANG_SUMMARY)) != 0;
	}
	fputs(answers->between, stdout);
	for (const char *line = talk->whole; *line;) {
		int length = (int)strcspn(line, "\n");

		gt_show_line(stdout, "%.*s", length, line);
		line += length + (line[length] == '\n');
	}
	if (!answers->as_json)
		answers->between = "\n";
	return GT_EXIT_OK;
}

static bool is_one_process(const struct gt_cmdline *args)
{
	return args->input_count == 1 && strcmp(args->inputs[0], "all") != 0;
}

static int run_hang(const struct gt_cmdline *args)
{
	struct answers answers = {.between = "", .as_json = gt_cmdline_get(args, "json") != NULL};
	const char *form = answers.as_json ? "json" : "text";
	char argument[32];
	int rc;

	snprintf(argument, sizeof(argument), "%s%s", form, is_one_process(args) ? "" : " summary");
	rc = gt_tell(args, 0,
		     &(struct gt_tell){.verb = "hang",
				       .argument = argument,
				       .patience_ms = PATIENCE_MS,
				       .print = print,
				       .context = &answers,
				       .is_long = true});
	if (answers.failed)
		rc = GT_EXIT_FAILED;
	else
		gt_missing_print(&answers.missing, answers.as_json, stdout);
	gt_missing_fini(&answers.missing);
	return rc;
}

static const struct gt_cmdline_spec spec = {
	.command = &gt_command_hang,
	.details =
		"Prints what each process waits for: the GPU, which never finished a kernel; a "
		"CUDA call, which never returned; or the host, which launches nothing, and where "
		"it is. Then it lists what is in flight on each stream, with the line that "
		"launched it, and for each thread the CUDA call that it is in, since when, and its "
		"native and Python stack. For several processes that use NCCL or MPI (run "
		"--libraries=nccl,mpi) it adds the collectives that they wait in, and who has not "
		"called them. The processes keep running. It also works while CUPTI's flush hangs. "
		"The exit status is 1 if a process cannot be reached. gputrace run --watchdog=60s "
		"makes the same report by itself.",
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

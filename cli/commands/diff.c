/* SPDX-License-Identifier: Apache-2.0
 *
 * gputrace diff: what changed between two traces, and is it more than noise?
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/diff.h"
#include "analysis/stats.h"
#include "cli/cmdline.h"
#include "readers/show.h"

static const struct gt_cmdline_option options[] = {
	{"gate", "PERCENT", NULL,
	 "exit with status 3 if something significant (1 % of the total or more) became "
	 "slower by more than PERCENT and more than the noise"},
	{"top", "N", "0..1000000000", "rows per table (0: all; default 10, in csv and json all)"},
	GT_CMDLINE_FORMAT_OPTION,
	{NULL, NULL, NULL, NULL},
};

/* "5%" or "5" */
static int read_gate(const struct gt_cmdline *args, double *ret_gate)
{
	const char *text = gt_cmdline_get(args, "gate");
	char *end;

	*ret_gate = -1;
	if (!text)
		return 0;
	*ret_gate = strtod(text, &end);
	if (end == text || (*end && strcmp(end, "%")) || !(*ret_gate >= 0))
		return gt_cmdline_wrong(args, "--gate=%s: not a percentage", text);
	return 0;
}

static void print_side(const struct gt_cmdline *args, const struct gt_diff *diff, int side,
		       const char *end)
{
	gt_show_line(stdout, "%c: %s (%zu %s%s)%s", 'A' + side, args->inputs[side],
		     diff->samples[side], diff->stepped ? "step" : "trace",
		     gt_plural(diff->samples[side]), end);
}

static void print_sides(const struct gt_cmdline *args, const struct gt_diff *diff, bool markdown)
{
	print_side(args, diff, 0, markdown ? "  " : "");
	print_side(args, diff, 1, "");
	if (diff->samples[0] < 2 || diff->samples[1] < 2)
		puts("\nThe noise is not known: it takes two steps (ProfilerStep#N) on both "
		     "sides.");
	putchar('\n');
}

static void print(const struct gt_cmdline *args, struct gt_diff *diff)
{
	struct gt_print how = gt_cmdline_print(args);
	struct gt_table shown[GT_DIFF_COUNT_];
	bool markdown = how.format == GT_FORMAT_MARKDOWN;
	bool for_people = how.format == GT_FORMAT_TABLE || markdown;
	size_t count = 0;

	how.top = (size_t)gt_cmdline_number(args, "top", for_people ? 10 : 0);
	for (int i = 0; i < GT_DIFF_COUNT_; i++) {
		if (how.top && !for_people)
			gt_table_cut(&diff->tables[i], how.top);
		if (diff->tables[i].rows)
			shown[count++] = diff->tables[i];
	}
	if (for_people)
		print_sides(args, diff, markdown);
	gt_table_print(shown, count, &how, stdout);
}

static int compare(const struct gt_cmdline *args, const struct gt_job *a, const struct gt_job *b,
		   double gate)
{
	struct gt_diff diff;
	int rc = gt_diff_build(a, b, gate, &diff);

	if (!rc) {
		print(args, &diff);
		gt_cmdline_losses((const struct gt_job *const[]){a, b}, 2,
				  gt_cmdline_print(args).format);
		fflush(stdout);
		if (diff.regressions) {
			gt_show_line(stderr, "gputrace diff: slower by more than %g %%: %s", gate,
				     diff.worst);
			rc = GT_EXIT_GATE;
		} else if (gate >= 0 && !(gt_stats_whole(a) && gt_stats_whole(b))) {
			gt_show_line(stderr,
				     "gputrace diff: --gate: no verdict, a trace is not whole: %s",
				     gt_stats_whole(a) ? args->inputs[1] : args->inputs[0]);
			rc = GT_EXIT_FAILED;
		}
	} else {
		rc = GT_EXIT_FAILED;
	}
	gt_diff_fini(&diff);
	return rc;
}

static int run_diff(const struct gt_cmdline *args)
{
	struct gt_cmdline one = *args;
	struct gt_job a = {0}, b = {0};
	double gate;
	int rc = read_gate(args, &gate);

	one.input_count = 1;
	if (!rc)
		rc = gt_cmdline_load(&one, &a);
	if (!rc) {
		one.inputs++;
		rc = gt_cmdline_load(&one, &b);
	}
	if (!rc)
		rc = compare(args, &a, &b, gate);
	gt_job_fini(&a);
	gt_job_fini(&b);
	return rc;
}

static const struct gt_cmdline_spec spec = {
	.command = &gt_command_diff,
	.details = "A and B are traces or folders of ranks. Steps (ProfilerStep#N ranges) are "
		   "compared with each other, and their spread is the noise: a change within it is "
		   "\"same\". With one step or none, whole traces are compared and the verdict is "
		   "\"cannot tell\"; --gate then still compares A with B. If nothing became slower "
		   "but a trace is incomplete, --gate gives no verdict and the exit status is 1: "
		   "the file is cut, its process was killed and no spool recovered the rest, "
		   "calls, GPU records or ranges were lost, or time stamps are impossible. Work in "
		   "flight when a process ended is tolerated up to 1 % of the launches. Whether a "
		   "program did all its work is a matter of its exit status, not of its trace.",
	.example = "# slower than last week? exit status 3 if so, a table for the pull request\n"
		   "gputrace diff --gate=5% --format=markdown before.json after.json",
	.options = options,
	.min_inputs = 2,
	.max_inputs = 2,
	.run = run_diff,
};

static int run(int argc, char **argv)
{
	return gt_cmdline_main(&spec, argc, argv);
}

const struct gt_command gt_command_diff = {
	.name = "diff",
	.arguments = "A B",
	.help = "compare two traces: what became slower or faster, and is it more than noise?",
	.run = run,
};

/* SPDX-License-Identifier: Apache-2.0
 *
 * gputrace diff: what changed between two traces or two groups of runs, and is it more than noise?
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/diff/diff.h"
#include "analysis/holes/holes.h"
#include "cli/cmdline.h"
#include "readers/show.h"
#include "readers/wrap.h"

#define DEFAULT_SHARE 0.01 /* % */

static const struct gt_cmdline_option options[] = {
	{"gate", "PERCENT", NULL,
	 "exit with status 3 if something became slower by more than PERCENT and more than the "
	 "noise, 4 if the evidence allows no verdict"},
	{"gate-share", "PERCENT", NULL,
	 "the gate does not look at what takes less than PERCENT of the GPU time (default 0.01; "
	 "idle time and CUDA calls 1 at least)"},
	{"top", "N", "0..1000000000", "rows per table (0: all; default 10, in csv and json all)"},
	GT_CMDLINE_FRAME_OPTIONS("user|innermost", GT_CMDLINE_USER_FRAME),
	GT_CMDLINE_SYMBOLIZE_OPTION,
	GT_CMDLINE_FILTER_OPTION,
	GT_CMDLINE_COMMUNICATION_OPTION,
	GT_CMDLINE_FORMAT_OPTION,
	GT_CMDLINE_NAMES_OPTIONS,
	GT_CMDLINE_TABLES_OPTION,
	{NULL, NULL, NULL, NULL},
};

/* "5%" or "5" */
static int read_percent(const struct gt_cmdline *args, const char *option, double otherwise,
			double *ret_percent)
{
	const char *text = gt_cmdline_get(args, option);
	char *end;

	*ret_percent = otherwise;
	if (!text)
		return 0;
	*ret_percent = strtod(text, &end);
	if (end == text || (*end && strcmp(end, "%") != 0) || !(*ret_percent >= 0))
		return gt_cmdline_wrong(args, "--%s=%s: not a percentage", option, text);
	return 0;
}

/* The runs of both sides, one job each; those of A first. */
struct runs {
	struct gt_job *jobs;
	const char **inputs;
	size_t count, of_a;
};

/* "A: a.json b.json (2 runs, 10 steps)" */
static void print_side(const struct runs *runs, const struct gt_diff *diff, int side,
		       size_t columns, const char *end)
{
	size_t from = side ? runs->of_a : 0, until = side ? runs->count : runs->of_a, size;
	char *inputs = NULL;
	FILE *memory = open_memstream(&inputs, &size);

	if (!memory)
		return;
	for (size_t i = from; i < until; i++)
		fprintf(memory, "%s ", runs->inputs[i]);
	if (!fclose(memory))
		gt_wrap_line(stdout, columns, 3, "%c: %s(%s)%s", 'A' + side, inputs,
			     diff->extent[side], end);
	free(inputs);
}

static void print_sides(const struct runs *runs, const struct gt_diff *diff,
			const struct gt_print *how)
{
	const char *end = how->format == GT_FORMAT_MARKDOWN ? "  " : "";

	print_side(runs, diff, 0, how->columns, end);
	print_side(runs, diff, 1, how->columns, "");
	putchar('\n');
	for (size_t i = 0; i < diff->notes.list.count; i++)
		gt_wrap_line(stdout, how->columns, 2, "%s%s", diff->notes.list.at[i], end);
	putchar('\n');
}

/* Beside tables for programs, which have no room for it. */
static void note(const struct gt_diff *diff)
{
	for (size_t i = 0; i < diff->notes.list.count; i++)
		gt_show_line(stderr, "gputrace diff: %s", diff->notes.list.at[i]);
}

static int print(const struct gt_cmdline *args, const struct runs *runs, struct gt_diff *diff)
{
	struct gt_print how = gt_cmdline_print(args);
	struct gt_table shown[GT_DIFF_COUNT_];
	bool markdown = how.format == GT_FORMAT_MARKDOWN;
	bool for_people = how.format == GT_FORMAT_TABLE || markdown;
	struct gt_mangled_names mangled;
	size_t count = 0;
	int rc;

	how.top = (size_t)gt_cmdline_number(args, "top", for_people ? 10 : 0);
	for (int i = 0; i < GT_DIFF_COUNT_; i++) {
		if (how.top && !for_people)
			gt_table_cut(&diff->tables[i], how.top);
		if (diff->tables[i].rows)
			shown[count++] = diff->tables[i];
	}
	if (for_people)
		print_sides(runs, diff, &how);
	else
		note(diff);
	gt_cmdline_mangled(args, runs->jobs, runs->count, &mangled, &how);
	rc = gt_cmdline_print_tables(args, shown, count, &how);
	gt_mangled_names_fini(&mangled);
	return rc;
}

static void print_losses(const struct gt_cmdline *args, const struct runs *runs)
{
	const struct gt_job **jobs = calloc(runs->count, sizeof(*jobs));
	struct gt_print how = gt_cmdline_print(args);

	for (size_t i = 0; jobs && i < runs->count; i++)
		jobs[i] = &runs->jobs[i];
	if (jobs)
		gt_cmdline_losses(jobs, runs->count, &how);
	free(jobs);
}

/* The exit status of a gate, after a line on stderr where it is not 0. */
static int hold_gate(const struct runs *runs, const struct gt_diff *diff, double gate)
{
	if (diff->regressions) {
		gt_show_line(stderr, "gputrace diff: slower by more than %g %%: %s", gate,
			     diff->worst);
		return GT_EXIT_GATE;
	}
	for (size_t i = 0; i < runs->count; i++) {
		if (gt_holes_whole(&runs->jobs[i]))
			continue;
		gt_show_line(stderr, "gputrace diff: --gate: no verdict, a trace is not whole: %s",
			     runs->inputs[i]);
		return GT_EXIT_FAILED;
	}
	for (size_t i = 0; i < diff->doubts.list.count; i++)
		gt_show_line(stderr, "gputrace diff: --gate: no verdict: %s",
			     diff->doubts.list.at[i]);
	return diff->doubts.list.count ? GT_EXIT_UNSURE : GT_EXIT_OK;
}

static int compare(const struct gt_cmdline *args, const struct runs *runs,
		   const struct gt_filter *filter, double gate, double share)
{
	const struct gt_diff_request request = {
		.runs = {runs->jobs, runs->jobs + runs->of_a},
		.run_count = {runs->of_a, runs->count - runs->of_a},
		.filter = filter,
		.gate = gate,
		.share = share,
	};
	struct gt_diff diff;
	int rc = gt_diff_build(&request, &diff) ? GT_EXIT_FAILED : GT_EXIT_OK;

	if (!rc) {
		rc = print(args, runs, &diff);
		print_losses(args, runs);
		fflush(stdout);
		if (!rc && gate >= 0)
			rc = hold_gate(runs, &diff, gate);
	} else {
		gt_show_line(stderr, "gputrace diff: no memory");
	}
	gt_diff_fini(&diff);
	return rc;
}

/* How many of the inputs are A's. */
static int find_sides(const struct gt_cmdline *args, size_t *ret_of_a)
{
	size_t of_a = args->first_side;

	if (of_a == SIZE_MAX && args->input_count > 2)
		return gt_cmdline_wrong(args, "which are A, which B? gputrace diff A1 A2 -- B1 B2");
	if (of_a == SIZE_MAX || (of_a == 0 && args->input_count == 2))
		of_a = 1;
	if (!of_a || of_a == args->input_count)
		return gt_cmdline_wrong(args,
					"nothing on one side of \"--\"; usage: gputrace diff A1 "
					"A2 -- B1 B2");
	*ret_of_a = of_a;
	return 0;
}

/* The first of runs [@from, @i) that has all files of run @i; @i: none. */
static size_t find_same(const struct runs *runs, size_t from, size_t i)
{
	while (from < i && !gt_job_is_in(&runs->jobs[i], &runs->jobs[from]))
		from++;
	return from;
}

static void drop(struct runs *runs, size_t i)
{
	size_t behind = runs->count - i - 1;

	gt_job_fini(&runs->jobs[i]);
	memmove(&runs->jobs[i], &runs->jobs[i + 1], behind * sizeof(*runs->jobs));
	memmove(&runs->inputs[i], &runs->inputs[i + 1], behind * sizeof(*runs->inputs));
	runs->count--;
	runs->of_a -= i < runs->of_a;
}

/* A file is one run, however often a side names it: it says nothing about how runs differ. */
static void drop_repeated(struct runs *runs)
{
	for (size_t i = 1; i < runs->count;) {
		size_t same = find_same(runs, i < runs->of_a ? 0 : runs->of_a, i);

		if (same == i) {
			i++;
			continue;
		}
		gt_show_line(stderr, "gputrace diff: %c: %s: the same as %s, taken once",
			     i < runs->of_a ? 'A' : 'B', runs->inputs[i], runs->inputs[same]);
		drop(runs, i);
	}
}

static void note_common(const struct runs *runs)
{
	for (size_t i = runs->of_a; i < runs->count; i++) {
		size_t same = find_same(runs, 0, i);

		if (same < runs->of_a)
			gt_show_line(stderr, "gputrace diff: %s is in A and in B: nothing differs",
				     runs->inputs[i]);
	}
}

static int load(const struct gt_cmdline *args, struct runs *runs)
{
	int rc;

	runs->jobs = calloc(runs->count, sizeof(*runs->jobs));
	runs->inputs = calloc(runs->count, sizeof(*runs->inputs));
	if (!runs->jobs || !runs->inputs)
		return GT_EXIT_FAILED;
	for (size_t i = 0; i < runs->count; i++)
		runs->inputs[i] = args->inputs[i];
	rc = gt_cmdline_load_each(args, runs->jobs);
	if (rc)
		return rc;
	drop_repeated(runs);
	note_common(runs);
	return 0;
}

static int run_diff(const struct gt_cmdline *args)
{
	struct runs runs = {.count = args->input_count};
	struct gt_filter filter = {0};
	double gate, share;
	int rc = read_percent(args, "gate", -1, &gate);

	if (!rc)
		rc = read_percent(args, "gate-share", DEFAULT_SHARE, &share);
	if (!rc)
		rc = find_sides(args, &runs.of_a);
	if (!rc)
		rc = gt_cmdline_filter(args, &filter);
	if (!rc)
		rc = load(args, &runs);
	if (!rc) {
		rc = compare(args, &runs, &filter, gate, share);
		gt_cmdline_report_filter(runs.jobs, runs.count, &filter);
	}
	for (size_t i = 0; runs.jobs && i < runs.count; i++)
		gt_job_fini(&runs.jobs[i]);
	free(runs.jobs);
	free(runs.inputs);
	gt_filter_fini(&filter);
	return rc;
}

static const struct gt_cmdline_spec spec = {
	.command = &gt_command_diff,
	.details =
		"A and B are traces or folders of ranks, one run each; several runs of a side "
		"stand "
		"before and behind \"--\". Compared are the times per step (ProfilerStep#N "
		"ranges), "
		"with several runs the means of the runs; without steps the time of an operation "
		"in "
		"each of 20 parts of the trace. Slow first steps (warm-up) and outliers are left "
		"out "
		"and named. A change is \"slower\" or \"faster\" if it is more than noise, with "
		"all "
		"rows of all tables taken together (1 wrong answer of 100 at most); \"same\" if it "
		"is not; \"cannot tell\" if the evidence is too thin to say. Kernels that have "
		"another name on the other side are matched. docs/DIFF.md tells how, and how often "
		"it is wrong.\n"
		"With --gate the exit status is 3 if something became slower by more than PERCENT. "
		"It is 4, no verdict, if the evidence could not have shown a change of four times "
		"PERCENT (10 % at least), or if a rank, GPU work or more than half of the steps "
		"are "
		"missing on one side. It is 1 if a trace is incomplete: "
		"the file is cut, its process was killed and no spool recovered the rest, "
		"calls, GPU records or ranges were lost, or time stamps are impossible. Work in "
		"flight when a process ended is tolerated up to 1 % of the launches. Whether a "
		"program did all its work is a matter of its exit status, not of its trace.",
	.example = "# slower than last week? exit status 3 if so, a table for the pull request\n"
		   "gputrace diff --gate=5% --format=markdown before.json after.json\n"
		   "# three runs a side: how much runs differ is known, too\n"
		   "gputrace diff --gate=5% a1.json a2.json a3.json -- b1.json b2.json b3.json",
	.options = options,
	.min_inputs = 2,
	.max_inputs = 1000,
	.has_sides = true,
	.takes_stdin = true,
	.run = run_diff,
};

static int run(int argc, char **argv)
{
	return gt_cmdline_main(&spec, argc, argv);
}

const struct gt_command gt_command_diff = {
	.name = "diff",
	.arguments = "A B | A1 A2... -- B1 B2...",
	.help = "compare two traces: what became slower or faster, and is it more than noise?",
	.run = run,
};

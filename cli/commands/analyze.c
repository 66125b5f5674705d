/* SPDX-License-Identifier: Apache-2.0
 *
 * gputrace analyze: what could be faster?
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/findings/findings.h"
#include "cli/cmdline.h"
#include "readers/wrap.h"
#include "trace/frame.h"

#define PROSE 100  /* columns of advice at most */
#define PLACE 2048 /* bytes of a place */

static const struct gt_cmdline_option options[] = {
	GT_CMDLINE_FRAME_OPTIONS("user|innermost", GT_CMDLINE_USER_FRAME),
	GT_CMDLINE_FILTER_OPTION,
	GT_CMDLINE_COMMUNICATION_OPTION,
	GT_CMDLINE_SYMBOLIZE_OPTION,
	{"format", "NAME", "text|csv|json|markdown", "text (default), csv, json or markdown"},
	{"top", "N", "0..1000000000", "findings at most, those that save most (default 0: all)"},
	GT_CMDLINE_WIDTH_OPTION,
	GT_CMDLINE_TABLES_OPTION,
	{NULL, NULL, NULL, NULL},
};

static void print_places(const struct gt_finding *finding, size_t columns)
{
	char time[32], where[PLACE];

	for (size_t i = 0; i < finding->place_count; i++) {
		const struct gt_finding_place *place = &finding->places[i];

		gt_frame_shorten_place(place->where, where, sizeof(where));
		gt_wrap_line(stdout, columns, 11, "   %s %s (%" PRIu64 " x, %s)",
			     i ? "     " : "where", where, place->count,
			     gt_table_time((double)place->ns, time, sizeof(time)));
	}
	if (finding->place_total > finding->place_count)
		printf("         and %zu more\n", finding->place_total - finding->place_count);
}

static void print_finding(const struct gt_finding *finding, size_t number, size_t columns)
{
	double wall = (double)finding->wall;
	char time[32];

	gt_wrap_line(stdout, columns, 3, "%zu. %s (%s)", number, finding->rule->title,
		     finding->rule->id);
	if (finding->saves)
		gt_wrap_line(stdout, columns, 9, "   saves at most %s (%.1f %% of wall)",
			     gt_table_time((double)finding->saves, time, sizeof(time)),
			     wall > 0 ? (double)finding->saves * 100 / wall : 0);
	gt_wrap_line(stdout, columns, 9, "   seen  %s", finding->evidence);
	print_places(finding, columns);
	gt_wrap_line(stdout, columns && columns < PROSE ? columns : PROSE, 9, "   do    %s",
		     finding->rule->advice);
	putchar('\n');
}

static void print_clear(const struct gt_findings *findings, size_t columns)
{
	const char *gap = "";
	char *clear = NULL;
	size_t size;
	FILE *memory = open_memstream(&clear, &size);

	if (!memory)
		return;
	for (size_t i = 0; i < findings->list.count; i++) {
		if (findings->list.at[i].state != GT_FINDING_CLEAR)
			continue;
		fprintf(memory, "%s%s", gap, findings->list.at[i].rule->id);
		gap = ", ";
	}
	if (!fclose(memory) && *gap)
		gt_wrap_line(stdout, columns, 7, "Clear: %s", clear);
	free(clear);
}

static void print_text(const struct gt_findings *findings, size_t more, size_t columns)
{
	size_t number = 0;

	for (size_t i = 0; i < findings->list.count; i++)
		if (findings->list.at[i].state == GT_FINDING_FOUND)
			print_finding(&findings->list.at[i], ++number, columns);
	if (more)
		printf("... and %zu more\n\n", more);
	if (!number)
		puts("Nothing found.\n");
	if (gt_findings_count(findings, GT_FINDING_UNDECIDED))
		puts("Not decidable from this trace:");
	for (size_t i = 0; i < findings->list.count; i++)
		if (findings->list.at[i].state == GT_FINDING_UNDECIDED)
			gt_wrap_line(stdout, columns, 6, "   %s: needs %s",
				     findings->list.at[i].rule->id, findings->list.at[i].needs);
	print_clear(findings, columns);
	if (number) {
		putchar('\n');
		gt_wrap_line(
			stdout, columns && columns < PROSE ? columns : PROSE, 0,
			"A saving is the most that a change could bring: of calls all the idle "
			"time that they touch, whatever its main cause in gputrace gaps. "
			"Savings overlap: do not add them up.");
		putchar('\n');
	}
}

static int print(const struct gt_cmdline *args, const struct gt_job *job,
		 const struct gt_filter *filter)
{
	struct gt_print how = gt_cmdline_print(args);
	struct gt_table tables[2] = {0};
	struct gt_findings findings;
	int rc = gt_findings_find(job, filter, &findings);
	size_t top = (size_t)gt_cmdline_number(args, "top", 0), more = 0;

	if (!rc && top)
		more = gt_findings_cut(&findings, top);
	if (!rc && how.format == GT_FORMAT_TABLE && !gt_cmdline_get(args, "output")) {
		print_text(&findings, more, how.columns);
	} else if (!rc) {
		gt_findings_table(&findings, &tables[0]);
		gt_findings_places(&findings, &tables[1]);
		rc = gt_cmdline_print_tables(args, tables, 2, &how);
	}
	gt_cmdline_losses(&job, 1, &how);
	for (size_t i = 0; i < 2; i++)
		gt_table_fini(&tables[i]);
	gt_findings_fini(&findings);
	return rc ? GT_EXIT_FAILED : GT_EXIT_OK;
}

static int run_analyze(const struct gt_cmdline *args)
{
	return gt_cmdline_answer(args, print);
}

static const struct gt_cmdline_spec spec = {
	.command = &gt_command_analyze,
	.details =
		"Applies rules to a trace or to all ranks of a folder: a slow data loader, a host "
		"that is behind or ahead of the GPU, synchronization, synchronous, pageable and "
		"small copies, allocation in the steady state, tiny kernels, hot ones, softmax, "
		"fp32 arithmetic while tensor cores idle, a rank that comes late. Each finding has "
		"its evidence, the places in the program, and the most GPU time that a change "
		"could save; wall is the time from the first to the last operation of a GPU, "
		"summed over GPUs. Savings overlap: they cannot be added up. What a trace lacks "
		"to decide a rule is named. The exit status is 0 whatever is found. "
		"docs/ANALYZE.md has the rules and their formulas.",
	.example = "gputrace run --output=out ./train && gputrace analyze out\n"
		   "# for a script\n"
		   "gputrace analyze --format=json trace.json",
	.options = options,
	.min_inputs = 1,
	.max_inputs = SIZE_MAX,
	.takes_newest = true,
	.takes_stdin = true,
	.run = run_analyze,
};

static int run(int argc, char **argv)
{
	return gt_cmdline_main(&spec, argc, argv);
}

const struct gt_command gt_command_analyze = {
	.name = "analyze",
	.arguments = "[FILE|FOLDER...]",
	.help = "say what could be faster, by rules, and how much it could save",
	.run = run,
};

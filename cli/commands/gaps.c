/* SPDX-License-Identifier: Apache-2.0
 *
 * gputrace gaps: why was the GPU idle?
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/gaps/gaps.h"
#include "analysis/ranks/peers.h"
#include "cli/cmdline.h"
#include "cli/reduce/rank_shares.h"
#include "cli/reduce/stats_parts.h"
#include "readers/wrap.h"

static const struct gt_cmdline_option options[] = {
	{"min", "TIME", GT_CMDLINE_TIME,
	 "ignore shorter gaps: 50us, 2ms (without a unit: us; default 0)"},
	{"top", "N", "0..1000000000",
	 "rows in the table of causes (0: all; default 15, in csv and json all)"},
	GT_CMDLINE_FRAME_OPTIONS("user|innermost", GT_CMDLINE_USER_FRAME),
	GT_CMDLINE_SYMBOLIZE_OPTION,
	GT_CMDLINE_FILTER_OPTION,
	GT_CMDLINE_COMMUNICATION_OPTION,
	GT_CMDLINE_FORMAT_OPTION,
	GT_CMDLINE_NAMES_OPTIONS,
	GT_CMDLINE_TABLES_OPTION,
	GT_SHARES_OPTION,
	{NULL, NULL, NULL, NULL},
};

enum {
	CAUSES,
	DEVICES,
	WINDOWS,
	PEERS,
	TABLES,
};

/* A line below the tables; not in what a program reads. */
static void report(bool is_so, const char *line, const struct gt_print *how)
{
	bool behind = how->format == GT_FORMAT_TABLE;

	if (!is_so)
		return;
	fputs(behind ? "\n" : "", stdout);
	gt_wrap_line(behind ? stdout : stderr, how->columns, 0, "%s", line);
}

/* Busy and idle time are not all of a window. */
static bool filter_leaves_work(const struct gt_table *windows)
{
	size_t c = 0;

	while (strcmp(windows->columns[c].id, "busy_share"))
		c++;
	for (size_t row = 0; row < windows->rows; row++) {
		const struct gt_cell *cells = &windows->cells.at[row * windows->width];

		if (cells[c].number + cells[c + 1].number < 99.9)
			return true;
	}
	return false;
}

/* What shares of the traces say. */
struct gaps_answer {
	struct gt_stats_parts lines;
	struct gt_gaps_parts gaps;
	struct gt_rank_excerpt *excerpts; /* of collectives that other processes sent, or NULL */
};

static int fill_tables(struct gaps_answer *answer, const struct gt_job *job,
		       const struct gt_filter *filter, struct gt_table tables[TABLES],
		       struct gt_peer_doubts *ret_doubts)
{
	int rc = gt_gaps_fill_causes(&answer->gaps, &tables[CAUSES]);

	if (!rc)
		rc = gt_gaps_fill_devices(&answer->gaps, &tables[DEVICES]);
	if (!rc)
		rc = gt_gaps_fill_windows(&answer->gaps, &tables[WINDOWS]);
	if (!rc)
		rc = gt_ranks_peers(job, filter, answer->excerpts, &tables[PEERS], ret_doubts);
	return rc;
}

/* Below the tables. */
static void print_reports(const struct gt_cmdline *args, struct gaps_answer *answer,
			  const struct gt_filter *filter, const struct gt_table tables[TABLES],
			  const struct gt_peer_doubts *doubts, const struct gt_print *how)
{
	char text[512];

	report(gt_gaps_hidden(&answer->gaps, gt_cmdline_time(args, "min", 1000), text,
			      sizeof(text)),
	       text, how);
	report(gt_gaps_clocks(&answer->gaps, text, sizeof(text)), text, how);
	report(gt_gaps_missed(&answer->gaps, text, sizeof(text)), text, how);
	report(filter->terms.count && filter_leaves_work(&tables[WINDOWS]),
	       "What is neither busy nor idle is work that --filter leaves out.", how);
	report(doubts->differ, GT_RANKS_DIFFER, how);
	report(gt_ranks_unrelated(doubts->unrelated, text, sizeof(text)), text, how);
	report(gt_gaps_shared(&answer->gaps),
	       "Processes of one host used a GPU of the same number at the same time. If "
	       "it "
	       "is one GPU, what is idle for one may be another's work.",
	       how);
	gt_shares_losses(&answer->lines, how);
}

static int print(const struct gt_cmdline *args, struct gaps_answer *answer,
		 const struct gt_job *job, const struct gt_filter *filter)
{
	struct gt_print how = gt_cmdline_print(args);
	struct gt_table tables[TABLES] = {0};
	struct gt_peer_doubts doubts = {0};
	int rc = fill_tables(answer, job, filter, tables, &doubts);

	how.top = (size_t)gt_cmdline_number(args, "top", 15);
	if (!rc && how.top &&
	    (how.format == GT_FORMAT_MARKDOWN ||
	     (how.format != GT_FORMAT_TABLE && gt_cmdline_get(args, "top"))))
		gt_table_cut(&tables[CAUSES], how.top);
	if (!rc) {
		rc = gt_cmdline_print_tables(args, tables, tables[PEERS].rows ? TABLES : PEERS,
					     &how);
		print_reports(args, answer, filter, tables, &doubts, &how);
	}
	for (int i = 0; i < TABLES; i++)
		gt_table_fini(&tables[i]);
	return rc ? GT_EXIT_FAILED : GT_EXIT_OK;
}

/* The lines' set and those of gaps go together. */
static int reduce(const struct gt_cmdline *args, const struct gt_job *job, int status,
		  struct gaps_answer *answer, bool *ret_prints)
{
	struct gt_group_set sets[1 + GT_GAPS_SET_COUNT_];
	int rc;

	sets[0] = answer->lines.sets[0];
	memcpy(&sets[1], answer->gaps.sets, sizeof(answer->gaps.sets));
	rc = gt_shares_reduce(args, job, status, sets, 1 + GT_GAPS_SET_COUNT_, ret_prints);
	answer->lines.sets[0] = sets[0];
	memcpy(answer->gaps.sets, &sets[1], sizeof(answer->gaps.sets));
	return rc;
}

static int ask(const struct gt_cmdline *args, struct gaps_answer *answer,
	       const struct gt_filter *filter)
{
	const struct gt_stats_asked asked = {0};
	int64_t min_ns = gt_cmdline_time(args, "min", 1000);
	struct gt_job job = {0};
	bool prints;
	int rc = gt_shares_load(args, &job);

	if (job.count && (gt_stats_parts_map(&answer->lines, &job, filter, asked) ||
			  gt_gaps_map(&answer->gaps, &job, filter, min_ns)))
		rc = gt_shares_no_memory("what these traces add up to");
	rc = reduce(args, &job, rc, answer, &prints);
	if (gt_shares_gather_ranks(args, filter, &job, &answer->excerpts)) {
		rc = GT_EXIT_FAILED;
		prints = false;
	}
	if (prints) {
		if (print(args, answer, &job, filter))
			rc = GT_EXIT_FAILED;
		if (!gt_stats_parts_fact(&answer->lines, GT_STATS_PASSES))
			gt_cmdline_complain("--filter: nothing in the traces passes");
	}
	gt_rank_excerpts_fini(answer->excerpts, job.count);
	gt_job_fini(&job);
	return rc;
}

static int run_gaps(const struct gt_cmdline *args)
{
	struct gaps_answer answer = {0};
	struct gt_filter filter = {0};
	int rc = gt_cmdline_filter(args, &filter);

	if (!rc && (gt_stats_parts_init(&answer.lines) || gt_gaps_parts_init(&answer.gaps)))
		rc = GT_EXIT_FAILED;
	if (!rc)
		rc = gt_shares_start(args);
	if (!rc)
		rc = ask(args, &answer, &filter);
	gt_shares_end();
	gt_stats_parts_fini(&answer.lines);
	gt_gaps_parts_fini(&answer.gaps);
	gt_filter_fini(&filter);
	return rc;
}

static const struct gt_cmdline_spec spec = {
	.command = &gt_command_gaps,
	.details =
		"A gap is a time between the first and the last operation of a device during "
		"which nothing ran on it; \"of wall\" means of that time. The window is the whole "
		"trace, or what --filter=time= or step= leaves of it; the idle time in it before "
		"the first and after the last operation has rows of its own. The cause of a gap is "
		"what the thread did that launched the "
		"operation which ended the gap: its CUDA calls (\"kernel loading\": the driver "
		"loaded or compiled kernels in it); else the innermost call of the "
		"operating system that it was in (run --osrt: \"blocking call\", with the file or "
		"kind of descriptor and the first frame of the user, or \"data loading\"; files "
		"that one place waits for share a row); else its samples (run "
		"--sample-cpu), NVTX ranges, operators and Python functions; else the innermost "
		"function common to the call stacks before and after the gap. After it follows "
		"what "
		"launched the work before these gaps (\"last launch\", columns of csv and json; "
		"\"mostly\": "
		"less than nine tenths of their idle time). A sample stands "
		"for the time around it; gaps without a "
		"sample are split like sampled gaps of the same place; for a function sampled "
		"at several lines, the most frequent line is shown. Work that waited although "
		"its launch had returned is \"queued\". While the stream of that operation waited "
		"for a host function (cudaLaunchHostFunc, a host node of a graph), the cause is "
		"\"host function\" with the call that put it there; this needs run --sync and "
		"CUPTI 13.1. With several ranks, collectives that ran "
		"longer because a peer came late are listed; clocks of other hosts are aligned "
		"by when collectives ended. With --filter, a gap is the time up to an "
		"operation that passes, from the first to the last of these; other work is "
		"neither busy nor idle. Each process has its own gaps, also where two processes "
		"share a GPU; a note says so, because the idle time of one may be work of the "
		"other. Clocks that were kept down (run --nvml) are a note, too: work took longer, "
		"which is no idle time.",
	.example = "# gaps of 50 us and more, the ten most expensive causes\n"
		   "gputrace gaps --min=50us --top=10 trace.json",
	.options = options,
	.min_inputs = 1,
	.max_inputs = SIZE_MAX,
	.takes_newest = true,
	.takes_stdin = true,
	.run = run_gaps,
};

static int run(int argc, char **argv)
{
	return gt_cmdline_main(&spec, argc, argv);
}

const struct gt_command gt_command_gaps = {
	.name = "gaps",
	.arguments = "[FILE|FOLDER...]",
	.help = "explain why the GPU was idle and what the host did meanwhile",
	.run = run,
};

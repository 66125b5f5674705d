/* SPDX-License-Identifier: Apache-2.0
 *
 * gputrace ranks: which rank makes the others wait, and why?
 */
#include <stdlib.h>

#include "analysis/ranks/peers.h"
#include "analysis/ranks/tables.h"
#include "cli/cmdline.h"
#include "cli/reduce/rank_shares.h"
#include "cli/reduce/stats_parts.h"
#include "readers/wrap.h"

static const struct gt_cmdline_option options[] = {
	{"top", "N", "0..1000000000",
	 "rows of each table (0: all; default 15, in csv and json all)"},
	GT_CMDLINE_FILTER_OPTION,
	GT_CMDLINE_COMMUNICATION_OPTION,
	GT_CMDLINE_FORMAT_OPTION,
	GT_CMDLINE_NAMES_OPTIONS,
	GT_CMDLINE_TABLES_OPTION,
	GT_SHARES_OPTION,
	{NULL, NULL, NULL, NULL},
};

static int (*const makers[])(const struct gt_ranks *ranks, struct gt_table *ret_table) = {
	gt_ranks_late,    gt_ranks_steps,  gt_ranks_collectives,
	gt_ranks_kernels, gt_ranks_clocks, gt_ranks_network, /* if there is something in it */
};

enum { TABLES = sizeof(makers) / sizeof(makers[0]) };

/* Whose network is slow, as NCCL's proxies measured it. */
static void say_network(const struct gt_ranks *ranks, size_t columns)
{
	char text[64], rest[64];
	double ratio;
	size_t slowest;

	if (!gt_ranks_slow_sender(ranks, &slowest, &ratio))
		return;
	gt_key_of_place(&ranks->job->models[slowest], "", text, sizeof(text));
	snprintf(rest, sizeof(rest), "%.*f", ratio < 10 ? 1 : 0, ratio);
	gt_wrap_line(stdout, columns, 0,
		     "Network: a byte that %s sends waits %s times as long for the network as one "
		     "of the middle rank.",
		     text, rest);
}

/* Kernels of several processes take turns on a GPU, those that wait for each other, too. */
static void say_shared(const struct gt_ranks *ranks, size_t columns)
{
	struct gt_ranks_shared shared = gt_ranks_shared_gpu(ranks);
	char one[64], other[64], more[48] = "", gpus[48] = "";

	if (!shared.gpus)
		return;
	gt_key_of_place(&ranks->job->models[shared.one], "", one, sizeof(one));
	gt_key_of_place(&ranks->job->models[shared.other], "", other, sizeof(other));
	if (shared.count > 2)
		snprintf(more, sizeof(more), " (and %zu more)", shared.count - 2);
	if (shared.gpus > 1)
		snprintf(gpus, sizeof(gpus), ", and others on %zu more", shared.gpus - 1);
	gt_wrap_line(stdout, columns, 0,
		     "%s and %s%s run on one GPU (%s)%s: unless MPS runs them together, their "
		     "kernels take turns, and a collective waits for the turns of its members.",
		     one, other, more, shared.uuid, gpus);
}

/* The process that cost the others most, in a sentence. */
static void say_late(const struct gt_ranks *ranks, size_t columns)
{
	const struct gt_late *most = NULL;
	int64_t waited = 0;
	size_t which = 0;
	const char *cause;
	char cost[32], all[32], text[64];
	double share;

	for (size_t f = 0; f < ranks->lates.count; f++) {
		const struct gt_late *late = &ranks->lates.of[f];

		waited += late->waited;
		if (late->cost && (!most || late->cost > most->cost)) {
			most = late;
			which = f;
		}
	}
	if (!most) {
		puts("No rank came later than another.\n");
		return;
	}
	gt_key_of_place(&ranks->job->models[which], "", text, sizeof(text));
	cause = gt_ranks_cause(most->by, most->late, &share);
	gt_table_time((double)most->cost, cost, sizeof(cost));
	gt_table_time((double)waited, all, sizeof(all));
	gt_wrap_line(stdout, columns, 0,
		     "%s made the others wait %s, of %s in all; it came last to %lu of %lu "
		     "collectives.",
		     text, cost, all, (unsigned long)most->last, (unsigned long)most->count);
	if (cause)
		gt_wrap_line(stdout, columns, 0,
			     "Cause: %s (%.0f %% of the time that it made a rank late).", cause,
			     share);
	say_network(ranks, columns);
	say_shared(ranks, columns);
	putchar('\n');
}

/* Processes with collectives whose clocks nothing relates to the others'. */
static size_t count_unrelated(const struct gt_ranks *ranks)
{
	size_t count = 0;

	for (size_t f = 0; f < ranks->lates.count; f++)
		count += ranks->lates.of[f].count && ranks->job->clocks.of[f].error < 0;
	return count;
}

/* Why no collective was compared. */
static const char *why_none(const struct gt_rounds *rounds)
{
	if (rounds->impossible)
		return "no collective ended together on two ranks";
	return rounds->unclear ? "it is not clear which collectives of the ranks belong together"
			       : "no collective that two ranks have in common";
}

/* A rank none of whose processes shares a collective with another one. */
static void say_alone(const struct gt_ranks *ranks, size_t columns, FILE *out)
{
	const struct gt_model *models = ranks->job->models;
	size_t alone = 0, first = 0, end;
	char text[64], more[48] = "";

	for (size_t f = 0; f < ranks->lates.count; f = end) {
		size_t count = 0;

		for (end = f; end < ranks->lates.count && models[end].rank == models[f].rank; end++)
			count += ranks->lates.of[end].count;
		if (!count && !alone++)
			first = f;
	}
	if (!alone)
		return;
	gt_key_of_place(&models[first], "", text, sizeof(text));
	if (alone > 1)
		snprintf(more, sizeof(more), " (and %zu more)", alone - 1);
	gt_wrap_line(out, columns, 0,
		     ranks->rounds.unclear ? "%s%s has no collective that clearly is one of the "
					     "others: what it did is not compared."
					   : "%s%s has no collective in common with the others: "
					     "what it did is not compared.",
		     text, more);
}

static void say_repeated(const struct gt_ranks *ranks, size_t columns, FILE *out)
{
	const struct gt_rounds *rounds = &ranks->rounds;
	const char *path;

	if (!rounds->repeated)
		return;
	path = ranks->job->models[rounds->repeats].path;
	if (rounds->restarted)
		gt_wrap_line(out, columns, 0,
			     "%zu trace%s of ranks that were started once more, %s first: the last "
			     "start is compared. For an earlier one name its files.",
			     rounds->repeated, rounds->repeated == 1 ? " is" : "s are", path);
	else
		gt_wrap_line(out, columns, 0,
			     "%zu trace%s a rank that another one has too, %s first: of each "
			     "rank the first one with collectives is compared. Name the files of "
			     "one run or window.",
			     rounds->repeated, rounds->repeated == 1 ? " has" : "s have", path);
}

/* What could not be compared, or only by clocks that may be wrong. */
static void say_missing(const struct gt_ranks *ranks, size_t columns, FILE *out)
{
	const struct gt_rounds *rounds = &ranks->rounds;
	int64_t world = ranks->job->models[0].reading.header.world_size;
	char clocks[320];

	if (gt_ranks_unrelated(count_unrelated(ranks), clocks, sizeof(clocks)))
		gt_wrap_line(out, columns, 0, "%s", clocks);
	if (rounds->all.count)
		say_alone(ranks, columns, out);
	say_repeated(ranks, columns, out);
	if (world > (int64_t)ranks->job->count)
		gt_wrap_line(out, columns, 0,
			     "%zu of %ld ranks are here: what the others did is not known.",
			     ranks->job->count, (long)world);
	if (rounds->unmatched)
		gt_wrap_line(
			out, columns, 0,
			"%zu collective kernels have no counterpart on another rank, or it is not "
			"certain which, and are left out.",
			rounds->unmatched);
	if (rounds->impossible)
		gt_wrap_line(out, columns, 0,
			     "%zu collectives would have ended before a rank came: their clocks or "
			     "groups are not known well enough, and they are left out.",
			     rounds->impossible);
}

static int print(const struct gt_cmdline *args, const struct gt_ranks *ranks,
		 const struct gt_stats_parts *lines)
{
	struct gt_print how = gt_cmdline_print(args);
	struct gt_table tables[TABLES] = {0};
	bool to_people = how.format == GT_FORMAT_TABLE && !gt_cmdline_get(args, "output");
	size_t count = TABLES - !gt_ranks_sending(ranks);
	int rc = 0;

	how.top = (size_t)gt_cmdline_number(args, "top", how.format == GT_FORMAT_TABLE ? 15 : 0);
	for (size_t i = 0; !rc && i < count; i++)
		rc = makers[i](ranks, &tables[i]);
	for (size_t i = 0; !rc && how.top && how.format != GT_FORMAT_TABLE && i < count; i++)
		gt_table_cut(&tables[i], how.top);
	if (!rc && to_people && ranks->rounds.all.count)
		say_late(ranks, how.columns);
	if (!rc)
		rc = gt_cmdline_print_tables(args, tables, count, &how);
	if (!rc) {
		if (to_people)
			putchar('\n');
		if (!ranks->rounds.all.count)
			fprintf(stderr, "gputrace: %s: who was late is not known\n",
				why_none(&ranks->rounds));
		say_missing(ranks, how.columns, to_people ? stdout : stderr);
		gt_shares_losses(lines, &how);
	}
	for (size_t i = 0; i < count; i++)
		gt_table_fini(&tables[i]);
	return rc ? GT_EXIT_FAILED : GT_EXIT_OK;
}

static int compare(const struct gt_cmdline *args, const struct gt_job *job,
		   const struct gt_filter *filter, struct gt_rank_excerpt *excerpts,
		   struct gt_stats_parts *lines)
{
	struct gt_ranks ranks;
	int rc = excerpts ? gt_ranks_compare(job, excerpts, &ranks)
			  : gt_ranks_find(job, filter, &ranks);

	if (rc)
		rc = gt_shares_no_memory("the comparison of all ranks");
	else
		rc = print(args, &ranks, lines);
	gt_ranks_fini(&ranks);
	if (!gt_stats_parts_fact(lines, GT_STATS_PASSES))
		gt_cmdline_complain("--filter: nothing in the traces passes");
	return rc;
}

static int ask(const struct gt_cmdline *args, struct gt_stats_parts *lines,
	       const struct gt_filter *filter)
{
	const struct gt_stats_asked asked = {0};
	struct gt_rank_excerpt *excerpts = NULL;
	struct gt_job job = {0};
	bool prints;
	int rc = gt_shares_load(args, &job);

	if (job.count && gt_stats_parts_map(lines, &job, filter, asked))
		rc = gt_shares_no_memory("what these traces add up to");
	rc = gt_shares_reduce(args, &job, rc, lines->sets, 1, &prints);
	if (gt_shares_gather_ranks(args, filter, &job, &excerpts)) {
		rc = GT_EXIT_FAILED;
		prints = false;
	}
	if (prints)
		rc = compare(args, &job, filter, excerpts, lines) ? GT_EXIT_FAILED : rc;
	else
		gt_rank_excerpts_fini(excerpts, job.count);
	gt_job_fini(&job);
	return rc;
}

static int run_ranks(const struct gt_cmdline *args)
{
	struct gt_stats_parts lines = {0};
	struct gt_filter filter = {0};
	int rc = gt_cmdline_filter(args, &filter);

	if (!rc && gt_stats_parts_init(&lines))
		rc = GT_EXIT_FAILED;
	if (!rc)
		rc = gt_shares_start(args);
	if (!rc)
		rc = ask(args, &lines, &filter);
	gt_shares_end();
	gt_stats_parts_fini(&lines);
	gt_filter_fini(&filter);
	return rc;
}

static const struct gt_cmdline_spec spec = {
	.command = &gt_command_ranks,
	.details =
		"Compares the ranks of a job by the collectives that they have in common. The last "
		"rank to come makes the others wait; its cause is found from what it did since "
		"the collective before, against what the others did: its GPU took longer for as "
		"many operations, had more of them, or was idle while its host loaded data or did "
		"something else. Where an earlier collective had kept it, the blame is that "
		"collective's last rank's. A slow network shows where the same collective is "
		"faster among other ranks. The critical path goes from the last collective "
		"backwards, always "
		"on the rank that came last. Clocks of one machine are related exactly, those of "
		"others by when collectives ended; the table of clocks tells the error within "
		"which "
		"this holds. Transfer is the time after the last rank has come; bus GB/s is by the "
		"formulas of nccl-tests. docs/RANKS.md has the formulas.",
	.example = "# all ranks of a run\n"
		   "gputrace ranks gputrace-out/run\n"
		   "# the steps as csv\n"
		   "gputrace ranks --output=tables gputrace-out/run",
	.options = options,
	.min_inputs = 1,
	.max_inputs = SIZE_MAX,
	.takes_newest = true,
	.takes_stdin = true,
	.run = run_ranks,
};

static int run(int argc, char **argv)
{
	return gt_cmdline_main(&spec, argc, argv);
}

const struct gt_command gt_command_ranks = {
	.name = "ranks",
	.arguments = "[FILE|FOLDER...]",
	.help = "say which rank makes the others wait, and why",
	.run = run,
};

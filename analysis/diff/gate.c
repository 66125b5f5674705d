/* SPDX-License-Identifier: Apache-2.0
 *
 * See gate.h: regressions and doubts. One thread per comparison.
 */
#include "analysis/diff/gate.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/diff/notes.h"

#define MARGIN      4    /* gates that evidence must be able to show */
#define LEAST       0.10 /* and at least such a change */
#define HOST_SHARE  1.0  /* % of its table: idle time and CUDA calls that a gate looks at */
#define GONE_SHARE  1.0  /* % of the GPU time that may be gone */
#define FEWER_STEPS 2    /* times */
#define LEFT_OUT    5.0  /* % of the time that units that are left out may add */
#define SUSPICION   0.02 /* probability of both directions, of a row of the whole step */

double gt_gate_enough(double gate_percent)
{
	return fmax(LEAST, MARGIN * gate_percent / 100);
}

/* How much slower a row is at least by both of its estimates, longer recording or not, %. */
static double slower_by(const struct gt_diff_row *row)
{
	double change = row->whole.change;

	if (row->apart.is_known)
		change = fmin(change, row->apart.change);
	return expm1(change + fmin(row->longer, 0)) * 100;
}

/* What a share of a table is a share of: all its rows, or the time per step. */
static double total_of(const struct gt_judged *judged, int table)
{
	double total[2] = {0, 0};

	for (size_t i = 0; i < judged->rows.count; i++)
		for (int s = 0; s < 2; s++)
			total[s] += judged->rows.at[i].mean[s];
	if (table == GT_DIFF_OVERVIEW && judged->rows.count)
		return fmax(judged->rows.at[0].mean[0], judged->rows.at[0].mean[1]);
	return fmax(total[0], total[1]);
}

static double share_of(const struct gt_compared *c, int table)
{
	bool of_host = table == GT_DIFF_OVERVIEW || table == GT_DIFF_CALLS;

	return of_host ? fmax(HOST_SHARE, c->request->share) : c->request->share;
}

/* Whether the gate holds the row against B. */
static bool is_regression(const struct gt_compared *c, int table, const struct gt_diff_row *row,
			  double total)
{
	return row->verdict == GT_VERDICT_SLOWER && slower_by(row) > c->request->gate &&
	       fmax(row->mean[0], row->mean[1]) * 100 >= share_of(c, table) * total;
}

static void name_worst(const struct gt_compared *c, int table, const struct gt_diff_row *row,
		       char *out, size_t size)
{
	double change = row->mean[1] - row->mean[0];
	char name[512], was[64], is[64];

	gt_gate_name(c, table, row->row, name, sizeof(name));
	snprintf(out, size, "%.300s: %s -> %s (%+.1f %%)", name,
		 gt_table_time(row->mean[0], was, sizeof(was)),
		 gt_table_time(row->mean[1], is, sizeof(is)), change * 100 / row->mean[0]);
}

static double gpu_time(const struct gt_compared *c)
{
	return total_of(&c->judged[GT_DIFF_KERNELS], GT_DIFF_KERNELS);
}

/* Regressions of a table, and the worst of them in words, unless another table has told one. */
static void hold_table(const struct gt_compared *c, struct gt_diff *diff, int table)
{
	const struct gt_judged *judged = &c->judged[table];
	double total = table == GT_DIFF_ONLY ? gpu_time(c) : total_of(judged, table);
	const struct gt_diff_row *worst = NULL;

	for (size_t i = 0; i < judged->rows.count; i++) {
		const struct gt_diff_row *row = &judged->rows.at[i];

		if (!is_regression(c, table, row, total))
			continue;
		diff->regressions++;
		if (!worst || row->mean[1] - row->mean[0] > worst->mean[1] - worst->mean[0])
			worst = row;
	}
	if (worst && !*diff->worst)
		name_worst(c, table, worst, diff->worst, sizeof(diff->worst));
}

/* New work is slower by itself. */
static void hold_new(const struct gt_compared *c, struct gt_diff *diff)
{
	const struct gt_diff_row *row = c->judged[GT_DIFF_ONLY].rows.at;
	double part;
	char text[64];

	if (!c->judged[GT_DIFF_ONLY].rows.count || row->verdict != GT_VERDICT_NEW)
		return;
	part = row->mean[1] * 100 / gpu_time(c);
	if (!(part > fmax(c->request->gate, GONE_SHARE)))
		return;
	diff->regressions++;
	if (!*diff->worst)
		snprintf(diff->worst, sizeof(diff->worst),
			 "kernels that only B has: %s (%.1f %% of the GPU time)",
			 gt_table_time(row->mean[1], text, sizeof(text)), part);
}

/* Told is the most precise: a kernel before the step that it is in. Lines are for people: an edit
 * moves them, and what was at a number is elsewhere. */
static const int held[] = {GT_DIFF_RANKS, GT_DIFF_KERNELS, GT_DIFF_ONLY,
			   GT_DIFF_OPS,   GT_DIFF_CALLS,   GT_DIFF_OVERVIEW};

static void hold_rows(const struct gt_compared *c, struct gt_diff *diff)
{
	for (size_t i = 0; i < sizeof(held) / sizeof(held[0]); i++) {
		if (held[i] == GT_DIFF_ONLY)
			hold_new(c, diff);
		hold_table(c, diff, held[i]);
	}
}

/* Work that is gone was perhaps not done. */
static int doubt_gone(const struct gt_compared *c, struct gt_diff *diff)
{
	const struct gt_diff_row *row = c->judged[GT_DIFF_ONLY].rows.at;
	double total = gpu_time(c), gone;

	if (!c->judged[GT_DIFF_ONLY].rows.count || !(total > 0))
		return 0;
	gone = row->mean[0] * 100 / total;
	if (gone <= fmax(c->request->gate, GONE_SHARE) || row->mean[1] >= row->mean[0] / 4)
		return 0;
	return gt_diff_say(&diff->doubts,
			   "%.1f %% of A's GPU time is in kernels that B does not have (verdict "
			   "\"gone\")",
			   gone);
}

/* Ranks that only one side has. */
static int doubt_ranks(const struct gt_compared *c, struct gt_diff *diff)
{
	const struct gt_groups *groups = &c->rows[GT_DIFF_RANKS].groups;
	int rc = 0;

	for (size_t i = 0; !rc && i < groups->list.count; i++) {
		const struct gt_group *group = &groups->list.at[i];
		const char *name = gt_group_name(groups, group);

		if (!group->tag[0] != !group->tag[1])
			rc = gt_diff_say(&diff->doubts, "%.*s has no GPU work in %c",
					 (int)strcspn(name, ":"), name, group->tag[0] ? 'B' : 'A');
	}
	return rc;
}

/* Steps of the rank that has the fewest. */
static uint32_t fewest_steps(const struct gt_diff_side *side)
{
	uint32_t fewest = UINT32_MAX;

	for (size_t i = 0; i < side->ranks.count; i++)
		if (side->ranks.at[i].units && side->ranks.at[i].units < fewest)
			fewest = side->ranks.at[i].units;
	return fewest;
}

static int doubt_steps(const struct gt_compared *c, struct gt_diff *diff)
{
	uint32_t a = fewest_steps(&c->sides.side[0]), b = fewest_steps(&c->sides.side[1]);

	if (c->sides.has_steps[0] != c->sides.has_steps[1])
		return gt_diff_say(&diff->doubts, "%c has steps (ProfilerStep#N), %c has none",
				   c->sides.has_steps[0] ? 'A' : 'B',
				   c->sides.has_steps[0] ? 'B' : 'A');
	if (c->sides.stepped && (uint64_t)b * FEWER_STEPS < a)
		return gt_diff_say(&diff->doubts, "A has %u steps a rank, B only %u", a, b);
	return 0;
}

/* Kernels that are not as much more often as most are: was there more work, or less of these? */
static int doubt_length(const struct gt_compared *c, struct gt_diff *diff)
{
	const struct gt_judged *kernels = &c->judged[GT_DIFF_KERNELS];
	const struct gt_diff_row *worst = NULL;
	double sum = 0, total = gpu_time(c), ops[2], ns;
	char name[512];

	for (size_t i = 0; i < kernels->rows.count; i++) {
		const struct gt_diff_row *row = &kernels->rows.at[i];

		if (gt_judge_is_plain(row))
			continue;
		sum += fmax(row->mean[0], row->mean[1]);
		if (!worst || row->mean[0] > worst->mean[0])
			worst = row;
	}
	if (!worst || sum * 100 <= fmax(c->request->gate, GONE_SHARE) * total)
		return 0;
	for (int s = 0; s < 2; s++)
		ops[s] = gt_diff_ops_of_rank(&c->sides, &c->rows[GT_DIFF_KERNELS], worst->row, s,
					     &ns);
	gt_gate_name(c, GT_DIFF_KERNELS, worst->row, name, sizeof(name));
	return gt_diff_say(
		&diff->doubts,
		"B has %.2f times as many operations of most kernels, but %.0f of %.300s "
		"where A has %.0f: which of them its work follows takes steps "
		"(ProfilerStep#N) to tell",
		c->sides.longer, ops[1], name, ops[0]);
}

/* One time a side, of which no noise is known. */
static int doubt_elapsed(const struct gt_compared *c, struct gt_diff *diff)
{
	const struct gt_judged *overview = &c->judged[GT_DIFF_OVERVIEW];
	const struct gt_diff_row *row = overview->rows.at;
	double change;

	if (c->sides.stepped || !overview->rows.count || row->whole.is_known || !(row->mean[0] > 0))
		return 0;
	change = (row->mean[1] / row->mean[0] - 1) * 100;
	if (change <= c->request->gate)
		return 0;
	return gt_diff_say(
		&diff->doubts,
		"perhaps slower: the time from first to last GPU operation, %+.1f %%; its "
		"noise is not known from one recording a side without steps",
		change);
}

/* What the units that are left out cost of all units' time, above the others, %. */
static double cost_of_left_out(const struct gt_diff_side *side, size_t *ret_count)
{
	double cost = 0;

	*ret_count = 0;
	for (size_t i = 0; i < side->units.count; i++) {
		if (side->units.at[i].out == GT_UNIT_KEPT)
			continue;
		cost += side->units.at[i].factor - 1;
		++*ret_count;
	}
	return side->units.count ? cost * 100 / (double)side->units.count : 0;
}

/* One slow step is a disturbance; several that A has not are perhaps the change. */
static int doubt_left_out(const struct gt_compared *c, struct gt_diff *diff)
{
	size_t a, b;
	double more =
		-cost_of_left_out(&c->sides.side[0], &a) + cost_of_left_out(&c->sides.side[1], &b);

	if (b < a + 2 || more <= fmax(c->request->gate, LEFT_OUT))
		return 0;
	return gt_diff_say(&diff->doubts,
			   "%zu %s left out of B, %zu of A: without them B's kernels take %.1f %% "
			   "less time than with them",
			   b, c->sides.stepped ? "steps are" : "parts of the trace are", a, more);
}

/* Undecided, although all of its interval is above the gate: of the rows of a step as a whole, of
 * which there are few, that is enough; of the many others, chance makes some so, and the change
 * must be one that the evidence was said to show. */
static bool is_suspect(const struct gt_compared *c, int table, const struct gt_diff_row *row,
		       double total, double could)
{
	bool stands_out =
		table == GT_DIFF_OVERVIEW ? row->p <= SUSPICION : slower_by(row) > could * 100;
	double low, high;

	return stands_out && row->verdict == GT_VERDICT_UNSURE &&
	       gt_judge_interval(row, &low, &high) && low * 100 > c->request->gate &&
	       fmax(row->mean[0], row->mean[1]) * 100 >= share_of(c, table) * total;
}

static int say_suspects(const struct gt_compared *c, struct gt_diff *diff, int table,
			const struct gt_diff_row *worst, size_t others)
{
	char name[512], more[64] = "", interval[64] = "not bounded";
	double low, high;

	gt_gate_name(c, table, worst->row, name, sizeof(name));
	if (gt_judge_interval(worst, &low, &high) && gt_judge_is_bounded(low, high))
		snprintf(interval, sizeof(interval), "%+.1f..%+.1f %%", low * 100, high * 100);
	if (others)
		snprintf(more, sizeof(more), ", and %zu more", others);
	return gt_diff_say(
		&diff->doubts,
		"perhaps slower, which takes more steps or runs to tell: %.300s %+.1f %% "
		"(95 %% interval %s)%s",
		name, expm1(worst->whole.change) * 100, interval, more);
}

/* Of each table the row that may have lost the most time. */
static int doubt_undecided(const struct gt_compared *c, struct gt_diff *diff)
{
	double could = gt_diff_could_show(&c->judged[GT_DIFF_KERNELS]);
	int rc = 0;

	for (size_t i = 0; !rc && i < sizeof(held) / sizeof(held[0]); i++) {
		const struct gt_judged *judged = &c->judged[held[i]];
		double total = held[i] == GT_DIFF_ONLY ? gpu_time(c) : total_of(judged, held[i]);
		const struct gt_diff_row *worst = NULL;
		size_t found = 0;

		for (size_t k = 0; k < judged->rows.count; k++) {
			const struct gt_diff_row *row = &judged->rows.at[k];

			if (!is_suspect(c, held[i], row, total, could))
				continue;
			found++;
			if (!worst || row->mean[1] - row->mean[0] > worst->mean[1] - worst->mean[0])
				worst = row;
		}
		if (worst)
			rc = say_suspects(c, diff, held[i], worst, found - 1);
	}
	return rc;
}

/* Whether the evidence could have shown what is asked for. */
static int doubt_evidence(const struct gt_compared *c, struct gt_diff *diff)
{
	double could = gt_diff_could_show(&c->judged[GT_DIFF_KERNELS]);
	double enough = gt_gate_enough(c->request->gate);
	char change[64];

	if (could <= enough || diff->doubts.list.count)
		return 0;
	if (!isfinite(could))
		return gt_diff_say(
			&diff->doubts,
			"the evidence is too thin: the noise is not known, it takes two steps "
			"(ProfilerStep#N) or several runs on both sides");
	if (!gt_judge_could_show(could))
		snprintf(change, sizeof(change), "even a tenfold time of a kernel");
	else
		snprintf(change, sizeof(change), "changes of a kernel below %.1f %%", could * 100);
	return gt_diff_say(&diff->doubts,
			   "the evidence is too thin: %s would not have been found; a gate of "
			   "%g %% takes %.0f %%, so more steps or runs",
			   change, c->request->gate, enough * 100);
}

static bool has_whole_graphs(const struct gt_diff_side *side)
{
	for (size_t i = 0; i < side->ranks.count; i++) {
		const struct gt_model *model = side->ranks.at[i].model;

		for (size_t k = 0; k < model->ops.count; k++)
			if (gt_model_op_traits(model, k)->kind == GT_OP_GRAPH)
				return true;
	}
	return false;
}

int gt_gate_hold(const struct gt_compared *compared, struct gt_diff *diff)
{
	bool whole[2];
	int rc = 0;

	if (compared->request->gate < 0)
		return 0;
	for (int s = 0; s < 2; s++)
		if (!compared->sides.side[s].op_count)
			return gt_diff_say(&diff->doubts, "%c has no GPU work", 'A' + s);
	for (int s = 0; s < 2; s++)
		whole[s] = has_whole_graphs(&compared->sides.side[s]);
	if (whole[0] != whole[1])
		return gt_diff_say(&diff->doubts,
				   "%c has the launches of graphs (--graphs=whole), %c their nodes",
				   whole[0] ? 'A' : 'B', whole[0] ? 'B' : 'A');
	hold_rows(compared, diff);
	rc = doubt_gone(compared, diff);
	if (!rc)
		rc = doubt_ranks(compared, diff);
	if (!rc)
		rc = doubt_steps(compared, diff);
	if (!rc)
		rc = doubt_length(compared, diff);
	if (!rc)
		rc = doubt_elapsed(compared, diff);
	if (!rc)
		rc = doubt_left_out(compared, diff);
	if (!rc)
		rc = doubt_undecided(compared, diff);
	if (!rc)
		rc = doubt_evidence(compared, diff);
	return rc;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * See notes.h. One thread per comparison.
 */
#include "analysis/diff/notes.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/frame.h"
#include "trace/health.h"
#include "trace/job_twins.h"

#define MOST_LINES        10 /* of one kind */
#define CLOCKS_DIFFER     0.02
#define THROTTLED_DIFFERS 0.05

int gt_diff_say(struct gt_diff_lines *lines, const char *format, ...)
{
	va_list list;
	char *text;
	int length;

	va_start(list, format);
	length = vasprintf(&text, format, list);
	va_end(list);
	if (length < 0)
		return -ENOMEM;
	if (gt_vec_push(&lines->list, text))
		return 0;
	free(text);
	return -ENOMEM;
}

static int by_could(const void *a, const void *b)
{
	const struct gt_diff_row *x = *(const struct gt_diff_row *const *)a;
	const struct gt_diff_row *y = *(const struct gt_diff_row *const *)b;

	return x->could < y->could ? -1 : x->could > y->could;
}

double gt_diff_could_show(const struct gt_judged *judged)
{
	const struct gt_diff_row **rows = calloc(judged->rows.count + 1, sizeof(*rows));
	double total = 0, sum = 0, could = INFINITY;
	size_t n = 0;

	for (size_t i = 0; rows && i < judged->rows.count; i++) {
		const struct gt_diff_row *row = &judged->rows.at[i];

		if (row->verdict == GT_VERDICT_NEW || row->verdict == GT_VERDICT_GONE)
			continue;
		rows[n++] = row;
		total += row->mean[0];
	}
	if (n)
		qsort(rows, n, sizeof(*rows), by_could);
	for (size_t i = 0; i < n && isinf(could); i++) {
		sum += rows[i]->mean[0];
		if (sum >= total / 2)
			could = rows[i]->could;
	}
	free(rows);
	return could;
}

/* Of those that take part in the comparison. A job's models are in the order of their ranks. */
static void count_run(const struct gt_diff_side *side, uint32_t run, size_t *ret_ranks,
		      size_t *ret_processes)
{
	const struct gt_model *last = NULL;

	*ret_ranks = *ret_processes = 0;
	for (size_t i = 0; i < side->ranks.count; i++) {
		const struct gt_diff_rank *rank = &side->ranks.at[i];

		if (rank->run != run || !rank->units)
			continue;
		*ret_ranks += !last || last->rank != rank->model->rank;
		*ret_processes += !last || last->rank != rank->model->rank || last->pid < 0 ||
				  last->pid != rank->model->pid;
		last = rank->model;
	}
}

static const char *plural(size_t n)
{
	return n == 1 ? "" : "s";
}

/* "3 runs, 8 ranks, 30 steps"; "2 processes, 10 steps" of one rank */
static void describe_side(const struct gt_compared *c, int s, char *out, size_t size)
{
	const struct gt_diff_side *side = &c->sides.side[s];
	size_t ranks, processes, n = 0, units = side->units.count;
	char words[80];

	*out = 0;
	count_run(side, 0, &ranks, &processes);
	gt_job_words(ranks, processes, words, sizeof(words));
	if (side->runs > 1)
		n += (size_t)snprintf(out + n, size - n, "%zu runs, ", side->runs);
	if (*words)
		n += (size_t)snprintf(out + n, size - n, "%s, ", words);
	if (c->sides.stepped)
		snprintf(out + n, size - n, "%zu step%s", units, plural(units));
	else
		snprintf(out + n, size - n, "%zu trace%s", side->ranks.count,
			 plural(side->ranks.count));
}

static int tell_noise(const struct gt_compared *c, struct gt_diff *diff)
{
	const struct gt_judged *kernels = &c->judged[GT_DIFF_KERNELS];
	const char *unit = c->sides.stepped ? "step to step" : "part to part of the trace";
	double between = kernels->between_units * 100;

	if (!isfinite(gt_diff_could_show(kernels)))
		return gt_diff_say(&diff->notes,
				   "The noise is not known: it takes two steps (ProfilerStep#N) on "
				   "both sides, or several runs.");
	if (c->sides.side[0].runs > 1 || c->sides.side[1].runs > 1)
		return gt_diff_say(&diff->notes,
				   "Noise of a kernel: %.1f %% from %s, %.1f %% from run to run; "
				   "means of runs "
				   "are compared.",
				   between, unit, kernels->between_runs * 100);
	if (gt_diff_say(&diff->notes,
			"Noise of a kernel: %.1f %% from %s; from run to run not known (one run a "
			"side).",
			between, unit))
		return -ENOMEM;
	return gt_diff_say(&diff->notes, "A change may be one of these runs alone. To know: "
					 "gputrace diff A1 A2 -- B1 B2");
}

/* A side whose steps the filter leaves out is compared as if it had none. */
static int tell_no_steps(const struct gt_compared *c, struct gt_diff *diff)
{
	int rc = 0;

	for (int s = 0; !rc && s < 2; s++)
		if (c->sides.lost_steps[s])
			rc = gt_diff_say(&diff->notes,
					 "--filter leaves no step of %c: what is compared are no "
					 "steps.",
					 'A' + s);
	return rc;
}

static int tell_length(const struct gt_compared *c, struct gt_diff *diff)
{
	double longer = c->sides.longer;

	if (c->sides.stepped || fabs(longer - 1) < GT_DIFF_LENGTHS)
		return 0;
	return gt_diff_say(&diff->notes,
			   "B has %.2f times as many operations as A (median of the kernels): its "
			   "times are those for A's work.",
			   longer);
}

static int tell_could(const struct gt_compared *c, struct gt_diff *diff)
{
	const struct gt_judged *overview = &c->judged[GT_DIFF_OVERVIEW];
	double kernel = gt_diff_could_show(&c->judged[GT_DIFF_KERNELS]);
	double whole = overview->rows.count ? overview->rows.at[0].could : INFINITY;
	char step[96];

	if (!isfinite(kernel))
		return 0;
	if (!c->sides.stepped || c->sides.is_chosen)
		snprintf(step, sizeof(step), "%s", "");
	else if (whole <= 1)
		snprintf(step, sizeof(step), ", of %.1f %% in the time per step", whole * 100);
	else
		snprintf(step, sizeof(step), ", not even a doubling of the time per step");
	if (!gt_judge_could_show(kernel))
		return gt_diff_say(&diff->notes, "Could have shown not even a tenfold time of the "
						 "kernels that make up half of the GPU time: too "
						 "few steps or runs.");
	return gt_diff_say(&diff->notes,
			   "Could have shown changes of %.1f %% or more in the kernels that make "
			   "up half of the GPU time%s.",
			   kernel * 100, step);
}

/* The mean SM clock of a side's GPUs over the time that they were read, MHz; 0: not known. */
static double clock_of(const struct gt_diff_side *side)
{
	double sum = 0, ns = 0;

	for (size_t i = 0; i < side->ranks.count; i++) {
		const struct gt_model *model = side->ranks.at[i].model;

		for (size_t d = 0; d < model->devices.count; d++) {
			struct gt_health_span span = gt_health_over_time(
				model, model->devices.at[d].device, GT_HEALTH_CLOCK_SM);

			sum += span.mean * (double)span.ns;
			ns += (double)span.ns;
		}
	}
	return ns > 0 ? sum / ns : 0;
}

static int tell_clocks(const struct gt_compared *c, struct gt_diff *diff)
{
	double a = clock_of(&c->sides.side[0]), b = clock_of(&c->sides.side[1]);

	if (!(a > 0) || !(b > 0) || fabs(b / a - 1) < CLOCKS_DIFFER)
		return 0;
	return gt_diff_say(&diff->notes,
			   "The SM clock was %.0f MHz on average in A, %.0f MHz in B (%+.1f %%): a "
			   "change of kernels may be no more than that.",
			   a, b, (b / a - 1) * 100);
}

/* For which part of the time a reason kept the clocks of a side's GPUs down. */
static double throttled_of(const struct gt_diff_side *side, enum gt_health_reading reason)
{
	double sum = 0, ns = 0;

	for (size_t i = 0; i < side->ranks.count; i++) {
		const struct gt_model *model = side->ranks.at[i].model;

		for (size_t d = 0; d < model->devices.count; d++) {
			struct gt_health_span span =
				gt_health_over_time(model, model->devices.at[d].device, reason);

			sum += span.mean * (double)span.ns;
			ns += (double)span.ns;
		}
	}
	return ns > 0 ? sum / ns : 0;
}

static int tell_throttled(const struct gt_compared *c, struct gt_diff *diff)
{
	int rc = 0;

	for (int r = GT_HEALTH_THROTTLED_FIRST; !rc && r <= GT_HEALTH_THROTTLED_LAST; r++) {
		double a = throttled_of(&c->sides.side[0], (enum gt_health_reading)r);
		double b = throttled_of(&c->sides.side[1], (enum gt_health_reading)r);

		if (fabs(b - a) >= THROTTLED_DIFFERS)
			rc = gt_diff_say(&diff->notes,
					 "Throttled by %s for %.0f %% of the time in A, %.0f %% in "
					 "B: a cause of a change of kernels.",
					 gt_health_names[r].series, a * 100, b * 100);
	}
	return rc;
}

static int tell_unit(const struct gt_compared *c, int s, const struct gt_unit *unit,
		     struct gt_diff *diff)
{
	const char *what = unit->out == GT_UNIT_WARM_UP ? "warm-up" : "an outlier";
	char run[32] = "", place[128];

	if (c->sides.side[s].runs > 1)
		snprintf(run, sizeof(run), " of run %u", unit->run + 1);
	if (unit->name)
		snprintf(place, sizeof(place), "%s", unit->name);
	else
		snprintf(place, sizeof(place), "part %u of %d", unit->index + 1, GT_DIFF_BLOCKS);
	return gt_diff_say(&diff->notes, "Left out of %c: %s%s, %s (kernels took x%.2f)", 'A' + s,
			   place, run, what, unit->factor);
}

static int tell_left_out(const struct gt_compared *c, struct gt_diff *diff)
{
	size_t told = 0, values = 0;
	int rc = 0;

	for (int s = 0; s < 2; s++)
		for (size_t i = 0; !rc && i < c->sides.side[s].units.count; i++) {
			const struct gt_unit *unit = &c->sides.side[s].units.at[i];

			if (unit->out != GT_UNIT_KEPT && ++told <= MOST_LINES)
				rc = tell_unit(c, s, unit, diff);
		}
	if (!rc && told > MOST_LINES)
		rc = gt_diff_say(&diff->notes, "... and %zu more left out", told - MOST_LINES);
	for (size_t i = 0; i < c->judged[GT_DIFF_KERNELS].rows.count; i++)
		for (int s = 0; s < 2; s++)
			values += c->judged[GT_DIFF_KERNELS].rows.at[i].side[s].left_out;
	if (!rc && values)
		rc = gt_diff_say(&diff->notes,
				 "Left out of single kernels: %zu outlier%s (column Left Out of "
				 "--format=csv)",
				 values, plural(values));
	return rc;
}

static int tell_matches(const struct gt_compared *c, struct gt_diff *diff)
{
	const struct gt_groups *groups = &c->rows[GT_DIFF_KERNELS].groups;
	size_t count = c->matches[GT_DIFF_KERNELS].list.count;
	int rc = 0;

	for (size_t i = 0; !rc && i < count && i < MOST_LINES; i++) {
		const struct gt_diff_match *match = &c->matches[GT_DIFF_KERNELS].list.at[i];
		char a[256], b[256];

		gt_frame_shorten_less(gt_group_name(groups, &groups->list.at[match->a]), 80, a,
				      sizeof(a));
		gt_frame_shorten_less(gt_group_name(groups, &groups->list.at[match->b]), 80, b,
				      sizeof(b));
		if (match->more_a || match->more_b)
			rc = gt_diff_say(&diff->notes,
					 "Matched: %u kernels of A with %u of B, %s: %s",
					 match->more_a + 1, match->more_b + 1, match->how, a);
		else
			rc = gt_diff_say(&diff->notes, "Matched: %s is %s of A (%s)", b, a,
					 match->how);
	}
	if (!rc && count > MOST_LINES)
		rc = gt_diff_say(&diff->notes, "... and %zu more matched", count - MOST_LINES);
	return rc;
}

int gt_gate_describe(const struct gt_compared *compared, struct gt_diff *diff)
{
	int rc;

	for (int s = 0; s < 2; s++)
		describe_side(compared, s, diff->extent[s], sizeof(diff->extent[s]));
	rc = tell_no_steps(compared, diff);
	if (!rc)
		rc = tell_noise(compared, diff);
	if (!rc)
		rc = tell_length(compared, diff);
	if (!rc)
		rc = tell_could(compared, diff);
	if (!rc)
		rc = tell_clocks(compared, diff);
	if (!rc)
		rc = tell_throttled(compared, diff);
	if (!rc)
		rc = tell_left_out(compared, diff);
	if (!rc)
		rc = tell_matches(compared, diff);
	return rc;
}

void gt_gate_name(const struct gt_compared *compared, int table, uint32_t row, char *out,
		  size_t size)
{
	const struct gt_groups *groups = &compared->rows[table].groups;
	const struct gt_diff_match *match =
		table < GT_DIFF_COUNT_ ? gt_diff_match_of(&compared->matches[table], row) : NULL;

	if (!match)
		snprintf(out, size, "%s", gt_group_name(groups, &groups->list.at[row]));
	else if (match->more_a || match->more_b)
		snprintf(out, size, "%s (%u in A, %u in B)",
			 gt_group_name(groups, &groups->list.at[match->b]), match->more_a + 1,
			 match->more_b + 1);
	else
		snprintf(out, size, "%s", gt_group_name(groups, &groups->list.at[match->b]));
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * See late.h. The members of a collective leave it together, so what they do from there to the next
 * one can be compared.
 */
#include "analysis/ranks/late.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/meetings.h"

const char *const gt_late_names[GT_LATE_COUNT_] = {
	[GT_LATE_GPU] = "slower GPU",    [GT_LATE_WORK] = "more GPU work",
	[GT_LATE_DATA] = "loading data", [GT_LATE_HOST] = "host",
	[GT_LATE_NETWORK] = "network",
};

#define MOST 1024 /* members that one is compared with */

static int by_number(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* A part of a stretch, also where a message of another process says more. */
static int64_t within(uint64_t part, const struct gt_late_stretch *stretch)
{
	uint64_t length = (uint64_t)stretch->to - (uint64_t)stretch->from;

	return (int64_t)(part < length ? part : length);
}

/* From the end of the collective before, unless that overlaps this one. */
static struct gt_late_stretch stretch_of(const struct gt_op *before,
					 const struct gt_rank_mark *left, const struct gt_op *op,
					 const struct gt_rank_mark *came)
{
	struct gt_late_stretch stretch = {
		.from = before->start + before->dur, .to = op->start, .is_known = true};

	if (stretch.from > stretch.to)
		return (struct gt_late_stretch){.from = op->start, .to = op->start};
	stretch.busy = within(came->busy - left->busy, &stretch);
	stretch.data = within(came->data - left->data, &stretch);
	stretch.ops = came->ops - left->ops <= UINT32_MAX ? came->ops - left->ops : 0;
	return stretch;
}

/* A member of a process and its round, to be put in order of time. */
struct visit {
	int64_t start;
	size_t member, round;
};

static int by_start(const void *a, const void *b)
{
	const struct visit *x = a, *y = b;

	return x->start != y->start ? (x->start > y->start) - (x->start < y->start)
				    : (x->member > y->member) - (x->member < y->member);
}

static void add_stretches(const struct gt_model *model, const struct gt_rank_excerpt *excerpt,
			  const struct gt_rounds *rounds, struct visit *visits, size_t count,
			  struct gt_lates *lates)
{
	qsort(visits, count, sizeof(*visits), by_start);
	for (size_t i = 0; i < count; i++) {
		size_t member = visits[i].member;
		uint32_t number = rounds->members.at[member].op, last;
		struct gt_op op = gt_meeting_op(model, number), before;

		if (!i) {
			lates->stretch[member].from = lates->stretch[member].to = op.start;
			continue;
		}
		last = rounds->members.at[visits[i - 1].member].op;
		lates->before[member] = visits[i - 1].round + 1;
		before = gt_meeting_op(model, last);
		lates->stretch[member] =
			stretch_of(&before, &gt_rank_meeting_of(excerpt, last)->left, &op,
				   &gt_rank_meeting_of(excerpt, number)->came);
	}
}

static int stretch_all(const struct gt_job *job, const struct gt_rank_excerpt *excerpts,
		       const struct gt_rounds *rounds, struct gt_lates *lates)
{
	struct visit *visits = calloc(rounds->members.count + 1, sizeof(*visits));
	size_t *place = calloc(job->count + 2, sizeof(*place));
	int rc = visits && place ? 0 : -ENOMEM;

	for (size_t i = 0; !rc && i < rounds->all.count; i++)
		for (uint32_t k = 0; k < rounds->all.at[i].count; k++)
			place[rounds->members.at[rounds->all.at[i].first + k].model + 1]++;
	for (size_t f = 0; !rc && f < job->count; f++)
		place[f + 1] += place[f];
	for (size_t i = 0; !rc && i < rounds->all.count; i++)
		for (uint32_t k = 0; k < rounds->all.at[i].count; k++) {
			size_t member = rounds->all.at[i].first + k;
			const struct gt_round_member *m = &rounds->members.at[member];

			visits[place[m->model]++] = (struct visit){m->start, member, i};
		}
	for (size_t f = 0; !rc && f < job->count; f++) {
		size_t first = f ? place[f - 1] : 0;

		if (place[f] > first)
			add_stretches(&job->models[f], &excerpts[f], rounds, &visits[first],
				      place[f] - first, lates);
	}
	free(visits);
	free(place);
	return rc;
}

/* The middle one of what @number is for the members but the last one. */
static int64_t middle(const struct gt_rounds *rounds, const struct gt_lates *lates,
		      const struct gt_round *round,
		      int64_t (*number)(const struct gt_round_member *member,
					const struct gt_late_stretch *stretch))
{
	int64_t values[MOST];
	size_t n = 0;

	for (uint32_t i = 0; i < round->count && n < MOST; i++)
		if (i != round->last)
			values[n++] = number(&rounds->members.at[round->first + i],
					     &lates->stretch[round->first + i]);
	qsort(values, n, sizeof(*values), by_number);
	return n % 2 ? values[n / 2] : values[n / 2 - 1] + (values[n / 2] - values[n / 2 - 1]) / 2;
}

static int64_t number_start(const struct gt_round_member *member, const struct gt_late_stretch *s)
{
	(void)s;
	return member->start;
}

/* When its collective before ended, by the clock of the job. */
static int64_t number_begin(const struct gt_round_member *member, const struct gt_late_stretch *s)
{
	return member->start - (s->to - s->from);
}

static int64_t number_busy(const struct gt_round_member *member, const struct gt_late_stretch *s)
{
	(void)member;
	return s->busy;
}

static int64_t number_idle(const struct gt_round_member *member, const struct gt_late_stretch *s)
{
	(void)member;
	return s->to - s->from - s->busy;
}

static int64_t number_data(const struct gt_round_member *member, const struct gt_late_stretch *s)
{
	(void)member;
	return s->data;
}

static int64_t number_ops(const struct gt_round_member *member, const struct gt_late_stretch *s)
{
	(void)member;
	return (int64_t)s->ops;
}

static int64_t between(int64_t value, int64_t low, int64_t high)
{
	return value < low ? low : value > high ? high : value;
}

int64_t gt_late_of(const struct gt_rounds *rounds, const struct gt_lates *lates,
		   const struct gt_round *round, int64_t ret_by[GT_LATE_COUNT_],
		   int64_t *ret_inherited)
{
	const struct gt_round_member *last = &rounds->members.at[round->first + round->last];
	const struct gt_late_stretch *s = &lates->stretch[round->first + round->last];
	int64_t late = round->arrived - middle(rounds, lates, round, number_start);
	int64_t busy = s->busy - middle(rounds, lates, round, number_busy);
	int64_t idle = s->to - s->from - s->busy - middle(rounds, lates, round, number_idle);
	int64_t data = s->data - middle(rounds, lates, round, number_data);
	int64_t ops = (int64_t)s->ops - middle(rounds, lates, round, number_ops);
	int64_t begin = number_begin(last, s) - middle(rounds, lates, round, number_begin);
	int64_t work;

	*ret_inherited = 0;
	memset(ret_by, 0, GT_LATE_COUNT_ * sizeof(*ret_by));
	if (!s->is_known)
		return late;
	busy = between(busy, 0, late);
	idle = between(idle, 0, late - busy);
	data = between(data, 0, idle);
	work = ops > 0 ? (int64_t)((double)s->busy * (double)ops / (double)s->ops) : 0;
	work = between(work, 0, busy);
	ret_by[GT_LATE_GPU] = busy - work;
	ret_by[GT_LATE_WORK] = work;
	ret_by[GT_LATE_DATA] = data;
	ret_by[GT_LATE_HOST] = idle - data;
	*ret_inherited = between(begin, 0, late - busy - idle);
	return late;
}

/* Where the way to a member came from: of its process's round before the one that it waited for
 * there; itself where it had left before that one came, as the root of a broadcast. So the way only
 * goes back in time, also where a round before ended later for others. */
static size_t member_before(const struct gt_rounds *rounds, const struct gt_lates *lates,
			    size_t member)
{
	const struct gt_round_member *members = rounds->members.at;
	const struct gt_round *round = &rounds->all.at[lates->before[member] - 1];
	size_t own = round->first;

	while (members[own].model != members[member].model)
		own++;
	if (round->arrived < members[member].start &&
	    (round->is_together || round->arrived <= members[own].end))
		return round->first + round->last;
	return own;
}

/* From the end of the job backwards: what the last one to come did since its collective before. */
static void walk_path(const struct gt_rounds *rounds, struct gt_lates *lates)
{
	size_t at = rounds->all.count;
	size_t member = at ? rounds->all.at[at - 1].first + rounds->all.at[at - 1].last : 0;

	while (at) {
		const struct gt_late_stretch *stretch = &lates->stretch[member];
		struct gt_late *late = &lates->of[rounds->members.at[member].model];

		late->path += stretch->to - stretch->from;
		late->path_busy += stretch->busy;
		at = lates->before[member];
		member = at ? member_before(rounds, lates, member) : 0;
	}
}

int gt_lates_find(const struct gt_job *job, const struct gt_rank_excerpt *excerpts,
		  const struct gt_rounds *rounds, struct gt_lates *ret_lates)
{
	struct gt_lates *l = ret_lates;
	int rc;

	*l = (struct gt_lates){.count = job->count};
	l->of = calloc(job->count + 1, sizeof(*l->of));
	l->stretch = calloc(rounds->members.count + 1, sizeof(*l->stretch));
	l->before = calloc(rounds->members.count + 1, sizeof(*l->before));
	rc = l->of && l->stretch && l->before ? stretch_all(job, excerpts, rounds, l) : -ENOMEM;
	if (!rc)
		rc = gt_network_find(job, rounds, &l->network);
	if (!rc)
		rc = gt_lates_blame(rounds, l);
	if (!rc)
		walk_path(rounds, l);
	return rc;
}

void gt_lates_fini(struct gt_lates *lates)
{
	free(lates->of);
	free(lates->stretch);
	free(lates->before);
	gt_network_fini(&lates->network);
	gt_vec_free(&lates->blames);
	*lates = (struct gt_lates){0};
}

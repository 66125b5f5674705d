/* SPDX-License-Identifier: Apache-2.0
 *
 * See meetings.h.
 */
#include "trace/meetings.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/hash.h"
#include "trace/communication.h"

#define BESIDE   8    /* places beyond the difference of the two counts that are tried */
#define MOST     256  /* places to either side */
#define ENOUGH   2048 /* pairs that the whole is judged by */
#define RUN      32   /* pairs in a row that a place is judged by */
#define RUNS     16   /* of them are tried, as some have a loss */
#define FEW      8    /* pairs: too few to judge by */
#define CLEARLY  3.0  /* times better than the next best place */
#define SMOOTH   4    /* a pair's part in where the next one is looked for */
#define TOGETHER GT_MEETINGS_TOGETHER
#define DRIFT    GT_MEETINGS_DRIFT
#define STAMPS   1000 /* ns: moments that are the same may be stamped so far apart */
#define BROKEN   20   /* at most 1 of 20 pairs may end before its other member has begun */

struct pairing {
	const struct gt_meetings *a, *b;
	struct gt_clock_point *points; /* room for all of the smaller side */
	double *spare;
	struct gt_met_pairs *pairs;
};

/* What both have of one key: places in by_key. */
struct common {
	const uint32_t *a, *b;
	size_t count_a, count_b;
};

static uint64_t key_at(const struct gt_meetings *meetings, const uint32_t *at)
{
	return meetings->all.at[*at].key;
}

static size_t run_of(const struct gt_meetings *meetings, const uint32_t *from)
{
	const uint32_t *end = meetings->by_key + meetings->all.count, *at = from;

	while (at < end && key_at(meetings, at) == key_at(meetings, from))
		at++;
	return (size_t)(at - from);
}

/* The next key that both have; false: none. */
static bool next_common(const struct pairing *p, struct common *at)
{
	const uint32_t *end_a = p->a->by_key + p->a->all.count;
	const uint32_t *end_b = p->b->by_key + p->b->all.count;

	at->a += at->count_a;
	at->b += at->count_b;
	while (at->a < end_a && at->b < end_b) {
		at->count_a = run_of(p->a, at->a);
		at->count_b = run_of(p->b, at->b);
		if (key_at(p->a, at->a) == key_at(p->b, at->b))
			return true;
		if (key_at(p->a, at->a) < key_at(p->b, at->b))
			at->a += at->count_a;
		else
			at->b += at->count_b;
	}
	return false;
}

static struct gt_clock_point point_of(const struct pairing *p, uint32_t a, uint32_t b)
{
	int64_t end = p->b->all.at[b].end;

	return (struct gt_clock_point){end, p->a->all.at[a].end - end};
}

/* How far @count pairs from a[i] and b[j] on lie off a line, the middle one of them; -1: it is no
 * line of two clocks. *ret_nearest: which of them is the nearest to it. */
static int judge(struct pairing *p, const struct common *at, size_t i, size_t j, size_t count,
		 double *ret_off, size_t *ret_nearest)
{
	struct gt_clock_line line;
	int rc;

	*ret_off = -1;
	*ret_nearest = 0;
	for (size_t k = 0; k < count; k++)
		p->points[k] = point_of(p, at->a[i + k], at->b[j + k]);
	rc = gt_clock_line_fit(p->points, count, &line);
	if (rc || fabs(line.drift) > DRIFT)
		return rc;
	for (size_t k = 0; k < count; k++)
		p->spare[k] = fabs((double)p->points[k].off -
				   (double)gt_clock_line_at(&line, p->points[k].x));
	for (size_t k = 1; k < count; k++)
		if (p->spare[k] < p->spare[*ret_nearest])
			*ret_nearest = k;
	*ret_off = fmax(gt_clock_median(p->spare, count), 1);
	return 0;
}

/* A pair that fits, and how well its run does. */
struct anchor {
	size_t i, j;
	double best, next; /* ns off the line: of this place in b, of the next best one */
};

/*
 * The place in b of @count from a[i] on. One process may have begun later, so places before and
 * behind are tried: the steps of a training last differently long, so the wrong one scatters more.
 */
static int find_place(struct pairing *p, const struct common *at, size_t i, size_t count,
		      struct anchor *ret)
{
	int64_t more = (int64_t)at->count_b - (int64_t)at->count_a;
	int64_t low = (more < 0 ? more : 0) - BESIDE, high = (more > 0 ? more : 0) + BESIDE;
	int rc = 0;

	*ret = (struct anchor){.i = i, .best = INFINITY, .next = INFINITY};
	low = low < -MOST ? -MOST : low;
	high = high > MOST ? MOST : high;
	for (int64_t move = low; !rc && move <= high; move++) {
		int64_t j = (int64_t)i + move;
		double off;
		size_t nearest;

		if (j < 0 || j + (int64_t)count > (int64_t)at->count_b)
			continue;
		rc = judge(p, at, i, (size_t)j, count, &off, &nearest);
		if (rc || off < 0)
			continue;
		if (off < ret->best) {
			ret->next = ret->best;
			ret->best = off;
			ret->i = i + nearest;
			ret->j = (size_t)j + nearest;
		} else if (off < ret->next) {
			ret->next = off;
		}
	}
	return rc;
}

/* A run without a loss, somewhere. 1: found, 0: none is clear. */
static int find_anchor(struct pairing *p, const struct common *at, struct anchor *ret)
{
	size_t count = at->count_a < RUN ? at->count_a : RUN;

	for (size_t k = 0; count >= FEW && k < RUNS; k++) {
		size_t i = (at->count_a - count) * k / (RUNS - 1);
		int rc = find_place(p, at, i, count, ret);

		if (rc)
			return rc;
		if (ret->best < TOGETHER && ret->next >= ret->best * CLEARLY)
			return 1;
	}
	return 0;
}

/* Are they as many, and none better if one is moved against the other? */
static int is_unmoved(struct pairing *p, const struct common *at, const struct anchor *anchor,
		      bool is_found, bool *ret_is)
{
	size_t count = at->count_a < ENOUGH ? at->count_a : ENOUGH;
	size_t nearest;
	double off = 0;
	int rc = 0;

	*ret_is = false;
	if (at->count_a != at->count_b)
		return 0;
	if (is_found)
		rc = judge(p, at, (at->count_a - count) / 2, (at->count_a - count) / 2, count, &off,
			   &nearest);
	*ret_is = !is_found || (off >= 0 && off <= anchor->best * CLEARLY);
	return rc;
}

static bool add(struct pairing *p, uint32_t a, uint32_t b)
{
	return gt_vec_push(&p->pairs->all, ((struct gt_met){a, b}));
}

/* The nth with the nth. */
static int pair_in_order(struct pairing *p, const struct common *at)
{
	for (size_t i = 0; i < at->count_a; i++)
		if (!add(p, at->a[i], at->b[i]))
			return -ENOMEM;
	return 0;
}

/* From the anchor on to both sides, over what one of them lost: the clocks' difference changes
 * slowly, so the last pair's tells which are the next. */
static int pair_from(struct pairing *p, const struct common *at, const struct anchor *anchor,
		     int step)
{
	int64_t i = (int64_t)anchor->i + (step < 0 ? -1 : 0);
	int64_t j = (int64_t)anchor->j + (step < 0 ? -1 : 0);
	double off = (double)point_of(p, at->a[anchor->i], at->b[anchor->j]).off;

	while (i >= 0 && j >= 0 && i < (int64_t)at->count_a && j < (int64_t)at->count_b) {
		double more = (double)point_of(p, at->a[i], at->b[j]).off - off;

		if (fabs(more) <= TOGETHER) {
			if (!add(p, at->a[i], at->b[j]))
				return -ENOMEM;
			off += more / SMOOTH;
			i += step;
			j += step;
		} else if ((more > 0) == (step > 0)) {
			j += step; /* a's is further away */
		} else {
			i += step;
		}
	}
	return 0;
}

static double apart(const struct pairing *p, const struct gt_clock_line *line, uint32_t a,
		    uint32_t b)
{
	struct gt_clock_point point = point_of(p, a, b);

	return fabs((double)point.off - (double)gt_clock_line_at(line, point.x));
}

/* Each with the nearest in time by @line, if that is so for both. */
static int pair_nearest(struct pairing *p, const struct common *at,
			const struct gt_clock_line *line)
{
	for (size_t i = 0, j = 0; i < at->count_a; i++) {
		while (j + 1 < at->count_b &&
		       apart(p, line, at->a[i], at->b[j + 1]) <= apart(p, line, at->a[i], at->b[j]))
			j++;
		if (apart(p, line, at->a[i], at->b[j]) > TOGETHER ||
		    (i + 1 < at->count_a &&
		     apart(p, line, at->a[i + 1], at->b[j]) < apart(p, line, at->a[i], at->b[j])))
			continue;
		if (p->a->all.at[at->a[i]].place && p->b->all.at[at->b[j]].place)
			continue; /* two places: not the same one */
		if (!add(p, at->a[i], at->b[j]))
			return -ENOMEM;
	}
	return 0;
}

static int by_times(const void *a, const void *b)
{
	const struct gt_met *x = a, *y = b;

	return x->a != y->a ? (x->a > y->a) - (x->a < y->a) : (x->b > y->b) - (x->b < y->b);
}

static void sort_pairs(struct gt_met_pairs *pairs)
{
	if (pairs->all.count)
		qsort(pairs->all.at, pairs->all.count, sizeof(*pairs->all.at), by_times);
}

/* Which of two keys both have more of; of as many, the one that is first in time. */
static bool is_more(const struct common *x, const struct common *y)
{
	size_t nx = x->count_a < x->count_b ? x->count_a : x->count_b;
	size_t ny = y->count_a < y->count_b ? y->count_a : y->count_b;

	return nx != ny ? nx > ny : nx && *x->a < *y->a;
}

/* Two kernels may exchange two messages: each is in one pair. */
static int pair_once(struct pairing *p, uint32_t a, uint32_t b, bool *is_paired)
{
	if (is_paired[a] || is_paired[p->a->all.count + b])
		return 0;
	is_paired[a] = is_paired[p->a->all.count + b] = true;
	return add(p, a, b) ? 0 : -ENOMEM;
}

/* What is of one place, the several kernels of one in their order. By time: the order of places is
 * another one in each run. */
static int list_by_place(const struct pairing *p, struct gt_met_pairs *ret_pairs)
{
	size_t i = 0, j = 0;

	while (i < p->a->place_count && j < p->b->place_count) {
		uint32_t a = p->a->by_place[i], b = p->b->by_place[j];
		uint64_t of_a = gt_meeting_place(p->a, a), of_b = gt_meeting_place(p->b, b);

		if (of_a == of_b && !gt_vec_push(&ret_pairs->all, ((struct gt_met){a / 2, b / 2})))
			return -ENOMEM;
		i += of_a <= of_b;
		j += of_b <= of_a;
	}
	sort_pairs(ret_pairs);
	return 0;
}

static int pair_by_place(struct pairing *p)
{
	bool *is_paired = calloc(p->a->all.count + p->b->all.count + 1, sizeof(*is_paired));
	struct gt_met_pairs pairs = {0};
	int rc = is_paired ? list_by_place(p, &pairs) : -ENOMEM;

	for (size_t i = 0; !rc && i < pairs.all.count; i++)
		rc = pair_once(p, pairs.all.at[i].a, pairs.all.at[i].b, is_paired);
	gt_vec_free(&pairs.all);
	free(is_paired);
	return rc;
}

/* Those of @count places in by_key that are in no pair yet, to @out. */
static size_t keep_unpaired(const uint32_t *at, size_t count, const bool *is_paired, uint32_t *out)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		if (!is_paired[at[i]])
			out[kept++] = at[i];
	return kept;
}

/* What has no place, by the clocks of what has one. The other one may have a place: where a rank
 * lost something, its places end. */
static int pair_rest(struct pairing *p, const struct gt_clock_line *line, bool *paired_a,
		     bool *paired_b, uint32_t *rest)
{
	struct common at = {.a = p->a->by_key, .b = p->b->by_key}, left;
	int rc = 0;

	for (size_t i = 0; i < p->pairs->all.count; i++) {
		paired_a[p->pairs->all.at[i].a] = true;
		paired_b[p->pairs->all.at[i].b] = true;
	}
	while (!rc && next_common(p, &at)) {
		left.a = rest;
		left.count_a = keep_unpaired(at.a, at.count_a, paired_a, rest);
		left.b = rest + left.count_a;
		left.count_b = keep_unpaired(at.b, at.count_b, paired_b, rest + left.count_a);
		if (left.count_a && left.count_b)
			rc = pair_nearest(p, &left, line);
	}
	return rc;
}

/* A sender may have left before the receiver comes. */
static int find_line(const struct pairing *p, struct gt_clock_line *ret_line)
{
	struct gt_met_pairs pairs = {0};
	int rc = 0;

	for (size_t i = 0; !rc && i < p->pairs->all.count; i++) {
		const struct gt_met *met = &p->pairs->all.at[i];

		if (!p->a->all.at[met->a].is_message && !gt_vec_push(&pairs.all, *met))
			rc = -ENOMEM;
	}
	if (!rc)
		rc = gt_meetings_line(p->a, p->b, &pairs, ret_line);
	gt_vec_free(&pairs.all);
	return rc;
}

static int pair_others(struct pairing *p)
{
	size_t a = p->a->all.count, b = p->b->all.count;
	bool *paired = calloc(a + b, sizeof(*paired));
	uint32_t *rest = calloc(a + b, sizeof(*rest));
	struct gt_clock_line line;
	int rc = paired && rest ? find_line(p, &line) : -ENOMEM;

	if (!rc && line.used)
		rc = pair_rest(p, &line, paired, paired + a, rest);
	free(paired);
	free(rest);
	return rc;
}

size_t gt_meetings_common(const struct gt_meetings *a, const struct gt_meetings *b)
{
	const struct pairing p = {.a = a, .b = b};
	struct common at = {.a = a->by_key, .b = b->by_key};
	size_t count = 0;

	while (next_common(&p, &at))
		count += at.count_a < at.count_b ? at.count_a : at.count_b;
	return count;
}

/* The key that both have most of tells how the others belong together. */
static int pair_all(struct pairing *p)
{
	struct common at = {.a = p->a->by_key, .b = p->b->by_key}, most = {0};
	struct gt_clock_line line = {0};
	struct anchor anchor;
	bool unmoved = false;
	int rc, found;

	while (next_common(p, &at))
		if (is_more(&at, &most))
			most = at;
	if (!most.count_a)
		return 0;
	found = find_anchor(p, &most, &anchor);
	rc = found < 0 ? found : is_unmoved(p, &most, &anchor, found, &unmoved);
	if (rc || (!unmoved && !found))
		return rc;
	rc = unmoved ? pair_in_order(p, &most) : pair_from(p, &most, &anchor, 1);
	if (!rc && !unmoved)
		rc = pair_from(p, &most, &anchor, -1);
	if (!rc)
		rc = gt_meetings_line(p->a, p->b, p->pairs, &line);
	at = (struct common){.a = p->a->by_key, .b = p->b->by_key};
	while (!rc && next_common(p, &at)) {
		if (at.a == most.a)
			continue;
		if (unmoved && at.count_a == at.count_b)
			rc = pair_in_order(p, &at);
		else if (line.used)
			rc = pair_nearest(p, &at, &line);
	}
	return rc;
}

int gt_meetings_pair(const struct gt_meetings *a, const struct gt_meetings *b,
		     struct gt_met_pairs *ret_pairs)
{
	struct pairing p = {
		.a = a,
		.b = b,
		.points = calloc(ENOUGH, sizeof(*p.points)),
		.spare = calloc(ENOUGH, sizeof(*p.spare)),
		.pairs = ret_pairs,
	};
	int rc = -ENOMEM;

	*ret_pairs = (struct gt_met_pairs){0};
	if (p.points && p.spare)
		rc = pair_by_place(&p);
	if (!rc && ret_pairs->all.count)
		rc = pair_others(&p);
	else if (!rc)
		rc = pair_all(&p);
	sort_pairs(ret_pairs);
	free(p.points);
	free(p.spare);
	return rc;
}

static int by_x(const void *a, const void *b)
{
	const struct gt_clock_point *x = a, *y = b;

	return (x->x > y->x) - (x->x < y->x);
}

/* In one of BROKEN pairs a member had left before another one came. */
static bool is_broken(const struct gt_meetings *a, const struct gt_meetings *b,
		      const struct gt_met_pairs *pairs, const struct gt_clock_line *line)
{
	size_t broken = 0;

	for (size_t i = 0; i < pairs->all.count; i++) {
		const struct gt_meeting *x = &a->all.at[pairs->all.at[i].a];
		const struct gt_meeting *y = &b->all.at[pairs->all.at[i].b];
		int64_t start = y->start + gt_clock_line_at(line, y->start);
		int64_t end = y->end + gt_clock_line_at(line, y->end);
		double slack = 3 * line->scatter;

		broken += (double)start - (double)x->end > slack ||
			  (double)x->start - (double)end > slack;
	}
	return broken * BROKEN > pairs->all.count;
}

/* No member can leave before the last one has come: each meeting bounds the difference of the two
 * clocks on both sides, however long the members took to leave. Only of those that are the same one
 * for sure. */
static int bound_line(const struct gt_meetings *a, const struct gt_meetings *b,
		      const struct gt_met_pairs *pairs, struct gt_clock_line *ret_line)
{
	struct gt_clock_bounds *bounds = calloc(pairs->all.count + 1, sizeof(*bounds));
	size_t count = 0;
	int rc = bounds ? 0 : -ENOMEM;

	*ret_line = (struct gt_clock_line){0};
	for (size_t i = 0; !rc && i < pairs->all.count; i++) {
		const struct gt_meeting *x = &a->all.at[pairs->all.at[i].a];
		const struct gt_meeting *y = &b->all.at[pairs->all.at[i].b];

		if (x->place && x->place == y->place && !x->is_message)
			bounds[count++] = (struct gt_clock_bounds){
				.x_low = y->end,
				.low = x->start - y->end - STAMPS,
				.x_high = y->start,
				.high = x->end - y->start + STAMPS,
			};
	}
	if (!rc && count)
		rc = gt_clock_line_bound(bounds, count, DRIFT, ret_line);
	free(bounds);
	return rc;
}

int gt_meetings_line(const struct gt_meetings *a, const struct gt_meetings *b,
		     const struct gt_met_pairs *pairs, struct gt_clock_line *ret_line)
{
	size_t count = pairs->all.count;
	struct gt_clock_point *points = calloc(count + 1, sizeof(*points));
	struct gt_clock_line bound;
	int rc = points ? 0 : -ENOMEM;

	*ret_line = (struct gt_clock_line){0};
	for (size_t i = 0; !rc && i < count; i++) {
		int64_t end = b->all.at[pairs->all.at[i].b].end;

		points[i].x = end;
		points[i].off = a->all.at[pairs->all.at[i].a].end - end;
	}
	if (!rc && count) {
		qsort(points, count, sizeof(*points), by_x);
		rc = gt_clock_line_fit(points, count, ret_line);
	}
	free(points);
	if (rc || (ret_line->scatter <= TOGETHER && fabs(ret_line->drift) <= DRIFT &&
		   !is_broken(a, b, pairs, ret_line)))
		return rc;
	ret_line->used = 0;
	rc = bound_line(a, b, pairs, &bound);
	if (!rc && bound.used)
		*ret_line = bound;
	ret_line->wrong = bound.wrong;
	return rc;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * See gaps.h: how long collectives ran only because a peer came late. Pure over constant models;
 * one thread per table.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/gaps.h"
#include "analysis/group.h"

static const struct gt_column columns[] = {
	{"rank", "Rank", "rank", GT_COLUMN_TEXT},
	{"count", "Collectives", "collectives", GT_COLUMN_COUNT},
	{"comm", "Time (ns)", "time", GT_COLUMN_TIME},
	{"wait", "Waiting For Peers (ns)", "waiting for peers", GT_COLUMN_TIME},
	{"share", "Waiting (%)", "share", GT_COLUMN_PERCENT},
	{"last", "Was Last", "was last", GT_COLUMN_COUNT},
};

/* The collectives of one process in order of time. */
struct rank {
	const struct gt_model *model;
	GT_VEC(const struct gt_op *) ops;
	int64_t shift; /* of its clock against that of the first rank's host */
	int64_t total, wait;
	uint64_t last;
};

struct ranks {
	struct rank *at; /* those that have collectives */
	size_t count;
};

/* Of what a broken file tells the sum may be anything. */
static int64_t plus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t minus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a - (uint64_t)b);
}

static int64_t start_of(const struct rank *rank, size_t nth)
{
	const struct gt_header *header = &rank->model->reading.header;
	int64_t base = header->has_base ? header->base_ns : 0;

	return plus(plus(rank->ops.at[nth]->start, base), rank->shift);
}

static int64_t end_of(const struct rank *rank, size_t nth)
{
	return plus(start_of(rank, nth), rank->ops.at[nth]->dur);
}

static bool other_host(const struct gt_model *a, const struct gt_model *b)
{
	char one[256], other[256];

	return gt_header_text(&a->reading.header, "metadata", "hostname", one, sizeof(one)) &&
	       gt_header_text(&b->reading.header, "metadata", "hostname", other, sizeof(other)) &&
	       strcmp(one, other);
}

/* Clocks of two hosts differ by more than a collective lasts. It ends everywhere at about the same
 * time. */
static int set_clock(const struct rank *first, struct rank *rank)
{
	struct gt_dist off = {0};
	int rc = 0;

	if (!other_host(first->model, rank->model))
		return 0;
	for (size_t i = 0; !rc && i < rank->ops.count; i++)
		if (!gt_dist_add(&off, minus(end_of(first, i), end_of(rank, i))))
			rc = -ENOMEM;
	if (!rc)
		rank->shift = gt_dist_middle(&off);
	gt_dist_fini(&off);
	return rc;
}

/* The @nth collective of all ranks: who waited for whom. */
static void compare(const struct ranks *ranks, size_t nth)
{
	int64_t latest = INT64_MIN, earliest = INT64_MAX;
	size_t last = 0;

	for (size_t r = 0; r < ranks->count; r++) {
		int64_t start = start_of(&ranks->at[r], nth);

		if (start > latest) {
			latest = start;
			last = r;
		}
		if (start < earliest)
			earliest = start;
	}
	ranks->at[last].last += latest > earliest;
	for (size_t r = 0; r < ranks->count; r++) {
		struct rank *rank = &ranks->at[r];
		int64_t wait = minus(latest, start_of(rank, nth)), dur = rank->ops.at[nth]->dur;

		rank->total += dur;
		rank->wait += wait < 0 ? 0 : wait < dur ? wait : dur;
	}
}

/* Do both have the same collectives in the same order? */
static bool is_alike(const struct rank *a, const struct rank *b)
{
	if (a->ops.count != b->ops.count)
		return false;
	for (size_t i = 0; i < a->ops.count; i++)
		if (strcmp(gt_model_name(a->model, a->ops.at[i]->name),
			   gt_model_name(b->model, b->ops.at[i]->name)))
			return false;
	return true;
}

static int collect(const struct gt_job *job, const struct gt_filter *filter, struct ranks *ranks)
{
	for (size_t f = 0; f < job->count; f++) {
		const struct gt_model *model = &job->models[f];
		struct rank *rank = &ranks->at[ranks->count];

		rank->model = model;
		for (size_t i = 0; i < model->ops.count; i++) {
			const struct gt_op *op = &model->ops.at[i];

			if (op->comm && gt_filter_op(filter, model, op) &&
			    !gt_vec_push(&rank->ops, op))
				return -ENOMEM;
		}
		ranks->count += rank->ops.count > 0;
	}
	return 0;
}

static int fill(const struct ranks *ranks, struct gt_table *table)
{
	char text[64];
	int rc = 0;

	for (size_t r = 1; !rc && r < ranks->count; r++)
		rc = set_clock(&ranks->at[0], &ranks->at[r]);
	for (size_t i = 0; !rc && i < ranks->at[0].ops.count; i++)
		compare(ranks, i);
	for (size_t r = 0; !rc && r < ranks->count; r++) {
		const struct rank *rank = &ranks->at[r];

		gt_key_of_place(rank->model, "", text, sizeof(text));
		gt_table_text(table, text);
		gt_table_number(table, (double)rank->ops.count);
		gt_table_number(table, (double)rank->total);
		gt_table_number(table, (double)rank->wait);
		gt_table_number(table, rank->total > 0
					       ? (double)rank->wait * 100 / (double)rank->total
					       : 0);
		gt_table_number(table, (double)rank->last);
	}
	return rc;
}

int gt_gaps_peers(const struct gt_job *job, const struct gt_filter *filter,
		  struct gt_table *ret_table, bool *ret_differ)
{
	struct ranks ranks = {.at = calloc(job->count + 1, sizeof(*ranks.at))};
	int rc = ranks.at ? collect(job, filter, &ranks) : -ENOMEM;

	*ret_differ = false;
	gt_table_init(ret_table, "peer_wait", "Collectives: waiting for the last peer", columns,
		      sizeof(columns) / sizeof(columns[0]));
	for (size_t r = 1; !rc && r < ranks.count; r++)
		*ret_differ |= !is_alike(&ranks.at[0], &ranks.at[r]);
	if (!rc && ranks.count > 1 && !*ret_differ)
		rc = fill(&ranks, ret_table);
	for (size_t f = 0; ranks.at && f < job->count; f++)
		gt_vec_free(&ranks.at[f].ops);
	free(ranks.at);
	return rc;
}

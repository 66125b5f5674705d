/* SPDX-License-Identifier: Apache-2.0
 *
 * See peers.h.
 */
#include "analysis/ranks/peers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static const struct gt_column columns[] = {
	{"rank", "Rank", "rank", GT_COLUMN_TEXT},
	{"count", "Collectives", "collectives", GT_COLUMN_COUNT},
	{"comm", "Time (ns)", "time", GT_COLUMN_TIME},
	{"wait", "Waiting For Peers (ns)", "waiting for peers", GT_COLUMN_TIME},
	{"share", "Waiting (%)", "share", GT_COLUMN_PERCENT},
	{"last", "Was Last", "was last", GT_COLUMN_COUNT},
	{"cost", "Cost Others (ns)", "cost others", GT_COLUMN_TIME},
};

/* What one process waited, and the others for it. */
struct peer {
	int64_t total, wait, cost;
	uint64_t count, last;
};

static void add_round(const struct gt_rounds *rounds, const struct gt_round *round,
		      struct peer *peers)
{
	const struct gt_round_member *member = &rounds->members.at[round->first];

	for (uint32_t i = 0; i < round->count; i++) {
		struct peer *peer = &peers[member[i].model];

		peer->count++;
		peer->total += member[i].end - member[i].start;
		peer->wait += gt_round_wait(round, &member[i]);
		peers[member[round->last].model].cost += gt_round_wait(round, &member[i]);
		peer->last += i == round->last && round->arrived > round->earliest;
	}
}

static void add_row(const struct gt_model *model, const struct peer *peer, struct gt_table *table)
{
	char text[64];

	gt_key_of_place(model, "", text, sizeof(text));
	gt_table_text(table, text);
	gt_table_number(table, (double)peer->count);
	gt_table_number(table, (double)peer->total);
	gt_table_number(table, (double)peer->wait);
	gt_table_number(table,
			peer->total > 0 ? (double)peer->wait * 100 / (double)peer->total : 0);
	gt_table_number(table, (double)peer->last);
	gt_table_number(table, (double)peer->cost);
}

int gt_ranks_peers(const struct gt_job *job, const struct gt_filter *filter,
		   const struct gt_rank_excerpt *excerpts, struct gt_table *ret_table,
		   struct gt_peer_doubts *ret_doubts)
{
	struct peer *peers = calloc(job->count + 1, sizeof(*peers));
	struct gt_rounds rounds = {0};
	bool has_peers = job->count > 1; /* else nothing is compared, however many there are */
	int rc = peers ? 0 : -ENOMEM;

	if (!rc && has_peers)
		rc = gt_rounds_find(job, filter, excerpts, &rounds);
	gt_table_init(ret_table, "peer_wait", "Collectives: waiting for the last peer", columns,
		      sizeof(columns) / sizeof(columns[0]));
	*ret_doubts = (struct gt_peer_doubts){.differ = rounds.processes > 1 &&
							(rounds.unmatched || rounds.impossible)};
	for (size_t i = 0; !rc && i < rounds.all.count; i++)
		add_round(&rounds, &rounds.all.at[i], peers);
	for (size_t f = 0; !rc && f < job->count; f++)
		if (peers[f].count) {
			add_row(&job->models[f], &peers[f], ret_table);
			ret_doubts->unrelated += job->clocks.of[f].error < 0;
		}
	gt_rounds_fini(&rounds);
	free(peers);
	return rc;
}

bool gt_ranks_unrelated(size_t unrelated, char *ret_text, size_t size)
{
	char clocks[64];

	snprintf(clocks, sizeof(clocks), "The clocks of %zu of the ranks are", unrelated);
	snprintf(ret_text, size,
		 "%s taken as %s, with an error that is not known: a rank may be called late only "
		 "because its clock is ahead.",
		 unrelated == 1 ? "The clock of one of the ranks is" : clocks,
		 unrelated == 1 ? "it is" : "they are");
	return unrelated;
}

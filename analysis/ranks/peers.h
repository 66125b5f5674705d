/* SPDX-License-Identifier: Apache-2.0
 *
 * How long collectives ran only because a peer came late, by process. Pure over constant models;
 * one thread per table.
 */
#ifndef GT_ANALYSIS_RANKS_PEERS_H
#define GT_ANALYSIS_RANKS_PEERS_H

#include "analysis/ranks/rounds.h"
#include "analysis/table/table.h"

/* What is said where gt_ranks_peers could not compare all. */
#define GT_RANKS_DIFFER                                                                            \
	"Some collectives have no counterpart on another rank: `gputrace ranks` counts them."

/* What keeps the table from being sure. */
struct gt_peer_doubts {
	bool differ;      /* some collectives have no counterpart */
	size_t unrelated; /* processes in it whose clocks are taken as they are */
};

/* One row per process with collectives: how long they ran before the last peer's began, by the
 * clock of the job (trace/clocks.h). Empty where no two processes have one in common. @filter or
 * @excerpts: as of gt_rounds_find. */
int gt_ranks_peers(const struct gt_job *job, const struct gt_filter *filter,
		   const struct gt_rank_excerpt *excerpts, struct gt_table *ret_table,
		   struct gt_peer_doubts *ret_doubts);

/* "The clocks of 2 of the ranks are taken as they are, ..."; false: of none. */
bool gt_ranks_unrelated(size_t unrelated, char *ret_text, size_t size);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Whose network is slow: told by collectives of the same kind and size among other processes. Pure
 * over constant models; one thread per set.
 */
#ifndef GT_ANALYSIS_RANKS_NETWORK_H
#define GT_ANALYSIS_RANKS_NETWORK_H

#include "analysis/ranks/rounds.h"

/* What slow networks cost each collective. */
struct gt_network {
	int64_t *excess; /* ns that its transfer was longer than elsewhere; 0: nobody's fault */
	uint32_t *slow;  /* how many of its members have a slow network and share that */
	bool *is_slow;   /* of each process of the job */
};

/* 0 or -ENOMEM; free with gt_network_fini in either case. */
int gt_network_find(const struct gt_job *job, const struct gt_rounds *rounds,
		    struct gt_network *ret_network);
void gt_network_fini(struct gt_network *network);

#endif

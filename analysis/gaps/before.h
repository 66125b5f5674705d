/* SPDX-License-Identifier: Apache-2.0
 *
 * What was launched last before the gaps that share a place: the other end of each gap, beside the
 * launch that ended it. Pure over constant models; one thread per set.
 */
#ifndef GT_ANALYSIS_GAPS_BEFORE_H
#define GT_ANALYSIS_GAPS_BEFORE_H

#include "analysis/gaps/gaps.h"
#include "analysis/group.h"

/* Idle time by key, and by key and last launch. */
struct gt_gaps_before {
	struct gt_groups keys;     /* tag[0]: ns; tag[1]: gt_gaps_before_choose: the launch with
				      most of it, + 1 */
	struct gt_groups launches; /* by key and place (gt_pair_get); tag[0]: ns */
};

/* The launch with the most idle time of a key. */
struct gt_gaps_launch {
	const char *place; /* "step (train.py:41)"; NULL: not known of any */
	int64_t ns, of;    /* of the key's */
};

/* @ns of a gap, which count for @key. -ENOMEM. */
int gt_gaps_before_add(struct gt_gaps_before *before, const struct gt_gap *gap, const char *key,
		       int64_t ns);

/* Behind the last gap. -ENOMEM. */
int gt_gaps_before_choose(struct gt_gaps_before *before);

/* Of all gaps of @key. The text is valid as long as the set. */
struct gt_gaps_launch gt_gaps_before_of(struct gt_gaps_before *before, const char *key);

#endif

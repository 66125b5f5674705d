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

/* A key and the launch before it, among those of the set. */
struct gt_gaps_numbers {
	size_t key, launch; /* launch: + 1; 0: not known */
};

/* What was launched before a gap: the line of the user's code, else the function or operator that
 * launched, else what ran. Valid as the gap's texts, which are equal where they are one. */
const char *gt_gaps_before_place(const struct gt_gap *gap);

/* The numbers of @key and the launch at @place, new or old. -ENOMEM. */
int gt_gaps_before_find(struct gt_gaps_before *before, const char *key, const char *place,
			struct gt_gaps_numbers *ret_numbers);

/* @ns of a gap. */
void gt_gaps_before_add(struct gt_gaps_before *before, const struct gt_gaps_numbers *numbers,
			int64_t ns);

/* Behind the last gap. -ENOMEM. */
int gt_gaps_before_choose(struct gt_gaps_before *before);

/* Of all gaps of @key. The text is valid as long as the set. */
struct gt_gaps_launch gt_gaps_before_of(struct gt_gaps_before *before, const char *key);

#endif

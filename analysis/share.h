/* SPDX-License-Identifier: Apache-2.0
 *
 * Time under a name, split by what samples say of it. A sample stands for the time around it, up to
 * half the way to its neighbours: samples that were not taken, because the sampler had no
 * processor, must not take time from the place where the host was then. Time that no sample fell
 * into is put down like the sampled time of the same name. One thread per set.
 */
#ifndef GT_ANALYSIS_SHARE_H
#define GT_ANALYSIS_SHARE_H

#include "analysis/group.h"

/* Sums by place, from which shares are made. */
struct gt_shares {
	struct gt_groups bases;  /* value: spans; tag[0]: samples; tag[3]: their time */
	struct gt_groups places; /* names: gt_pair_key of base and place; tag[0]: samples;
				    tag[1]: index of the base, in gt_shares_each; tag[3]: time */
};

/* A part of a base's time. */
struct gt_share {
	const char *base, *place; /* place NULL: the base has no samples */
	struct gt_moments spans;  /* of the base */
	int64_t ns;
	int64_t samples; /* of the base's, this place's */
};

/* Receives a share; a negative errno ends the walk. */
typedef int (*gt_share_fn)(const struct gt_share *share, void *data);

/* How bases and places of several processes are joined. */
#define GT_SHARES_JOINS                                                                            \
	{                                                                                          \
		GT_TAG_SUM, GT_TAG_DROP, GT_TAG_DROP, GT_TAG_SUM                                   \
	}

/* Starts an empty set. 0 or -ENOMEM. */
int gt_shares_init(struct gt_shares *shares);
/* Frees the set. Also of a zeroed struct. */
void gt_shares_fini(struct gt_shares *shares);

/* @ns under @base. What belongs to one @whole, of which no other's come in between, is one span.
 * -ENOMEM. */
int gt_shares_span(struct gt_shares *shares, const char *base, int64_t whole, int64_t ns);

/* The same of base number @base, of those in shares->bases. */
int gt_shares_span_of(struct gt_shares *shares, size_t base, int64_t whole, int64_t ns);

/* A sample that fell into the span of @base that was added last, and stands for @ns of it
 * (gt_model_sample_time). -ENOMEM. */
int gt_shares_sample(struct gt_shares *shares, const char *base, const char *place, int64_t ns);

/* Every part, those of one base add up to it. Sorts the spans. Ends with what @fn returns if not 0;
 * -ENOMEM. */
int gt_shares_each(struct gt_shares *shares, gt_share_fn fn, void *data);

#endif

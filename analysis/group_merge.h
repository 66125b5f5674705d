/* SPDX-License-Identifier: Apache-2.0
 *
 * Groups of a part of a job as bytes, and groups of several parts as one. Merging is associative
 * and commutative: what the groups are in the end, and their order, depends on the traces alone,
 * not on who has read which of them. What comes in bytes is never trusted. One thread per set of
 * groups.
 */
#ifndef GT_ANALYSIS_GROUP_MERGE_H
#define GT_ANALYSIS_GROUP_MERGE_H

#include "analysis/group.h"

/* Groups of one kind in an answer that has several. */
struct gt_group_set {
	const char *name; /* both sides must mean the same */
	enum gt_tag_join joins[GT_GROUP_TAGS];
	struct gt_groups groups;
};

/* A whole answer, with its version. */
void gt_group_sets_write(struct gt_group_set *sets, size_t count, struct gt_pack *out);

/* Adds an answer that gt_group_sets_write has written of sets of the same names. -EBADMSG: it is
 * none, and the sets are of no use any more; -EPROTO: another version of gputrace, or another
 * question; -ENOMEM. */
int gt_group_sets_merge(struct gt_group_set *sets, size_t count, const void *bytes, size_t size);

/* Appends the groups to @out; of the tags those that @joins does not drop. Sorts their values. */
void gt_groups_write(struct gt_groups *groups, const enum gt_tag_join joins[GT_GROUP_TAGS],
		     struct gt_pack *out);

/* Adds groups that gt_groups_write has written with the same @joins. -EBADMSG: they cannot be, and
 * @groups is of no use any more; -ENOMEM. */
int gt_groups_merge(struct gt_groups *groups, const enum gt_tag_join joins[GT_GROUP_TAGS],
		    struct gt_pack_in *in);

/* Behind the last merge: puts the groups in the order of one process that has read all traces, and
 * the values of large ones into buckets, whichever process had them. False: no memory. */
bool gt_groups_settle(struct gt_groups *groups);

#endif

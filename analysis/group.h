/* SPDX-License-Identifier: Apache-2.0
 *
 * Values under names (analysis/reduce/dist.h). One thread per set of groups.
 */
#ifndef GT_ANALYSIS_GROUP_H
#define GT_ANALYSIS_GROUP_H

#include <stdint.h>

#include "analysis/reduce/dist.h"
#include "readers/vec.h"
#include "trace/names.h"

#define GT_GROUP_TAGS  5
#define GT_GROUP_DISTS 4

/* What becomes of a number of the owner's where two processes have the same group. */
enum gt_tag_join {
	GT_TAG_DROP, /* it is of no use but for the one who made it */
	GT_TAG_SUM,
	GT_TAG_OR,
	GT_TAG_MAX,
	GT_TAG_FIRST, /* of the group that was seen first; and so its label */
};

/* What has the same key: its values and numbers of the owner's. */
struct gt_group {
	uint32_t name;  /* number in the groups' names */
	uint32_t label; /* the same: what a report keeps besides the key; GT_NAME_NONE: nothing */
	uint32_t place; /* in the order of first sight, of those of one trace */
	uint64_t trace; /* gt_groups.trace at first sight */
	struct gt_dist value;
	struct gt_dist other[GT_GROUP_DISTS - 1]; /* what a report needs besides */
	int64_t tag[GT_GROUP_TAGS];
};

/* All groups of one table, found by key. */
struct gt_groups {
	struct gt_names names;
	GT_VEC(struct gt_group) list; /* in the order of first sight */
	uint32_t *index;              /* name number -> position in list + 1 */
	size_t index_room;
	uint64_t trace; /* gt_job_order of the trace that is looked at: groups of several
			   processes are put in order by it */
};

/* Starts an empty set. 0 or -ENOMEM. */
int gt_groups_init(struct gt_groups *groups);
/* Frees the groups. Also of a zeroed struct. */
void gt_groups_fini(struct gt_groups *groups);

/* The group of that name, new or old; NULL when memory is out. Valid until the next call. */
struct gt_group *gt_groups_get(struct gt_groups *groups, const char *name);

/* The same of a text of @len bytes. */
struct gt_group *gt_groups_get_text(struct gt_groups *groups, const char *name, size_t len);

/* A group of two texts, of which other groups are named by the first: made of both, and found in
 * them. gt_pair_first: the group among @groups, new or old, that the first text of @name names. */
struct gt_group *gt_pair_get(struct gt_groups *groups, const char *first, const char *second);
struct gt_group *gt_pair_first(struct gt_groups *groups, const char *name);
const char *gt_pair_second(const char *name);

/* The text that the group is printed with; valid as long as the set. */
static inline const char *gt_group_name(const struct gt_groups *groups,
					const struct gt_group *group)
{
	return gt_names_get(&groups->names, group->name);
}

#endif

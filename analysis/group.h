/* SPDX-License-Identifier: Apache-2.0
 *
 * Values under names: count, total, mean, median, min, max, standard deviation of each group.
 * One thread per set of groups.
 */
#ifndef GT_ANALYSIS_GROUP_H
#define GT_ANALYSIS_GROUP_H

#include <stdint.h>

#include "readers/vec.h"
#include "trace/names.h"

struct gt_dist { /* all values, so that the median is exact */
	int64_t *at;
	size_t count, room;
};

/* Sums from which mean and standard deviation follow. */
struct gt_moments {
	uint64_t count;
	int64_t total, min, max;
	double mean, median;
	double p90, p99; /* percentiles, interpolated between the two nearest values */
	double stddev;   /* of a sample (n - 1), as nsys and pandas do; 0 for one value */
};

/* Adds a value. False: no memory. */
bool gt_dist_add(struct gt_dist *dist, int64_t value);
/* Frees the values. Also of a zeroed struct. */
void gt_dist_fini(struct gt_dist *dist);

/* Sorts the values. */
struct gt_moments gt_dist_moments(struct gt_dist *dist);

/* The value in the middle, of two the greater one, 0 of none. Sorts the values. */
int64_t gt_dist_middle(struct gt_dist *dist);

/* What has the same key: its values and numbers of the owner's. */
struct gt_group {
	uint32_t name; /* number in the groups' names */
	struct gt_dist value;
	struct gt_dist other[3]; /* what a report needs besides */
	int64_t tag[5];
};

/* All groups of one table, found by key. */
struct gt_groups {
	struct gt_names names;
	GT_VEC(struct gt_group) list; /* in the order of first sight */
	uint32_t *index;              /* name number -> position in list + 1 */
	size_t index_room;
};

/* Starts an empty set. 0 or -ENOMEM. */
int gt_groups_init(struct gt_groups *groups);
/* Frees the groups. Also of a zeroed struct. */
void gt_groups_fini(struct gt_groups *groups);

/* The group of that name, new or old; NULL when memory is out. Valid until the next call. */
struct gt_group *gt_groups_get(struct gt_groups *groups, const char *name);

/* The text that the group is printed with; valid as long as the set. */
static inline const char *gt_group_name(const struct gt_groups *groups,
					const struct gt_group *group)
{
	return gt_names_get(&groups->names, group->name);
}

#endif

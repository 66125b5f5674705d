/* SPDX-License-Identifier: Apache-2.0
 *
 * See group.h. One thread per set of groups.
 */
#include "analysis/group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int gt_groups_init(struct gt_groups *groups)
{
	*groups = (struct gt_groups){0};
	return gt_names_init(&groups->names);
}

void gt_groups_fini(struct gt_groups *groups)
{
	for (size_t i = 0; i < groups->list.count; i++) {
		gt_dist_fini(&groups->list.at[i].value);
		for (size_t k = 0; k < 3; k++)
			gt_dist_fini(&groups->list.at[i].other[k]);
	}
	gt_vec_free(&groups->list);
	gt_names_fini(&groups->names);
	free(groups->index);
	groups->index = NULL;
}

static bool grow_index(struct gt_groups *groups, uint32_t name)
{
	size_t room = (size_t)name * 2 + 64;
	uint32_t *bigger;

	if (name < groups->index_room)
		return true;
	bigger = realloc(groups->index, room * sizeof(*bigger));
	if (!bigger)
		return false;
	memset(bigger + groups->index_room, 0, (room - groups->index_room) * sizeof(*bigger));
	groups->index = bigger;
	groups->index_room = room;
	return true;
}

struct gt_group *gt_groups_get(struct gt_groups *groups, const char *name)
{
	return gt_groups_get_text(groups, name, strlen(name));
}

struct gt_group *gt_groups_get_text(struct gt_groups *groups, const char *name, size_t len)
{
	uint32_t number = gt_names_put(&groups->names, name, len);

	if (!grow_index(groups, number))
		return NULL;
	if (!groups->index[number]) {
		if (!gt_vec_push(&groups->list,
				 ((struct gt_group){.name = number,
						    .place = (uint32_t)groups->list.count,
						    .trace = groups->trace})))
			return NULL;
		groups->index[number] = (uint32_t)groups->list.count;
	}
	return &groups->list.at[groups->index[number] - 1];
}

/* "5 firstsecond": any text may be in either. */
struct gt_group *gt_pair_get(struct gt_groups *groups, const char *first, const char *second)
{
	struct gt_group *group = NULL;
	char *name;
	int length = asprintf(&name, "%zu %s%s", strlen(first), first, second);

	if (length < 0)
		return NULL;
	group = gt_groups_get_text(groups, name, (size_t)length);
	free(name);
	return group;
}

/* Where the first text begins, and its length: whatever is in a name of another process. */
static const char *first_of(const char *name, size_t *ret_length)
{
	char *end;
	unsigned long long length = strtoull(name, &end, 10);
	const char *first = *end == ' ' ? end + 1 : end;
	size_t left = strlen(first);

	*ret_length = length < left ? (size_t)length : left;
	return first;
}

struct gt_group *gt_pair_first(struct gt_groups *groups, const char *name)
{
	size_t length;
	const char *first = first_of(name, &length);

	return gt_groups_get_text(groups, first, length);
}

const char *gt_pair_second(const char *name)
{
	size_t length;
	const char *first = first_of(name, &length);

	return first + length;
}

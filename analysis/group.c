/* SPDX-License-Identifier: Apache-2.0
 *
 * See group.h. One thread per set of groups.
 */
#include "analysis/group.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool gt_dist_add(struct gt_dist *dist, int64_t value)
{
	return gt_vec_push(dist, value);
}

void gt_dist_fini(struct gt_dist *dist)
{
	gt_vec_free(dist);
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

int64_t gt_dist_middle(struct gt_dist *dist)
{
	if (!dist->count)
		return 0;
	qsort(dist->at, dist->count, sizeof(*dist->at), by_value);
	return dist->at[dist->count / 2];
}

/* Linear between the values around it: as numpy and Python's statistics (inclusive) have it. */
static double percentile(const struct gt_dist *dist, int percent)
{
	double at = (double)(dist->count - 1) * percent / 100, low = floor(at);
	const int64_t *value = &dist->at[(size_t)low];

	return at > low ? (double)value[0] + ((double)value[1] - (double)value[0]) * (at - low)
			: (double)value[0];
}

struct gt_moments gt_dist_moments(struct gt_dist *dist)
{
	struct gt_moments m = {.count = dist->count};
	double squares = 0;
	size_t n = dist->count;

	if (!n)
		return m;
	qsort(dist->at, n, sizeof(*dist->at), by_value);
	for (size_t i = 0; i < n; i++)
		m.total += dist->at[i];
	m.min = dist->at[0];
	m.max = dist->at[n - 1];
	m.p90 = percentile(dist, 90);
	m.p99 = percentile(dist, 99);
	m.mean = (double)m.total / (double)n;
	m.median = n % 2 ? (double)dist->at[n / 2]
			 : ((double)dist->at[n / 2 - 1] + (double)dist->at[n / 2]) / 2;
	for (size_t i = 0; i < n; i++) {
		double off = (double)dist->at[i] - m.mean;

		squares += off * off;
	}
	m.stddev = n > 1 ? sqrt(squares / (double)(n - 1)) : 0;
	return m;
}

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
	uint32_t number = gt_names_put(&groups->names, name, strlen(name));

	if (!grow_index(groups, number))
		return NULL;
	if (!groups->index[number]) {
		if (!gt_vec_push(&groups->list, ((struct gt_group){.name = number})))
			return NULL;
		groups->index[number] = (uint32_t)groups->list.count;
	}
	return &groups->list.at[groups->index[number] - 1];
}

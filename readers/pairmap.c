/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. One thread per map.
 */
#include "readers/pairmap.h"

#include <stdlib.h>

#include "core/hash.h"

#define FIRST_SIZE 64

static struct gt_pairmap_entry *slot_of(const struct gt_pairmap *map, int64_t a, int64_t b)
{
	size_t i = (size_t)gt_hash_pair((uint64_t)a, (uint64_t)b) & (map->size - 1);

	while (map->at[i].is_used && (map->at[i].a != a || map->at[i].b != b))
		i = (i + 1) & (map->size - 1);
	return &map->at[i];
}

static bool grow(struct gt_pairmap *map)
{
	struct gt_pairmap bigger = {.size = map->size ? map->size * 2 : FIRST_SIZE,
				    .used = map->used};

	bigger.at = calloc(bigger.size, sizeof(*bigger.at));
	if (!bigger.at)
		return false;
	for (size_t i = 0; i < map->size; i++)
		if (map->at[i].is_used)
			*slot_of(&bigger, map->at[i].a, map->at[i].b) = map->at[i];
	free(map->at);
	*map = bigger;
	return true;
}

int64_t *gt_pairmap_get(struct gt_pairmap *map, int64_t a, int64_t b)
{
	struct gt_pairmap_entry *entry;

	if (map->used >= map->size / 2 && !grow(map))
		return NULL;
	entry = slot_of(map, a, b);
	if (!entry->is_used) {
		*entry = (struct gt_pairmap_entry){.a = a, .b = b, .is_used = true};
		map->used++;
	}
	return &entry->value;
}

int64_t *gt_pairmap_find(const struct gt_pairmap *map, int64_t a, int64_t b)
{
	struct gt_pairmap_entry *entry = map->size ? slot_of(map, a, b) : NULL;

	return entry && entry->is_used ? &entry->value : NULL;
}

void gt_pairmap_fini(struct gt_pairmap *map)
{
	free(map->at);
	*map = (struct gt_pairmap){0};
}

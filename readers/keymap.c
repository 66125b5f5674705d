/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. One thread per map.
 */
#include "readers/keymap.h"

#include <stdlib.h>

#include "core/hash.h"

static struct gt_keymap_entry *slot_of(const struct gt_keymap *map, uint64_t key)
{
	size_t i = (size_t)gt_hash_word(key);

	while (map->at[i & (map->size - 1)].key && map->at[i & (map->size - 1)].key != key)
		i++;
	return &map->at[i & (map->size - 1)];
}

static bool grow(struct gt_keymap *map)
{
	struct gt_keymap bigger = {.size = map->size ? map->size * 2 : 4096, .used = map->used};

	bigger.at = calloc(bigger.size, sizeof(*bigger.at));
	if (!bigger.at)
		return false;
	for (size_t i = 0; i < map->size; i++)
		if (map->at[i].key)
			*slot_of(&bigger, map->at[i].key) = map->at[i];
	free(map->at);
	*map = bigger;
	return true;
}

struct gt_keymap_entry *gt_keymap_get(struct gt_keymap *map, uint64_t key)
{
	struct gt_keymap_entry *entry;

	if (map->used >= map->size / 2 && !grow(map))
		return NULL;
	entry = slot_of(map, key);
	if (!entry->key)
		map->used++;
	entry->key = key;
	return entry;
}

const struct gt_keymap_entry *gt_keymap_find(const struct gt_keymap *map, uint64_t key)
{
	const struct gt_keymap_entry *entry = map->size ? slot_of(map, key) : NULL;

	return entry && entry->key == key ? entry : NULL;
}

bool gt_keymap_has(const struct gt_keymap *map, uint64_t key)
{
	return gt_keymap_find(map, key);
}

void gt_keymap_fini(struct gt_keymap *map)
{
	free(map->at);
	*map = (struct gt_keymap){0};
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * A hash map from non-zero keys to numbers. A zeroed struct is empty. One thread per map.
 */
#ifndef GT_READERS_KEYMAP_H
#define GT_READERS_KEYMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A key and its value. */
struct gt_keymap_entry {
	uint64_t key;
	int64_t value;
};

/* The table. */
struct gt_keymap {
	struct gt_keymap_entry *at; /* open addressing */
	size_t size, used;
};

/* The entry of @key, added if missing; valid until the next one is added. NULL: no memory. */
struct gt_keymap_entry *gt_keymap_get(struct gt_keymap *map, uint64_t key);

/* The entry of @key, or NULL. */
const struct gt_keymap_entry *gt_keymap_find(const struct gt_keymap *map, uint64_t key);

/* Whether the key is there. */
bool gt_keymap_has(const struct gt_keymap *map, uint64_t key);

/* Frees the table. A zeroed struct is fine. */
void gt_keymap_fini(struct gt_keymap *map);

#endif

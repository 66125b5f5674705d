/* SPDX-License-Identifier: Apache-2.0
 *
 * A set of non-zero keys, each with a number: what joining files knows of their events. Zeroed it
 * is empty. One thread per map.
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

/* The table; zeroed: empty. */
struct gt_keymap {
	struct gt_keymap_entry *at; /* open addressing */
	size_t size, used;
};

/* The place of @key, made if it is not there, until the next one is made. NULL: no memory. */
struct gt_keymap_entry *gt_keymap_get(struct gt_keymap *map, uint64_t key);

/* The place of @key, or NULL: it is not there. */
const struct gt_keymap_entry *gt_keymap_find(const struct gt_keymap *map, uint64_t key);

/* Whether the key is there. */
bool gt_keymap_has(const struct gt_keymap *map, uint64_t key);

/* Frees the table. Also of a zeroed struct. */
void gt_keymap_fini(struct gt_keymap *map);

#endif

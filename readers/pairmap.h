/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers by pairs of numbers, as a thread's by its process and id. Zeroed it is empty. One thread
 * per map.
 */
#ifndef GT_READERS_PAIRMAP_H
#define GT_READERS_PAIRMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A key and its value, 0 when new. */
struct gt_pairmap_entry {
	int64_t a, b;
	int64_t value;
	bool is_used;
};

/* The table; zeroed: empty. */
struct gt_pairmap {
	struct gt_pairmap_entry *at; /* open addressing */
	size_t size, used;
};

/* The value of a key, made if it is not there, until the next one is made. NULL: no memory. */
int64_t *gt_pairmap_get(struct gt_pairmap *map, int64_t a, int64_t b);

/* The value of a key, or NULL: it is not there. */
int64_t *gt_pairmap_find(const struct gt_pairmap *map, int64_t a, int64_t b);

/* Frees the table. Also of a zeroed struct. */
void gt_pairmap_fini(struct gt_pairmap *map);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Each string once, by number: what makes a million events small. Numbers count from 0 in the order
 * of first sight; number 0 is always the empty string. One thread per table.
 */
#ifndef GT_TRACE_NAMES_H
#define GT_TRACE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "readers/vec.h"

#define GT_NAME_NONE 0u

/* Strings, kept once, by number. */
struct gt_names {
	GT_VEC(const char *) text; /* indexed by number; NUL-terminated */
	GT_VEC(char *) blocks;
	size_t block_left;
	uint32_t *slots;  /* number + 1 */
	uint64_t *hashes; /* indexed by number */
	size_t slot_count, hash_room;
};

/* Starts an empty table; number 0 is "". 0 or -ENOMEM. */
int gt_names_init(struct gt_names *names);
/* Frees the table. Also of a zeroed struct. */
void gt_names_fini(struct gt_names *names);

/* The number of a string of @len bytes, new or old. GT_NAME_NONE when memory is out. */
uint32_t gt_names_put(struct gt_names *names, const char *text, size_t len);

/* The text of a name; valid as long as @names. */
static inline const char *gt_names_get(const struct gt_names *names, uint32_t name)
{
	return names->text.at[name];
}

#endif

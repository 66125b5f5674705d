/* SPDX-License-Identifier: Apache-2.0
 *
 * A growing array, the only one of the analysis: struct { T *at; size_t count, room; }.
 * One thread per array.
 */
#ifndef GT_READERS_VEC_H
#define GT_READERS_VEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#define GT_VEC(type)                                                                               \
	struct {                                                                                   \
		type *at;                                                                          \
		size_t count, room;                                                                \
	}

/* Makes room for one more element of @size bytes after @count. False: no memory. */
static inline bool gt_vec_reserve(void **at, size_t *room, size_t count, size_t size)
{
	size_t bigger = *room ? *room + *room / 2 + 1 : 16;
	void *moved;

	if (count < *room)
		return true;
	if (bigger < count + 1)
		bigger = count + 1;
	moved = realloc(*at, bigger * size);
	if (!moved)
		return false;
	*at = moved;
	*room = bigger;
	return true;
}

/* Room for one more element; false: no memory. The element is vec->at[vec->count]. */
#define gt_vec_grow(vec)                                                                           \
	gt_vec_reserve((void **)&(vec)->at, &(vec)->room, (vec)->count, sizeof(*(vec)->at))

/* Appends @value; false: no memory. */
#define gt_vec_push(vec, value)                                                                    \
	(gt_vec_grow(vec) ? ((vec)->at[(vec)->count++] = (value), true) : false)

#define gt_vec_free(vec)                                                                           \
	do {                                                                                       \
		free((vec)->at);                                                                   \
		(vec)->at = NULL;                                                                  \
		(vec)->count = (vec)->room = 0;                                                    \
	} while (0)

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Events that wait for something, in the order in which they came: a growable array. Drain thread.
 */
#ifndef GT_PIPELINE_OUTPUT_WAITING_H
#define GT_PIPELINE_OUTPUT_WAITING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/schema/event.h"

/* Zeroed: empty. */
struct gt_waiting {
	struct gt_waiting_event {
		struct gt_event event;
		uint64_t since; /* gt_clock_now() when it began to wait */
	} * events;
	size_t count, capacity;
};

/* Appends a copy of @event. False: no room. */
bool gt_waiting_push(struct gt_waiting *waiting, const struct gt_event *event);

#define GT_WAITING_KEY_NODE  0x100u /* it is of a node of a graph */
#define GT_WAITING_KEY_FIXED 0x1ffu /* this bit and the kind, below it: no node changes them */

/* Tells one record of GPU work from another, also when it is read again from the same buffer. */
uint64_t gt_waiting_key(const struct gt_event *event);

/* Whether a key tells what its record is: it does not for nodes of graphs. */
static inline bool gt_waiting_key_is_plain(uint64_t key)
{
	return !(key & GT_WAITING_KEY_NODE);
}

/* The kind in it, if it does. */
static inline uint32_t gt_waiting_key_kind(uint64_t key)
{
	return (uint32_t)key;
}

/* The same of the call. */
static inline uint32_t gt_waiting_key_correlation(uint64_t key)
{
	return (uint32_t)(key >> 32);
}

/* Forgets all of them, and their memory. */
void gt_waiting_free(struct gt_waiting *waiting);

#endif

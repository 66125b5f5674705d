/* SPDX-License-Identifier: Apache-2.0
 *
 * Sorts events by start as far as a bounded window allows: a fixed number of them wait, the
 * earliest comes out first. Tracks of GPU slices are chosen after it. Drain thread only; no
 * allocation after gt_reorder_new.
 */
#ifndef GT_WRITERS_REORDER_H
#define GT_WRITERS_REORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/schema/event.h"

struct gt_reorder;

/* Room for @capacity events. NULL: no memory. */
struct gt_reorder *gt_reorder_new(uint32_t capacity);
void gt_reorder_free(struct gt_reorder *window);

/* True when a pop is needed before the next push. */
bool gt_reorder_full(const struct gt_reorder *window);

/* Copies the event; the window must not be full. */
void gt_reorder_push(struct gt_reorder *window, const struct gt_event *event);

/* The earliest event that starts at or before @until; of equal starts the longer one, then the
 * older one. NULL: none. Valid until the next push. */
const struct gt_event *gt_reorder_pop(struct gt_reorder *window, uint64_t until);

#endif

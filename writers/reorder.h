/* SPDX-License-Identifier: Apache-2.0
 *
 * Puts events in order of their start for as long as that is bounded: a fixed number of them wait,
 * the earliest comes out first. Rows of GPU slices are chosen behind it. Drain thread only; no
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

/* True when the next push needs a pop before it. */
bool gt_reorder_full(const struct gt_reorder *window);

/* Takes a copy of the event; the window must not be full. */
void gt_reorder_push(struct gt_reorder *window, const struct gt_event *event);

/* The earliest event that starts at or before @until: at equal starts the longer one, then the one
 * that came first. NULL: none. Valid until the next push. */
const struct gt_event *gt_reorder_pop(struct gt_reorder *window, uint64_t until);

#endif

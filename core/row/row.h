/* SPDX-License-Identifier: Apache-2.0
 *
 * The shadows of ranges on one GPU track. They come long after the work that they are around, and
 * inner ones before outer ones, so what stood on the track has to be remembered: as the outermost
 * shadows, and as the times at which a shadow must not begin or end. A shadow begins and ends with
 * a slice of its stream; it can only cut a slice of the track if that one is on another track, or
 * if it ends later than its last slice and the next one follows at once.
 *
 * Drain thread only; memory is bounded. What has been forgotten counts as occupied.
 */
#ifndef GT_CORE_ROW_ROW_H
#define GT_CORE_ROW_ROW_H

#include <stdbool.h>
#include <stdint.h>

#include "core/guest/memory.h"

/* ns by which a shadow may end after its last slice. */
#define GT_ROW_SLACK 64u

struct gt_row;

/* An empty row, of @arena. NULL: no memory. */
struct gt_row *gt_row_new(struct gt_arena *arena);

/* A slice of the stream, from @start to @end ns, is on another track. */
void gt_row_passed_by(struct gt_row *row, struct gt_arena *arena, uint64_t start, uint64_t end);

/* A slice of this track begins at @start ns, less than GT_ROW_SLACK after the one before. */
void gt_row_no_gap(struct gt_row *row, struct gt_arena *arena, uint64_t start);

/* True: a slice from @start to @end ns is beside all shadows, or inside those around it. */
bool gt_row_fits(const struct gt_row *row, uint64_t start, uint64_t end);

/* Adds a shadow where it nests with all others and cuts no slice; false: it does not, or that is no
 * longer known, or another one has its extent. */
bool gt_row_add(struct gt_row *row, struct gt_arena *arena, uint64_t start, uint64_t end);

#endif

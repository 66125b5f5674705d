/* SPDX-License-Identifier: Apache-2.0
 *
 * The files of one process that wrote several (--max-size): "name.pt.trace.json" is the first,
 * "name.part2.pt.trace.json" the next, each plain or packed. Pure functions over paths and
 * readings.
 */
#ifndef GT_TRACE_SEGMENT_FILES_H
#define GT_TRACE_SEGMENT_FILES_H

#include <stdbool.h>

#include "readers/chrome/reader.h"

/* Which file of its process, from 1. */
unsigned long gt_segment_number(const char *path);

/* Files of one process stand together, in the order in which they were written. */
int gt_segment_compare(const char *a, const char *b);

/* Whether both belong to one process. */
bool gt_segments_are_of_one(const char *a, const char *b);

/* Calls @see with each earlier file of the process that wrote @trace, in no order, until one call
 * does not return 0, which is returned. -ENOMEM. */
int gt_segments_before(const char *trace, int (*see)(const char *path, void *data), void *data);

/* The same of all other files of the process. */
int gt_segments_beside(const char *trace, int (*see)(const char *path, void *data), void *data);

/* Adds the reading of a later file to that of an earlier one: counts, ledger, what was cut;
 * devices, which the earlier one may have been too early for, and "segment" are taken out of
 * @one. */
int gt_segments_add(struct gt_reading *all, struct gt_reading *one);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * What traces do not hold, and what could not be taken as it stood in them: the ledger, LOST notes,
 * cuts, odd events, filters. Pure over constant models; any thread.
 */
#ifndef GT_ANALYSIS_HOLES_HOLES_H
#define GT_ANALYSIS_HOLES_HOLES_H

#include <stdio.h>

#include "core/schema/metadata.h"
#include "trace/job.h"

/* Lines that say what the traces do not hold and why: the ledger, LOST notes, cuts, odd events.
 * Returns the number of lines written. */
size_t gt_holes_of(const struct gt_job *job, FILE *out);

/* The same of one file that was read without a model: its cut and its ledger. */
size_t gt_holes_of_reading(const struct gt_reading *reading, FILE *out);

/* The same of what the tracer noted and leaves no hole: stalls, options that were changed. */
size_t gt_holes_events(const struct gt_job *job, FILE *out);

/* How many slices may be work of a device that is not known here, where no model has any GPU work;
 * else 0. */
uint64_t gt_holes_unknown_work(const struct gt_job *job);

/* "3 events without a time stamp, left out". */
struct gt_holes_count {
	uint64_t count;
	const char *noun, *rest;
};

/* A line for each that is not 0. Returns the number of lines written. */
size_t gt_holes_print_counts(const struct gt_holes_count *counts, size_t count, FILE *out);

/* What filters left out while the trace was recorded, "kernels=*gemm*" (docs/capture.md). False:
 * there were none. */
bool gt_holes_filters(const struct gt_reading *reading, char ret_filters[GT_METADATA_FILTERS]);

/* Whether they left GPU work out, so that busy time is not that of the device. */
bool gt_holes_lack_work(const struct gt_reading *reading);

/* Do sums of these traces hold all that happened? false: a file is cut, or its process did not
 * close it and no ledger tells what is missing; calls, records or ranges were lost; times cannot be
 * right; more than 1 % of the launches have no GPU work, or of the calls no end. A comparison may
 * find less than there was. */
bool gt_holes_whole(const struct gt_job *job);

#endif

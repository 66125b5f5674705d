/* SPDX-License-Identifier: Apache-2.0
 *
 * What a GPU can compute at most, by type (peaks.def). Pure functions, any thread.
 */
#ifndef GT_ANALYSIS_USAGE_PEAKS_H
#define GT_ANALYSIS_USAGE_PEAKS_H

#include "trace/model.h"

/* FLOP/s; 0: not known for this GPU (a MIG slice has fewer SMs) or this type. */
double gt_peak_of(const char *gpu, int64_t major, int64_t minor, int64_t sms,
		  enum gt_work_type type);

/* Bytes per second of its memory; 0: not known, for a MIG slice, too. */
double gt_peak_bandwidth(const char *gpu, int64_t major, int64_t minor, int64_t sms);

/* What the header says of a device; NULL: nothing. */
const struct gt_header_device *gt_peak_device(const struct gt_model *model, uint16_t device);

/* FLOP/s of a device of a model, as gt_peak_of. */
double gt_peak_of_device(const struct gt_model *model, uint16_t device, enum gt_work_type type);

/* "FP64", "TF32"; "-": not known. */
const char *gt_peak_type_name(enum gt_work_type type);

#endif

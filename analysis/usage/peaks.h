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

/* The same of a device of a model. */
double gt_peak_of_device(const struct gt_model *model, uint16_t device, enum gt_work_type type);

/* "FP64", "TF32"; "-": not known. */
const char *gt_peak_type_name(enum gt_work_type type);

#endif

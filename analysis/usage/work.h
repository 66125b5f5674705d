/* SPDX-License-Identifier: Apache-2.0
 *
 * How much the calls behind kernels compute: those of libraries (run --libraries=cublas), or
 * operators of PyTorch with known shapes. Pure over constant models, any thread.
 */
#ifndef GT_ANALYSIS_USAGE_WORK_H
#define GT_ANALYSIS_USAGE_WORK_H

#include "trace/model.h"

/* The call that a kernel works for. NULL: it is not known how much that computes. */
const struct gt_model_work *gt_work_of_op(const struct gt_model *model, const struct gt_op *op);

/* A number of the call, in the model: that of all its kernels. */
uint64_t gt_work_call(const struct gt_model *model, const struct gt_model_work *work);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Which times of a thread went into loading or compiling kernels, from the overhead slices that
 * CUPTI has of it. One thread.
 */
#ifndef GT_TRACE_LOAD_MODEL_LOADING_H
#define GT_TRACE_LOAD_MODEL_LOADING_H

#include "trace/load/model_build.h"

/* Finds them among the ranges, which are all there. 0 or -ENOMEM. */
int gt_build_loadings(struct gt_builder *b);

#endif

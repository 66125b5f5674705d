/* SPDX-License-Identifier: Apache-2.0
 *
 * How much a call computes, and in which type: from its arguments, as a trace has them. Pure
 * functions, any thread.
 */
#ifndef GT_TRACE_LOAD_WORK_H
#define GT_TRACE_LOAD_WORK_H

#include "trace/model.h"

/* What cublasComputeType_t @compute makes of operands of the type @a (core/schema/math_call.h). */
enum gt_work_type gt_work_type_of(uint8_t compute, uint8_t a);

/* Sets flops, bytes, type and overflow of a product of PyTorch, @name "aten::addmm", from its
 * "Input Dims" and "Input type" in JSON; @types NULL: not known. By the formulas of
 * torch/csrc/profiler/util.cpp, which with_flops has. False: it is none, or its shapes are not
 * those of one. */
bool gt_work_of_operator(const char *name, const char *dims, size_t dims_length, const char *types,
			 size_t types_length, struct gt_model_work *ret_work);

#endif

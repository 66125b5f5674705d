/* SPDX-License-Identifier: Apache-2.0
 *
 * Whose code a frame is: the user's, or a library's by its path, module or function
 * (core/json/user_code.def). What asked for GPU work is the innermost frame of the user's.
 */
#ifndef GT_TRACE_USER_CODE_H
#define GT_TRACE_USER_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/json/code_owner.h"
#include "trace/model.h"

/* How good a frame is as the place of a launch: the innermost of the best ones is taken. */
enum gt_frame_rank {
	GT_FRAME_LINE = 1,  /* its source line is known */
	GT_FRAME_USER = 2,  /* it is not a library's */
	GT_FRAME_NAMED = 4, /* --user-code names it */
};

/* Sum of enum gt_frame_rank for a frame. @globs: --user-code, patterns (*, ?) that the source
 * file, the module or the function must fit. Pure, any thread. */
uint8_t gt_user_code_rank(const char *frame, const char *const *globs, size_t count);

/* How much the frame tells in "launched by". Pure, any thread. */
enum gt_line_class gt_user_code_line_class(const char *frame);

/* Whether NVTX ranges of that domain may be the user's. Pure, any thread. */
bool gt_user_code_has_domain(const char *domain);

/* Ranks all frames of a model (model->ranks): from then on the user's are preferred. What the
 * backward pass launched without one of them counts for the stack of its forward operator, if the
 * trace has that: its frames, GT_FRAME_BACKWARD before each, become the outer ones. -ENOMEM. */
int gt_user_code_mark(struct gt_model *model, const char *const *globs, size_t count);

/* The rank of the frame with the name number @name. Where the model is not marked all code is the
 * user's. */
uint8_t gt_user_code_rank_of(const struct gt_model *model, uint32_t name);

/* The launching frame of a stack, a name number, and its rank: the nearest of the best rank, of
 * libraries one whose function is known before an address. GT_NAME_NONE, 0: no stack. */
uint32_t gt_user_code_launching(const struct gt_model *model, uint32_t stack, uint8_t *ret_rank);

/* The stack of the forward operator of a launch, or GT_NONE. */
uint32_t gt_user_code_forward(const struct gt_model *model, int64_t correlation);

#endif

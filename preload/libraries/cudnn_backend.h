/* SPDX-License-Identifier: Apache-2.0
 *
 * What the plans of cuDNN's backend compute: followed from tensors to operations, graphs, engines
 * and plans as the program sets their attributes, since a plan cannot be asked. Any thread; no
 * lock, no allocation, no system call once the functions are known.
 */
#ifndef GT_PRELOAD_LIBRARIES_CUDNN_BACKEND_H
#define GT_PRELOAD_LIBRARIES_CUDNN_BACKEND_H

#include "core/schema/math_call.h"
#include "preload/libraries/real.h"

/* Where its functions are looked for. */
extern const struct real_library cudnn_library;

/* cudnnStatus_t, of this cuDNN, of a function that it does not have. */
int cudnn_not_supported(void);

/* Of 8 and of 9 it is known what descriptors hold; of another version it is said once. */
bool cudnn_is_known(void);

/* Sets what @plan computes; nothing of one that was made otherwise, and no sizes if @pack has
 * others.
 */
void cudnn_use_plan(const void *plan, const void *pack, struct gt_math_call *call);

/* Set what the legacy descriptors say; nothing without them. */
void cudnn_use_tensor(const void *tensor, struct gt_math_call *call);
void cudnn_use_convolution(const void *x, const void *w, const void *convolution, int algorithm,
			   struct gt_math_call *call);

#endif

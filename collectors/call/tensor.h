/* SPDX-License-Identifier: Apache-2.0
 *
 * A block of PyTorch's allocator as a record of the thread that allocates, with its call stack.
 */
#ifndef GT_COLLECTORS_CALL_TENSOR_H
#define GT_COLLECTORS_CALL_TENSOR_H

#include "collectors/call/call.h"
#include "core/schema/tensor_sink.h"

/* Has libgputrace-torch.so call gt_call_put_tensor from now on. False: it is not loaded. */
bool gt_tensors_listen(void);

/* Puts a record of the type GT_RECORD_TENSOR: struct gt_call_record, addresses, frames, struct
 * gt_tensor. Only of devices; a full ring is counted (GT_THREAD_TENSORS_LOST). */
void gt_call_put_tensor(const struct gt_tensor *tensor);

/* The tensor of such a record, which is whole. */
static inline const struct gt_tensor *gt_call_tensor(const struct gt_call_record *record)
{
	return (const void *)(record->pcs + record->frame_count + record->python_count);
}

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * --memory: records of PyTorch's allocator (collectors/call/tensor.h) as events. Drain thread.
 */
#ifndef GT_PIPELINE_SOURCES_TENSORS_H
#define GT_PIPELINE_SOURCES_TENSORS_H

struct gt_call_record;
struct gt_calls;

/* One record. */
void gt_tensors_take(struct gt_calls *calls, const struct gt_call_record *record);

#endif

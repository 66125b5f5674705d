/* SPDX-License-Identifier: Apache-2.0
 *
 * What libgputrace-torch.so (preload/torch) hands to libgputrace.so: each block that PyTorch's
 * allocator gives out or takes back.
 */
#ifndef GT_CORE_SCHEMA_TENSOR_SINK_H
#define GT_CORE_SCHEMA_TENSOR_SINK_H

#include <stdint.h>

/* soname of the one, and its variable that the other sets: _Atomic(gt_tensor_sink), NULL at first.
 */
#define GT_TENSOR_LIBRARY  "libgputrace-torch.so"
#define GT_TENSOR_VARIABLE "gputrace_tensor_sink"

/* A block of PyTorch's caching allocator. */
struct gt_tensor {
	uint64_t address;
	int64_t bytes;                /* below 0: it was taken back */
	uint64_t allocated, reserved; /* of the device, behind that */
	int32_t device_type, device;  /* c10::DeviceType, index */
};

/* On the thread that allocates. No lock, no allocation, no system call once that is known. */
typedef void (*gt_tensor_sink)(const struct gt_tensor *tensor);

#endif

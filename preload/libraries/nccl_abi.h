/* SPDX-License-Identifier: Apache-2.0
 *
 * What of nccl.h the wrappers need, 2.7 to 2.30: enums are ints, handles are pointers.
 */
#ifndef GT_PRELOAD_LIBRARIES_NCCL_ABI_H
#define GT_PRELOAD_LIBRARIES_NCCL_ABI_H

#include <stddef.h>

/* ncclResult_t */
#define NCCL_SUCCESS       0
#define NCCL_INVALID_USAGE 5
#define NCCL_IN_PROGRESS   7

#define NCCL_SPLIT_NOCOLOR (-1)

/* ncclUniqueId, which is passed by value. */
struct nccl_unique_id {
	char internal[128];
};

/* ncclComm_t */
typedef void *nccl_comm;

#endif

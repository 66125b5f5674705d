/* SPDX-License-Identifier: Apache-2.0
 *
 * NCCL's own functions. Any thread; what the first call of each costs is said in behind.h.
 */
#ifndef GT_PRELOAD_LIBRARIES_NCCL_REAL_H
#define GT_PRELOAD_LIBRARIES_NCCL_REAL_H

#include "core/schema/library_call.h"

/* Also called, besides the functions that are interposed. */
enum nccl_helper {
	NCCL_COMM_COUNT,
	NCCL_COMM_USER_RANK,
	NCCL_COMM_CU_DEVICE,
	NCCL_COMM_ASYNC_ERROR,
	NCCL_HELPER_COUNT_
};

/* For the module of @caller. NULL: it has none, nor has any other. errno is kept. */
void *nccl_real_of(enum gt_nccl_function function, const void *caller);

/* In a function that takes the place of one of NCCL. */
#define nccl_real(function) nccl_real_of(function, __builtin_return_address(0))

/* Of the library that this thread went on to last. */
void *nccl_helper(enum nccl_helper helper);

#endif

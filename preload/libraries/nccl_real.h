/* SPDX-License-Identifier: Apache-2.0
 *
 * NCCL's own functions. Any thread; a lock of the loader the first time each is asked for, none
 * later.
 */
#ifndef GT_PRELOAD_LIBRARIES_NCCL_REAL_H
#define GT_PRELOAD_LIBRARIES_NCCL_REAL_H

#include "core/schema/library_call.h"

/* Also called, besides the functions that are interposed. */
enum nccl_helper { NCCL_COMM_COUNT, NCCL_COMM_USER_RANK, NCCL_COMM_CU_DEVICE, NCCL_HELPER_COUNT_ };

/* NULL: this NCCL has none, or there is no NCCL. errno is kept. */
void *nccl_real(enum gt_nccl_function function);

/* See nccl_real(). */
void *nccl_helper(enum nccl_helper helper);

#endif

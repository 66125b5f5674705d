/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations that NCCL has begun, their proxy operations, and what these wait for. NCCL holds
 * numbers in place of pointers, so that one that is too old, or of another process, finds nothing.
 * Application threads, those of NCCL's proxies too: no lock, no allocation, no system call. What
 * has no room is counted by the caller.
 */
#ifndef GT_PRELOAD_NCCL_OPERATIONS_H
#define GT_PRELOAD_NCCL_OPERATIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/schema/library_call.h"

/* What the proxies of an operation have waited for since it was last asked. */
struct nccl_sums {
	struct gt_library_call call;
	uint64_t number, began, ended; /* CLOCK_MONOTONIC ns */
};

/* What a handle is of. */
enum nccl_handle_kind {
	NCCL_HANDLE_NONE,
	NCCL_HANDLE_OPERATION,
	NCCL_HANDLE_PROXY,
	NCCL_HANDLE_STEP
};

/* A number that stands for an event: NULL is none. */
enum nccl_handle_kind nccl_handle_kind(const void *handle);

/* Another operation. @ret_number: its own, from 1. NULL: those before have taken all room. */
void *nccl_operation_begin(const struct gt_library_call *call, uint64_t *ret_number);

/* A proxy operation of @steps transfers begins. NULL: no room, or its operation is gone. */
void *nccl_proxy_begin(void *operation, bool sends, int steps);

/* It ends. True: it was the last one that was open of its operation, and *ret_sums is to be told.
 */
bool nccl_proxy_end(void *proxy, struct nccl_sums *ret_sums);

/* A transfer of @proxy begins; is in another state (NCCL_STATE_); ends, and with the last one the
 * proxy operation, whose end is not always told. */
void *nccl_step_begin(void *proxy, int step);
void nccl_step_state(void *step, int state, uint64_t bytes);
bool nccl_step_end(void *step, struct nccl_sums *ret_sums);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * One CUDA call on the application's thread, from entering to returning: stamps the clock, captures
 * the stack into the slot reserved in the thread's ring, commits the slot at the end. Called by the
 * CUPTI callback and, without CUPTI, by the hooks; both make the same record.
 *
 * Application threads. No lock, no allocation, no system call once the thread has been seen.
 */
#ifndef GT_COLLECTORS_CALL_H
#define GT_COLLECTORS_CALL_H

#include <stdint.h>

#include "core/event.h"

/* @correlation 0: give it one of our own (hooks-only). A call inside a recorded call is counted, not
 * recorded: the user sees the outermost. errno is kept. */
void gt_call_enter(enum gt_api_domain domain, uint32_t cbid, uint32_t correlation);

/* @result: the cudaError_t or CUresult that the call returned. */
void gt_call_exit(enum gt_api_domain domain, uint32_t cbid, int32_t result);

#endif

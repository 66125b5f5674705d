/* SPDX-License-Identifier: Apache-2.0
 *
 * How many CUDA contexts are alive, and what a call that destroys one leaves. Decides how records
 * are fetched before it: a forced flush takes those of running work of all contexts.
 */
#ifndef GT_COLLECTORS_CUPTI_CONTEXTS_H
#define GT_COLLECTORS_CUPTI_CONTEXTS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/schema/cuda_api.h"

/* What is left when a call has destroyed a context. */
enum gt_cupti_left {
	GT_CUPTI_LEFT_ALL,    /* it destroys none: other references to the context exist */
	GT_CUPTI_LEFT_OTHERS, /* other contexts, which may have work in progress */
	GT_CUPTI_LEFT_NONE,   /* as far as known, no context */
};

/* Nothing is known: CUPTI becomes ours, now or again. */
void gt_cupti_contexts_forget(void);

/* CUPTI's callbacks, any thread: a context was created, is being destroyed, a primary context got
 * one more reference by a call with @params (CUPTI's functionParams). */
void gt_cupti_contexts_created(void);
void gt_cupti_contexts_destroyed(void);
void gt_cupti_contexts_retained(const void *params);

/* How many were created, destroyed ones among them. Any thread. */
uint32_t gt_cupti_contexts_made(void);

/* Whether there is more than one. Any thread. */
bool gt_cupti_contexts_several(void);

/* cuDevicePrimaryCtxRetain, to be reported by _retained. */
#define GT_CUPTI_RETAIN 386u

/* Whether the call is that one. */
bool gt_cupti_contexts_is_retain(enum gt_api_domain domain, uint32_t cbid);

/* At the entry of a call with GT_CUDA_FLUSH_BEFORE. @params: CUPTI's functionParams. Any thread. */
enum gt_cupti_left gt_cupti_contexts_after(enum gt_api_domain domain, uint32_t cbid,
					   const void *params);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a call copies or sets anything: one of no bytes starts no GPU work, and has no record.
 * Application threads.
 */
#ifndef GT_COLLECTORS_CUPTI_LIBRARY_EXTENTS_H
#define GT_COLLECTORS_CUPTI_LIBRARY_EXTENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/schema/event.h"

/* True: it copies or sets no bytes. @parameters: of the call, as CUPTI's callback has them. False
 * also for calls that are not in extents.def. O(1). */
bool gt_cupti_is_of_nothing(enum gt_api_domain domain, uint32_t cbid, const void *parameters);

#endif

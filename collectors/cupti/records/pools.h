/* SPDX-License-Identifier: Apache-2.0
 *
 * Records of allocations and memory pools -> the counter of what pools hold, --memory. Allocations
 * themselves come from the calls' parameters (library/blocks.h). Drain thread only.
 */
#ifndef GT_COLLECTORS_CUPTI_RECORDS_POOLS_H
#define GT_COLLECTORS_CUPTI_RECORDS_POOLS_H

#include "collectors/cupti/records/translate.h"

/* Translates one CUpti_ActivityMemory3 or 4. */
void gt_translate_pool_use(struct gt_translate *translate, const void *record);

/* Translates one CUpti_ActivityMemoryPool2 or 3. */
void gt_translate_pool(struct gt_translate *translate, const void *record);

#endif

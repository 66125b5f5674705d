/* SPDX-License-Identifier: Apache-2.0
 *
 * Records of unified memory -> struct gt_event, --unified-memory. Drain thread only.
 */
#ifndef GT_COLLECTORS_CUPTI_RECORDS_PAGES_H
#define GT_COLLECTORS_CUPTI_RECORDS_PAGES_H

#include "collectors/cupti/records/translate.h"

/* Translates one CUpti_ActivityUnifiedMemoryCounter2 or 3. */
void gt_translate_pages(struct gt_translate *translate, const void *record);

#endif

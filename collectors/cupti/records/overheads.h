/* SPDX-License-Identifier: Apache-2.0
 *
 * Records of what CUPTI itself takes, and of kernels that the driver loads or compiles, -> struct
 * gt_event. Drain thread only.
 */
#ifndef GT_COLLECTORS_CUPTI_RECORDS_OVERHEADS_H
#define GT_COLLECTORS_CUPTI_RECORDS_OVERHEADS_H

#include "collectors/cupti/records/translate.h"

/* Translates one CUpti_ActivityOverhead, of any number. */
void gt_translate_overhead(struct gt_translate *translate, const void *record);

#endif

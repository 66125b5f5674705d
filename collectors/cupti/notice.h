/* SPDX-License-Identifier: Apache-2.0
 *
 * What CUPTI reports about itself that is not fatal: an error or a warning (CUPTI_CB_DOMAIN_STATE),
 * kept until the drain thread writes it into the trace. One at a time: of those that come meanwhile
 * only the number is kept.
 */
#ifndef GT_COLLECTORS_CUPTI_NOTICE_H
#define GT_COLLECTORS_CUPTI_NOTICE_H

#include <stdbool.h>

#include "collectors/cupti/cupti.h"

/* CUPTI reports @result and perhaps @message, which need not last. Application threads, in a
 * callback; no lock. */
void gt_cupti_notice_put(bool is_warning, int result, const char *message);

#endif

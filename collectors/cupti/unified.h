/* SPDX-License-Identifier: Apache-2.0
 *
 * --unified-memory: page faults and migrations of managed memory, which CUPTI counts once it was
 * told which. It is to be told when the driver is initialized (its header), so not while cuInit
 * runs, by no thread: first when that has finished, then with each context and by the drain thread.
 */
#ifndef GT_COLLECTORS_CUPTI_UNIFIED_H
#define GT_COLLECTORS_CUPTI_UNIFIED_H

#include <stdbool.h>
#include <stddef.h>

#include "collectors/cupti/internal.h"

/* With the other kinds: enables it, or puts it off as long as the driver may not be initialized.
 * The starting thread, or the drain thread. */
void gt_cupti_unified_enable(const struct gt_config *config);

/* What was put off, if it was. In CUPTI's callback for a driver or context that is ready. */
void gt_cupti_unified_retry(void);

/* Before CUPTI stops to record for a while, or for good. */
void gt_cupti_unified_disable(void);

#endif

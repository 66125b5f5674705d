/* SPDX-License-Identifier: Apache-2.0
 *
 * --unified-memory: page faults and migrations of managed memory, which CUPTI counts once it was
 * told which. It wants a driver that is initialized.
 */
#ifndef GT_COLLECTORS_CUPTI_UNIFIED_H
#define GT_COLLECTORS_CUPTI_UNIFIED_H

#include <stdbool.h>
#include <stddef.h>

#include "collectors/cupti/internal.h"

/* With the other kinds: enables it, or puts it off until there is a context. The starting thread,
 * or the drain thread. */
void gt_cupti_unified_enable(const struct gt_config *config);

/* There is a context: what was put off. On the thread that made it. */
void gt_cupti_unified_context(void);

/* Before CUPTI stops to record for a while, or for good. */
void gt_cupti_unified_disable(void);

#endif

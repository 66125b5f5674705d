/* SPDX-License-Identifier: Apache-2.0
 *
 * Work that is done and not delivered: CUPTI returns a buffer when all work in it is done, and
 * writes the records of what is done before.
 */
#ifndef GT_COLLECTORS_CUPTI_LENT_H
#define GT_COLLECTORS_CUPTI_LENT_H

#include <stdint.h>

/* GPU operations that are done, in buffers that CUPTI has now; fewer when it returns one. @version:
 * CUPTI's, uint32_t, 0: not known. Drain thread, which frees buffers. */
uint64_t gt_cupti_lent_done(const void *version);

#endif

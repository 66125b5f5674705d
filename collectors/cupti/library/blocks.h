/* SPDX-License-Identifier: Apache-2.0
 *
 * What a call did with memory, from CUPTI's copy of its parameters (blocks.def): with --memory.
 * Application threads, inside the callback.
 */
#ifndef GT_COLLECTORS_CUPTI_LIBRARY_BLOCKS_H
#define GT_COLLECTORS_CUPTI_LIBRARY_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/schema/event.h"

/* Fills @ret_block at the end of a call; the device is known only of physical memory. False: the
 * call has nothing to do with memory, or nothing happened (cudaFree of NULL). */
bool gt_cupti_block_of(enum gt_api_domain domain, uint32_t cbid, const void *parameters,
		       bool failed, struct gt_block *ret_block);

/* Whether the call is one of those. */
bool gt_cupti_has_block(enum gt_api_domain domain, uint32_t cbid);

/* Whether it ends the context, and with it all of its memory. */
bool gt_cupti_ends_blocks(enum gt_api_domain domain, uint32_t cbid);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * What all sources share: interned text, the modules of the process and what their addresses are
 * called, stacks. Made on the thread that starts the session, then the drain thread's.
 */
#ifndef GT_PIPELINE_SOURCES_STORES_H
#define GT_PIPELINE_SOURCES_STORES_H

#include <stddef.h>

#include "collectors/symbols/demangle.h"
#include "collectors/symbols/modules.h"
#include "collectors/symbols/symbols.h"
#include "core/config.h"
#include "core/intern.h"
#include "core/stack.h"

/* The stores. */
struct gt_stores {
	struct gt_intern *strings;
	struct gt_demangle *demangle;
	struct gt_modules *modules;
	struct gt_symbols *symbols;
	struct gt_stacks *stacks;
};

/* Makes them, with the memory that the options allow. -ENOMEM: _fini is still due. */
int gt_stores_init(struct gt_stores *stores, const struct gt_config *config);

/* Frees them; only where there are no threads (recovery). Also of a zeroed struct. */
void gt_stores_fini(struct gt_stores *stores);

/* The part of --max-rss of a store that may take @whole bytes of 1 GiB. */
size_t gt_stores_share(const struct gt_config *config, size_t whole);

#endif

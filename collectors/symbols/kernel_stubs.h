/* SPDX-License-Identifier: Apache-2.0
 *
 * Which functions of a module nvcc made: for each kernel a host function with the kernel's own
 * name, whose address stands for it in <<<>>>, and a stub __device_stub__<kernel> that it calls. A
 * user who asks where a kernel was launched does not want to hear "in a function called like the
 * kernel". Drain thread only.
 */
#ifndef GT_COLLECTORS_SYMBOLS_KERNEL_STUBS_H
#define GT_COLLECTORS_SYMBOLS_KERNEL_STUBS_H

#include <stdbool.h>
#include <stdint.h>

#include "collectors/symbols/demangle.h"
#include "collectors/symbols/table.h"

/* The stubs of a symbol table, sorted by the kernel that they are made for. */
struct gt_kernel_stubs {
	uint32_t *symbols; /* indexes into the table */
	uint32_t count;
	size_t bytes; /* of symbols */
};

/* Finds the stubs in @table. -ENOMEM: over @max_bytes; then there are none. */
int gt_kernel_stubs_init(struct gt_kernel_stubs *stubs, const struct gt_symbol_table *table,
			 size_t max_bytes);

/* Also of a zeroed struct. */
void gt_kernel_stubs_fini(struct gt_kernel_stubs *stubs);

/* Is the function with the mangled @name the host's side of a kernel, or a stub? */
bool gt_kernel_stubs_has(const struct gt_kernel_stubs *stubs, const struct gt_symbol_table *table,
			 struct gt_demangle *demangle, const char *name);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of a module that nvcc made: for each kernel a host function with the kernel's own name,
 * whose address identifies it in <<<>>>, and a stub __device_stub__<kernel> that it calls. They are
 * hidden, as a user who asks where a kernel was launched wants neither. Drain thread only.
 */
#ifndef GT_COLLECTORS_SYMBOLS_KERNEL_STUBS_H
#define GT_COLLECTORS_SYMBOLS_KERNEL_STUBS_H

#include <stdbool.h>
#include <stdint.h>

#include "collectors/symbols/demangle.h"
#include "collectors/symbols/table.h"

/* The stubs of a symbol table, sorted by kernel. */
struct gt_kernel_stubs {
	uint32_t *symbols; /* indexes into the table */
	uint32_t count;
	size_t bytes; /* of symbols */
};

/* Finds the stubs in @table. -ENOMEM: over @max_bytes; then there are none. */
int gt_kernel_stubs_init(struct gt_kernel_stubs *stubs, const struct gt_symbol_table *table,
			 size_t max_bytes);

/* A zeroed struct is fine. */
void gt_kernel_stubs_fini(struct gt_kernel_stubs *stubs);

/* Whether the function with the mangled @name is a kernel's host function or stub. */
bool gt_kernel_stubs_has(const struct gt_kernel_stubs *stubs, const struct gt_symbol_table *table,
			 struct gt_demangle *demangle, const char *name);

#endif

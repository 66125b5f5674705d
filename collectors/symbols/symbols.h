/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of return addresses: the function from the ELF symbol tables of the module's file (or its
 * debug file), demangled. A module's table is read at its first address. An address without a name
 * has its module and offset; one outside all modules counts as JIT code. Drain thread only: opens
 * files, sorts, demangles.
 */
#ifndef GT_COLLECTORS_SYMBOLS_SYMBOLS_H
#define GT_COLLECTORS_SYMBOLS_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

#include "collectors/symbols/demangle.h"
#include "collectors/symbols/modules.h"
#include "core/stack.h"

struct gt_symbols;

/* @max_bytes bounds frames and sorted tables; beyond it addresses have no name. No argument is
 * owned. NULL: no memory. */
struct gt_symbols *gt_symbols_new(struct gt_modules *modules, struct gt_demangle *demangle,
				  size_t max_bytes);

/* To be called before gt_modules_free. Frees the frames, too. */
void gt_symbols_free(struct gt_symbols *symbols);

/* Modules whose names were not read: over @max_bytes. */
uint64_t gt_symbols_refused(const struct gt_symbols *symbols);

/* The frame of the return address @pc: a gt_frame_find_fn, @context is the struct gt_symbols. */
const struct gt_stack_frame *gt_symbols_find_frame(void *context, uint64_t pc);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Which definition of a name would a call have reached if this library were not here? The rules of
 * the dynamic loader, worked out from what is mapped: first the global scope behind us, then the
 * caller's own dependencies. RTLD_NEXT answers another question: it is NULL when libcudart came in
 * by an RTLD_LOCAL dlopen, and takes the wrong one when two are mapped.
 *
 * Everything here runs inside a dl_iterate_phdr callback of base-namespace objects, whose lock
 * keeps all objects mapped and all other threads out. No allocation, no system call, no dl* call
 * but dl_iterate_phdr.
 */
#ifndef GT_PRELOAD_SCOPE_H
#define GT_PRELOAD_SCOPE_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What has changed since the last refresh. */
enum gt_scope_change {
	GT_SCOPE_SAME,
	GT_SCOPE_GREW,   /* objects were added, all others stayed */
	GT_SCOPE_SHRANK, /* objects went: nothing known before holds */
};

/* What a look-up found. */
struct gt_scope_answer {
	uintptr_t address; /* of the definition, 0: none */
	bool firm;         /* as the loader would have bound it, as long as the caller is mapped */
	bool guessed;      /* several runtimes could be meant */
};

/* Brings the picture up to date. @info: what the callback got. */
enum gt_scope_change gt_scope_refresh(const struct dl_phdr_info *info);

/* Objects mapped, as of the last refresh. */
size_t gt_scope_count(void);

/* How many of them are CUDA runtimes (libcudart of any name and version). */
size_t gt_scope_runtimes(void);

/* The extent of the object that @address lies in. False: in none (generated code). */
bool gt_scope_extent(uintptr_t address, uintptr_t *ret_start, size_t *ret_size);

/*
 * The definition of @name that code at @address would have called. In this order:
 *   1. the first in the global scope behind this library that has the version the caller needs;
 *      that honours other interposers that were preloaded after us
 *   2. the first in the caller and its dependencies, breadth first
 *   3. the mapped runtime with the version that the caller needs
 *   4. the only mapped runtime that has @name; of several the first loaded (guessed)
 * Objects in front of us are no answer: the loader would have taken them before us.
 */
struct gt_scope_answer gt_scope_find(uintptr_t address, const char *name);

/* The same for a @name that is not the runtime's, of whatever version: 1 and 2, then the first
 * object behind us that defines it. 0: none. */
uintptr_t gt_scope_find_any(uintptr_t address, const char *name);

/* The path that the object at @address was loaded by, "" of the program; valid as long as it is
 * mapped. NULL: in none. */
const char *gt_scope_path(uintptr_t address);

/* Whether both lie in one object. */
bool gt_scope_same(uintptr_t one, uintptr_t other);

/* @name in any object; *ret_end is the end of that object. 0: none. */
uintptr_t gt_scope_symbol(const char *name, const char *version, uintptr_t *ret_end);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Which shared objects lay where: the loader's list (dl_iterate_phdr), looked at again when the
 * loader says that it changed, and the objects that have gone since.
 * Drain thread only. Takes the loader's list lock for a moment; never dlopen, dlsym, dladdr.
 */
#ifndef GT_COLLECTORS_SYMBOLS_MODULES_H
#define GT_COLLECTORS_SYMBOLS_MODULES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/intern.h"

#define GT_BUILD_ID_MAX 32

/* A loaded object of the process. */
struct gt_module {
	const struct gt_string *path; /* whole, as far as it could be had */
	uint64_t bias;                /* address in memory - address in the file's tables */
	uint64_t start, end;          /* of all its segments */
	uint8_t build_id[GT_BUILD_ID_MAX];
	uint32_t build_id_size;                /* bytes, 0: has none */
	const struct gt_string *build_id_text; /* hexadecimal, NULL: has none */
	bool is_main;                          /* the program */
	bool is_vdso;                          /* has no file; its image is whole at start */
	bool is_loaded;
	bool ours;     /* the tracer's, the CUDA runtime's or the driver's */
	void *symbols; /* belongs to collectors/symbols/symbols.c */
};

struct gt_modules;

/* Told of a module that is no longer loaded; it stays in the map. */
typedef void (*gt_module_gone_fn)(void *context, const struct gt_module *module);

/* An empty map; names go to @pool. @gone may be NULL. Returns NULL on lack of memory. */
struct gt_modules *gt_modules_new(struct gt_intern *pool, gt_module_gone_fn gone, void *context);
void gt_modules_free(struct gt_modules *modules);

/* Looks at the loader's list if it has changed since the last time. Returns true when it had. */
bool gt_modules_refresh(struct gt_modules *modules);

/* For recovery: the modules that the process of a spool had. */
struct gt_spool_view;
void gt_modules_restore(struct gt_modules *modules, const struct gt_spool_view *view);

/* The module around the address @pc, one that is loaded before one that has gone. NULL: none. */
struct gt_module *gt_modules_find(const struct gt_modules *modules, uint64_t pc);

/* All modules seen so far are 0 .. count - 1, in the order they were first seen. */
uint32_t gt_modules_count(const struct gt_modules *modules);
struct gt_module *gt_modules_at(const struct gt_modules *modules, uint32_t index);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Which shared object was at which address: the loader's list (dl_iterate_phdr), read again when
 * the loader reports a change, and objects that have been unloaded since. Drain thread only. Holds
 * the loader's list lock briefly; never dlopen, dlsym, dladdr.
 */
#ifndef GT_COLLECTORS_SYMBOLS_MODULES_H
#define GT_COLLECTORS_SYMBOLS_MODULES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/intern.h"

#define GT_BUILD_ID_MAX 32

/* A loaded object of the process. */
struct gt_module {
	const struct gt_string *path; /* absolute, if it could be resolved */
	uint64_t bias;                /* address in memory - address in the file's tables */
	uint64_t start, end;          /* of all its segments */
	uint8_t build_id[GT_BUILD_ID_MAX];
	uint32_t build_id_size;                /* bytes, 0: has none */
	const struct gt_string *build_id_text; /* hexadecimal, NULL: has none */
	bool is_main;                          /* the program */
	bool is_vdso;                          /* has no file; the whole image is at start */
	bool is_loaded;
	bool ours;     /* the tracer's, the CUDA runtime's or the driver's */
	void *symbols; /* belongs to collectors/symbols/symbols.c */
};

struct gt_modules;

/* Called when a module is no longer loaded; it stays in the map. */
typedef void (*gt_module_gone_fn)(void *context, const struct gt_module *module);

/* An empty map; names go to @pool. @gone may be NULL. Returns NULL on lack of memory. */
struct gt_modules *gt_modules_new(struct gt_intern *pool, gt_module_gone_fn gone, void *context);
void gt_modules_free(struct gt_modules *modules);

/* Reads the loader's list if it has changed. Returns true when it had. */
bool gt_modules_refresh(struct gt_modules *modules);

/* For recovery: restores the modules of a spool's process. */
struct gt_spool_view;
void gt_modules_restore(struct gt_modules *modules, const struct gt_spool_view *view);

/* The module around the address @pc; a loaded one before an unloaded one. NULL: none. */
struct gt_module *gt_modules_find(const struct gt_modules *modules, uint64_t pc);

/* Modules seen so far, 0 .. count - 1, in order of first sight. */
uint32_t gt_modules_count(const struct gt_modules *modules);
struct gt_module *gt_modules_at(const struct gt_modules *modules, uint32_t index);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Demangles C++ names of functions and kernels with __cxa_demangle of the libstdc++ that is in the
 * process or can be loaded (RTLD_LOCAL: no symbol of the program binds to it). Without one, names
 * stay mangled.
 *
 * Drain thread only: the first name loads the library, which may wait for a running constructor,
 * and __cxa_demangle allocates with malloc.
 */
#ifndef GT_COLLECTORS_SYMBOLS_DEMANGLE_H
#define GT_COLLECTORS_SYMBOLS_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/intern.h"

/* Longer names stay mangled: the demangler needs up to 100 bytes of stack per byte of name.
 * libstdc++'s own limit is lower: names of at most 1024 bytes (2048 components, two per byte). */
#define GT_DEMANGLE_MAX      2048

/* Names that would become longer than this stay mangled, too (collectors/symbols/mangled.h): the
 * demangler has no limit of its own, neither of text nor of time. */
#define GT_DEMANGLE_TEXT_MAX (1u << 20)

struct gt_demangle;

/* A demangler with a cache; strings are interned in @pool. NULL: no memory. */
struct gt_demangle *gt_demangle_new(struct gt_intern *pool);
void gt_demangle_free(struct gt_demangle *demangle);

/* The demangled form of @name (@length bytes), or @name itself, interned. Never NULL. */
const struct gt_string *gt_demangle_get(struct gt_demangle *demangle, const char *name,
					size_t length);

/* The same; *ret_mangled: @name itself where that is another string, else NULL. */
const struct gt_string *gt_demangle_both(struct gt_demangle *demangle, const char *name,
					 size_t length, const struct gt_string **ret_mangled);

/* The same for a zero-terminated name that is often asked for at its address: what lies there is
 * compared with what lay there last, as it may be another name by now. */
const struct gt_string *gt_demangle_at(struct gt_demangle *demangle, const char *name,
				       const struct gt_string **ret_mangled);

/* From now on @readable is the demangled form of @mangled, unless there is one already. False: it
 * is no mangled name, or there is no memory. */
bool gt_demangle_learn(struct gt_demangle *demangle, const struct gt_string *mangled,
		       const struct gt_string *readable);

#endif

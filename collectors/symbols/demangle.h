/* SPDX-License-Identifier: Apache-2.0
 *
 * C++ names as their authors wrote them: __cxa_demangle of the libstdc++ that is in the process or
 * can be loaded beside it (RTLD_LOCAL: no symbol of the program is bound to it). Without one,
 * names stay as they are. For functions and kernels alike.
 * Drain thread only: the first name loads the library, which may wait for a running constructor,
 * and __cxa_demangle allocates with malloc.
 */
#ifndef GT_COLLECTORS_SYMBOLS_DEMANGLE_H
#define GT_COLLECTORS_SYMBOLS_DEMANGLE_H

#include <stddef.h>

#include "core/intern.h"

/* Longer names stay mangled. The demangler needs up to 100 bytes of stack for each byte of a name.
 * libstdc++'s own limit is lower: it takes names of at most 1024 bytes (2048 components, two a
 * byte). */
#define GT_DEMANGLE_MAX      2048

/* So do names that would become longer than this (collectors/symbols/mangled.h): there is no
 * telling the demangler when to stop. */
#define GT_DEMANGLE_TEXT_MAX (1u << 20)

struct gt_demangle;

/* A demangler that remembers each answer; strings are interned in @pool. NULL: no memory. */
struct gt_demangle *gt_demangle_new(struct gt_intern *pool);
void gt_demangle_free(struct gt_demangle *demangle);

/* The readable form of @name (@length bytes), or @name itself interned when it has none. Never
 * NULL. */
const struct gt_string *gt_demangle_get(struct gt_demangle *demangle, const char *name,
					size_t length);

#endif

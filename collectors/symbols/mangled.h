/* SPDX-License-Identifier: Apache-2.0
 *
 * How long a mangled C++ name becomes when it is demangled. Parts of a name refer to earlier parts,
 * which may do so too: 300 bytes can stand for more text than there is memory, or take the
 * demangler hours without printing anything. This parses the name and adds up sizes, in linear
 * time. Why it is needed with every demangler: docs/internals/guest.md.
 */
#ifndef GT_COLLECTORS_SYMBOLS_MANGLED_H
#define GT_COLLECTORS_SYMBOLS_MANGLED_H

#include <stddef.h>
#include <stdint.h>

/*
 * An upper bound of the demangled length of @name (@length bytes, from "_Z" on; Itanium C++ ABI);
 * of kernels in practice mostly 2 to 20 times the length. UINT64_MAX: it cannot be parsed, and must
 * not be demangled: libstdc++ 12 never returns from "_Z1fIXsrdfDp". Any thread.
 */
uint64_t gt_mangled_expansion(const char *name, size_t length);

#endif

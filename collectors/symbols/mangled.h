/* SPDX-License-Identifier: Apache-2.0
 *
 * How long a mangled C++ name becomes when it is made readable. Parts of a name stand for earlier
 * parts, which may do so too: 300 bytes can stand for more text than there is memory, and a
 * demangler writes it all. This reads the structure and adds up sizes, in time linear to the name.
 */
#ifndef GT_COLLECTORS_SYMBOLS_MANGLED_H
#define GT_COLLECTORS_SYMBOLS_MANGLED_H

#include <stddef.h>
#include <stdint.h>

/*
 * At least the length of the demangled form of @name (@length bytes, from "_Z" on; Itanium C++
 * ABI), mostly within a factor of three, at most UINT64_MAX. What it does not understand it takes
 * for the worst that the number of references in it allows. Any thread.
 */
uint64_t gt_mangled_expansion(const char *name, size_t length);

#endif

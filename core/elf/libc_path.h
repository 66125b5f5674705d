/* SPDX-License-Identifier: Apache-2.0
 *
 * Distinguishes the C library's code from the program's. Any thread; pure.
 */
#ifndef GT_CORE_ELF_LIBC_PATH_H
#define GT_CORE_ELF_LIBC_PATH_H

#include <stdbool.h>

/* Whether @path is the C library, the loader, or a mapping of the kernel. */
bool gt_path_is_libc(const char *path);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Telling the C library's code from the program's. Any thread; pure.
 */
#ifndef GT_CORE_GUEST_LIBC_PATH_H
#define GT_CORE_GUEST_LIBC_PATH_H

#include <stdbool.h>

/* Whether @path is that of the C library, the loader, or what the kernel maps. */
bool gt_path_is_libc(const char *path);

#endif

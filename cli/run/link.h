/* SPDX-License-Identifier: Apache-2.0
 *
 * LD_PRELOAD is separated at blanks and colons. A library with those in its path is loaded through
 * a symbolic link in a folder that only this user can write. Main thread.
 */
#ifndef GT_CLI_RUN_LINK_H
#define GT_CLI_RUN_LINK_H

#include <stddef.h>

/* A path of @library that LD_PRELOAD can hold: its own, or that of a link, which is created. 0 or a
 * negative errno. */
int gt_link_find(const char *library, char *ret_path, size_t size);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * The libgputrace.so that belongs to this command, found by where the command itself is: nothing in
 * a file and nothing in the environment names it.
 */
#ifndef GT_RECOVER_LIBRARY_H
#define GT_RECOVER_LIBRARY_H

#include <stddef.h>

/* Its absolute path. -ENOENT: it is not there. Any thread. */
int gt_own_library(char *ret_path, size_t size);

#endif

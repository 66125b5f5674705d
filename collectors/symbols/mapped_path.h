/* SPDX-License-Identifier: Apache-2.0
 *
 * Which file is mapped at an address: where a module's name does not tell, one that was loaded by a
 * relative path for instance.
 */
#ifndef GT_COLLECTORS_SYMBOLS_MAPPED_PATH_H
#define GT_COLLECTORS_SYMBOLS_MAPPED_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The absolute path, also of a file that is gone. False: no file, or it cannot be told. Reads
 * /proc/self/maps; drain thread. */
bool gt_mapped_path(uint64_t address, char *ret_path, size_t size);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * The file mapped at an address, for modules whose name is not enough, e.g. loaded by a relative
 * path.
 */
#ifndef GT_COLLECTORS_SYMBOLS_MAPPED_PATH_H
#define GT_COLLECTORS_SYMBOLS_MAPPED_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The absolute path, also of a file that was deleted. False: no file, or unknown. Reads
 * /proc/self/maps; drain thread. */
bool gt_mapped_path(uint64_t address, char *ret_path, size_t size);

#endif

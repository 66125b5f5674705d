/* SPDX-License-Identifier: Apache-2.0
 *
 * What is mapped at an address, by /proc/self/maps: the file of a module whose name is not enough,
 * e.g. one loaded by a relative path; the bounds of a stack. Any thread; errno is kept.
 */
#ifndef GT_CORE_GUEST_MAPS_H
#define GT_CORE_GUEST_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The absolute path, also of a file that was deleted. False: no file, or unknown. */
bool gt_maps_path(uint64_t address, char *ret_path, size_t size);

/* The first and the last address plus one. False: nothing, or unknown. */
bool gt_maps_range(uint64_t address, uint64_t *ret_low, uint64_t *ret_high);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Which of the program's handles (plans, descriptors) stands at which place of an array of ours.
 * Any thread; no lock, no allocation. What is at a place is written before its handle is used by
 * another thread, as the program itself must see to.
 */
#ifndef GT_PRELOAD_LIBRARIES_HANDLES_H
#define GT_PRELOAD_LIBRARIES_HANDLES_H

#include <stdatomic.h>
#include <stdint.h>

#define HANDLES_NONE UINT32_MAX

/* @keys has 1 << @bits places, all 0 at first. */
struct handles {
	_Atomic uintptr_t *keys;
	unsigned int bits;
};

/* The place of @handle, which is not 0; HANDLES_NONE: it has none. */
uint32_t handles_find(const struct handles *handles, uintptr_t handle);

/* The same, or a free place, which is its own from now on; HANDLES_NONE: there is no room near it.
 */
uint32_t handles_add(const struct handles *handles, uintptr_t handle);

/* Its place is free for others. */
void handles_remove(const struct handles *handles, uintptr_t handle);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Which of the program's handles (plans, descriptors) have been destroyed: of the newest few
 * thousand. Any thread; no lock, no allocation, no system call.
 */
#ifndef GT_PRELOAD_LIBRARIES_FREED_H
#define GT_PRELOAD_LIBRARIES_FREED_H

#include <stdbool.h>
#include <stdint.h>

#include "core/schema/math_call.h"

/* Before the library destroys @handle: another thread may get the same one. 0 is none. */
void freed_note(uintptr_t handle);

/* The library has made @handle. */
void freed_forget(uintptr_t handle);

/* It has been destroyed, and none has been made since that is the same. */
bool freed_has(uintptr_t handle);

/* @call has no sizes because of @handle; of several, one that was destroyed is said. */
void freed_blame(uintptr_t handle, struct gt_math_call *call);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. Each has one place, which the next one with it takes.
 */
#include "preload/libraries/freed.h"

#include <stdatomic.h>

#define BITS    12
#define SCATTER 0x9e3779b97f4a7c15u

static _Atomic uintptr_t freed[1u << BITS];

static _Atomic uintptr_t *place_of(uintptr_t handle)
{
	return &freed[(uint64_t)handle * SCATTER >> (64 - BITS)];
}

void freed_note(uintptr_t handle)
{
	if (handle)
		atomic_store_explicit(place_of(handle), handle, memory_order_relaxed);
}

void freed_forget(uintptr_t handle)
{
	if (freed_has(handle))
		atomic_store_explicit(place_of(handle), 0, memory_order_relaxed);
}

bool freed_has(uintptr_t handle)
{
	return handle && atomic_load_explicit(place_of(handle), memory_order_relaxed) == handle;
}

void freed_blame(uintptr_t handle, struct gt_math_call *call)
{
	if (freed_has(handle))
		call->unknown = GT_MATH_FREED_DESCRIPTOR;
	else if (!call->unknown)
		call->unknown = GT_MATH_UNKNOWN_DESCRIPTOR;
}

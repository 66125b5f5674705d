/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. A handle is in one of the places from its hash on: a search looks at all of
 * them, so that one that is removed needs no mark.
 */
#include "preload/libraries/handles.h"

#define NEAR    32u /* places that a handle may have */
#define SCATTER 0x9e3779b97f4a7c15u

static uint32_t place_of(const struct handles *handles, uintptr_t handle, uint32_t i)
{
	uint32_t first = (uint32_t)((uint64_t)handle * SCATTER >> (64 - handles->bits));

	return (first + i) & ((1u << handles->bits) - 1);
}

uint32_t handles_find(const struct handles *handles, uintptr_t handle)
{
	for (uint32_t i = 0; i < NEAR; i++) {
		uint32_t at = place_of(handles, handle, i);

		if (atomic_load_explicit(&handles->keys[at], memory_order_acquire) == handle)
			return at;
	}
	return HANDLES_NONE;
}

uint32_t handles_add(const struct handles *handles, uintptr_t handle)
{
	uint32_t known = handles_find(handles, handle);

	for (uint32_t i = 0; known == HANDLES_NONE && i < NEAR; i++) {
		uint32_t at = place_of(handles, handle, i);
		uintptr_t nobody = 0;

		if (atomic_compare_exchange_strong_explicit(&handles->keys[at], &nobody, handle,
							    memory_order_acq_rel,
							    memory_order_relaxed))
			known = at;
	}
	return known;
}

void handles_remove(const struct handles *handles, uintptr_t handle)
{
	uint32_t at = handles_find(handles, handle);

	if (at != HANDLES_NONE)
		atomic_store_explicit(&handles->keys[at], 0, memory_order_release);
}

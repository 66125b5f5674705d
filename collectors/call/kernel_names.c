/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of launched kernels, see the header.
 */
#include "collectors/call/kernel_names.h"

#include <stddef.h>
#include <string.h>

/* Slots that are looked at for one symbol. */
#define PROBES 8u

static struct gt_kernel_names *kept;

void gt_kernel_names_start(struct gt_kernel_names *names)
{
	kept = names;
}

static uint32_t slot_of(uint64_t symbol, uint32_t probe)
{
	uint64_t home = symbol * 0x9e3779b97f4a7c15u >> 32;

	return (uint32_t)(home + probe) % GT_KERNEL_NAMES;
}

/* Once for each symbol, by who has claimed its slot. */
static void put_text(struct gt_kernel_names *names, uint32_t slot, const char *name)
{
	size_t size = strlen(name) + 1;
	uint32_t at = atomic_load_explicit(&names->used, memory_order_relaxed);

	do {
		if (size > GT_KERNEL_NAME_BYTES - at)
			return;
	} while (!atomic_compare_exchange_weak_explicit(&names->used, &at, at + (uint32_t)size,
							memory_order_relaxed,
							memory_order_relaxed));
	memcpy(names->bytes + at, name, size);
	atomic_store_explicit(&names->text[slot], at + 1, memory_order_release);
}

void gt_kernel_names_note_as(uint64_t symbol, const char *name)
{
	struct gt_kernel_names *names = kept;

	if (!names)
		return;
	for (uint32_t probe = 0; probe < PROBES; probe++) {
		uint32_t slot = slot_of(symbol, probe);
		uint64_t found = atomic_load_explicit(&names->symbol[slot], memory_order_relaxed);

		if (!found && atomic_compare_exchange_strong_explicit(&names->symbol[slot], &found,
								      symbol, memory_order_relaxed,
								      memory_order_relaxed)) {
			put_text(names, slot, name);
			return;
		}
		if (found == symbol)
			return;
	}
}

void gt_kernel_names_note(uint64_t symbol)
{
	if (symbol)
		gt_kernel_names_note_as(symbol, (const char *)(uintptr_t)symbol);
}

static const char *text_at(const struct gt_kernel_names *names, uint32_t at)
{
	if (!at || at > GT_KERNEL_NAME_BYTES ||
	    !memchr(names->bytes + at - 1, 0, GT_KERNEL_NAME_BYTES - (at - 1)))
		return NULL;
	return names->bytes[at - 1] ? names->bytes + at - 1 : NULL;
}

const char *gt_kernel_names_find(const struct gt_kernel_names *names, uint64_t symbol)
{
	for (uint32_t probe = 0; symbol && probe < PROBES; probe++) {
		uint32_t slot = slot_of(symbol, probe);

		if (atomic_load_explicit(&names->symbol[slot], memory_order_acquire) == symbol)
			return text_at(names, atomic_load_explicit(&names->text[slot],
								   memory_order_acquire));
	}
	return NULL;
}

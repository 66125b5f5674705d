/* SPDX-License-Identifier: Apache-2.0
 *
 * Slots of open ranges, see the header. The key of a slot is a lock-free state: FREE -> BUSY (being
 * filled) -> key (open) -> BUSY (being read) -> FREE, each step a compare-and-swap.
 */
#include "collectors/nvtx/early.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "core/guest/memory.h"

#define FREE       0u
#define BUSY       1u

#define PUSH_MARK  ((uint64_t)1 << 63)
#define START_MARK ((uint64_t)1 << 62)

struct early_slot {
	_Atomic uint64_t key;
	union {
		struct gt_nvtx_record record;
		char bytes[sizeof(struct gt_nvtx_record) + GT_NVTX_EARLY_NAME];
	};
};

/* The kernel wipes it in a forked child, whose threads have opened none of these ranges. */
struct early {
	_Atomic uint32_t generation; /* 0: just emptied */
	_Atomic uint32_t pending;
	_Atomic uint64_t over, lost;
	struct early_slot slots[GT_NVTX_EARLY_SLOTS];
};

static struct early *_Atomic early;
static _Atomic uint32_t last_generation;

static struct early *get(void)
{
	return atomic_load_explicit(&early, memory_order_acquire);
}

int gt_nvtx_early_start(void)
{
	struct early *expected = NULL;
	struct early *fresh;
	int saved = errno;

	if (get())
		return 0;
	fresh = gt_memory_map(sizeof(*fresh));
	if (!fresh)
		return -ENOMEM;
	madvise(fresh, sizeof(*fresh), MADV_WIPEONFORK); /* no effect before Linux 4.14 */
	errno = saved;
	if (!atomic_compare_exchange_strong(&early, &expected, fresh))
		gt_memory_unmap(fresh, sizeof(*fresh)); /* another thread was first */
	return 0;
}

uint32_t gt_nvtx_early_generation(void)
{
	_Atomic uint32_t *generation = &get()->generation;
	uint32_t seen = atomic_load_explicit(generation, memory_order_relaxed);

	if (!seen && atomic_compare_exchange_strong(generation, &seen,
						    atomic_fetch_add(&last_generation, 1) + 1))
		seen = atomic_load_explicit(generation, memory_order_relaxed);
	return seen;
}

/* thread ids have 22 bits, references 21, levels 16 */
uint64_t gt_nvtx_early_key_of_push(uint32_t tid, uint32_t domain, uint64_t level)
{
	return PUSH_MARK | (uint64_t)(tid & 0x3fffff) << 38 | (uint64_t)(domain & 0x1fffff) << 17 |
	       (level & 0xffff) << 1;
}

uint64_t gt_nvtx_early_key_of_start(uint64_t id)
{
	return START_MARK | (id & (START_MARK - 1));
}

static struct early_slot *claim(uint64_t from, uint64_t to, uint64_t hint)
{
	struct early_slot *slots = get()->slots;

	for (uint32_t i = 0; i < GT_NVTX_EARLY_SLOTS; i++) {
		struct early_slot *slot = &slots[(hint + i) % GT_NVTX_EARLY_SLOTS];
		uint64_t expected = from;

		if (atomic_load_explicit(&slot->key, memory_order_relaxed) == from &&
		    atomic_compare_exchange_strong(&slot->key, &expected, to))
			return slot;
	}
	return NULL;
}

/* Where the search for a key begins: slots of one thread are close together. */
static uint64_t hint_of(uint64_t key)
{
	return (key >> 38) * 16;
}

bool gt_nvtx_early_open(uint64_t key, const struct gt_nvtx_record *record, const char *text)
{
	struct early_slot *slot = claim(FREE, BUSY, hint_of(key));
	struct gt_nvtx_record *kept;

	if (!slot) {
		atomic_fetch_add_explicit(&get()->lost, 1, memory_order_relaxed);
		return false;
	}
	kept = &slot->record;
	*kept = *record;
	kept->payload_length = 0;
	if (kept->text_length > GT_NVTX_EARLY_NAME) {
		kept->text_length = GT_NVTX_EARLY_NAME;
		kept->cut = true;
	}
	if (kept->text_length)
		memcpy(kept->data, text, kept->text_length);
	atomic_fetch_add(&get()->pending, 1);
	atomic_store_explicit(&slot->key, key, memory_order_release);
	return true;
}

static void release(struct early_slot *slot)
{
	atomic_store_explicit(&slot->key, FREE, memory_order_release);
	atomic_fetch_sub(&get()->pending, 1);
}

bool gt_nvtx_early_close(uint64_t key)
{
	struct early_slot *slot = claim(key, BUSY, hint_of(key));

	if (!slot)
		return false;
	release(slot);
	gt_nvtx_early_count_over();
	return true;
}

void gt_nvtx_early_count_over(void)
{
	atomic_fetch_add_explicit(&get()->over, 1, memory_order_relaxed);
}

bool gt_nvtx_early_is_pending(void)
{
	return get() && atomic_load_explicit(&get()->pending, memory_order_acquire) != 0;
}

static bool seize(struct early_slot *slot)
{
	uint64_t key = atomic_load_explicit(&slot->key, memory_order_relaxed);

	return key != FREE && key != BUSY && atomic_compare_exchange_strong(&slot->key, &key, BUSY);
}

/* The outermost range of a thread comes first: sorted by time, as slots have no order. */
static struct early_slot *find_oldest(struct early_slot *const *seized, uint32_t count,
				      uint32_t *ret_index)
{
	*ret_index = 0;
	for (uint32_t i = 1; i < count; i++)
		if (seized[i]->record.time < seized[*ret_index]->record.time)
			*ret_index = i;
	return seized[*ret_index];
}

void gt_nvtx_early_drain(void (*found)(void *context, const struct gt_nvtx_record *record),
			 void *context)
{
	struct early_slot *seized[GT_NVTX_EARLY_SLOTS];
	uint32_t count = 0;

	if (!get())
		return;
	for (uint32_t i = 0; i < GT_NVTX_EARLY_SLOTS; i++)
		if (seize(&get()->slots[i]))
			seized[count++] = &get()->slots[i];
	while (count) {
		uint32_t index;
		struct early_slot *slot = find_oldest(seized, count, &index);

		found(context, &slot->record);
		seized[index] = seized[--count];
		release(slot);
	}
}

struct gt_nvtx_early_counts gt_nvtx_early_count(void)
{
	if (!get())
		return (struct gt_nvtx_early_counts){0};
	return (struct gt_nvtx_early_counts){
		.over = atomic_load_explicit(&get()->over, memory_order_relaxed),
		.lost = atomic_load_explicit(&get()->lost, memory_order_relaxed),
	};
}

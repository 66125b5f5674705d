/* SPDX-License-Identifier: Apache-2.0
 *
 * Activity buffer slots, see the header for who may call what.
 */
#include "collectors/cupti_buffers.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "collectors/cupti_pace.h"
#include "core/clock.h"
#include "core/free_guard.h"
#include "core/memory.h"
#include "core/spool_view.h"

#define MAX_SLOTS     1024u
#define DISCARD_BYTES (256u * 1024u)
#define SPARE_BUFFERS 2u

/* Spare buffers beyond this go back to the system: a burst does not stay resident. */
#define SPARE_KEEP    4u

#define PAGE_BYTES    ((size_t)4096)

enum slot_state {
	SLOT_UNMAPPED,
	SLOT_BUSY,  /* being mapped or recycled */
	SLOT_SPARE, /* zeroed, ready */
	SLOT_CUPTI, /* CUPTI is filling it */
	SLOT_FULL,  /* completed, waits for the drain thread */
	SLOT_READ,  /* read, but not all of its work is in the file: kept while there is a spool */
};

struct slot {
	_Atomic int state;
	uint8_t *_Atomic data;  /* behind its guard; who looks for his own reads it */
	_Atomic size_t bytes;   /* there */
	_Atomic size_t valid;   /* what CUPTI got of them, then what it filled */
	uint64_t given_at;      /* CLOCK_MONOTONIC ns */
	uint64_t order;         /* of completion */
	_Atomic uint64_t asked; /* the request that it answered */
	uint64_t read;          /* when, trace ns */
	bool foreign;           /* a copy of another tool's buffer */
};

static struct {
	struct slot *slots;    /* MAX_SLOTS of them, in the spool if there is one */
	_Atomic uint32_t used; /* slots behind these were never mapped */
	_Atomic size_t mapped; /* bytes of all */
	size_t max_bytes;      /* that they may have */
	struct gt_cupti_pace pace;
	uint8_t *discard;
	bool null_is_safe;
	_Atomic bool stopped;
	_Atomic uint64_t next_order;
	_Atomic uint64_t flushed; /* requests before the newest flush */
	_Atomic uint64_t requested, completed, foreign, discarded, discarded_bytes;
} pool;

/* CUPTI may hand a buffer to a tool that frees whatever it is given: see core/free_guard.h. */
static uint8_t *guarded(void *memory)
{
	return memory ? gt_free_guard(memory) : NULL;
}

static void count(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* What is mapped for a buffer of @size bytes. */
static size_t with_guard(size_t size)
{
	return (size + GT_FREE_GUARD_BYTES + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
}

int gt_cupti_buffers_start(size_t buffer_bytes, size_t max_bytes, bool null_is_safe)
{
	memset(&pool, 0,
	       sizeof(pool)); /* in a forked child: what its parent received is not its own */
	pool.max_bytes = max_bytes;
	gt_cupti_pace_start(&pool.pace, smaller(buffer_bytes, max_bytes / 2 - PAGE_BYTES));
	pool.null_is_safe = null_is_safe;
	pool.discard = guarded(gt_memory_map(DISCARD_BYTES + GT_FREE_GUARD_BYTES));
	pool.slots = gt_spool_map(MAX_SLOTS * sizeof(*pool.slots));
	if (!pool.discard || !pool.slots) {
		pool.max_bytes = 0;
		return -ENOMEM;
	}
	gt_spool_set_root(GT_SPOOL_BUFFERS, pool.slots);
	gt_cupti_buffers_prepare();
	return 0;
}

void gt_cupti_buffers_stop(void)
{
	atomic_store(&pool.stopped, true);
}

static bool claim(struct slot *slot, int from)
{
	return atomic_load_explicit(&slot->state, memory_order_relaxed) == from &&
	       atomic_compare_exchange_strong(&slot->state, &from, SLOT_BUSY);
}

/* Makes one of at least @size bytes BUSY; NULL: there is none. */
static struct slot *claim_spare(size_t size)
{
	uint32_t used = atomic_load(&pool.used);

	for (uint32_t i = 0; i < used; i++) {
		struct slot *slot = &pool.slots[i];

		if (atomic_load_explicit(&slot->bytes, memory_order_relaxed) < size ||
		    !claim(slot, SLOT_SPARE))
			continue;
		if (atomic_load_explicit(&slot->bytes, memory_order_relaxed) >= size)
			return slot;
		atomic_store(&slot->state, SLOT_SPARE); /* it became another one meanwhile */
	}
	return NULL;
}

static struct slot *claim_unmapped(void)
{
	for (uint32_t i = 0; i < MAX_SLOTS; i++) {
		uint32_t used = i;

		if (!claim(&pool.slots[i], SLOT_UNMAPPED))
			continue;
		while (used <= i && !atomic_compare_exchange_weak(&pool.used, &used, i + 1))
			continue;
		return &pool.slots[i];
	}
	return NULL;
}

static bool take_room(size_t bytes)
{
	if (atomic_fetch_add(&pool.mapped, bytes) + bytes <= pool.max_bytes)
		return true;
	atomic_fetch_sub(&pool.mapped, bytes);
	return false;
}

static void give_room(size_t bytes)
{
	atomic_fetch_sub(&pool.mapped, bytes);
}

/* Maps @size bytes, which are BUSY then. NULL: the cap, or no memory. */
static struct slot *map_slot(size_t size)
{
	size_t bytes = with_guard(size);
	struct slot *slot;

	if (!take_room(bytes))
		return NULL;
	slot = claim_unmapped();
	if (slot) {
		slot->data = guarded(gt_spool_map(bytes));
		slot->bytes = bytes - GT_FREE_GUARD_BYTES;
		if (slot->data)
			return slot;
		atomic_store(&slot->state, SLOT_UNMAPPED);
	}
	give_room(bytes);
	return NULL;
}

static void unmap_slot(struct slot *slot)
{
	size_t bytes = slot->bytes + GT_FREE_GUARD_BYTES;

	gt_memory_unmap(slot->data - GT_FREE_GUARD_BYTES, bytes);
	give_room(bytes);
	slot->data = NULL;
	atomic_store_explicit(&slot->state, SLOT_UNMAPPED, memory_order_release);
}

/* @size bytes, or fewer if there is no room for so many; BUSY. */
static struct slot *take_slot(size_t size)
{
	struct slot *slot = claim_spare(size);

	if (!slot)
		slot = map_slot(size);
	return slot ? slot : claim_spare(1);
}

static void give_slot(struct slot *slot, size_t size)
{
	slot->valid = smaller(size, slot->bytes);
	slot->given_at = gt_clock_now();
	atomic_store(&slot->asked, atomic_load(&pool.requested));
	atomic_store(&slot->state, SLOT_CUPTI);
}

void gt_cupti_buffers_request(uint8_t **ret_buffer, size_t *ret_size, size_t *ret_max_records)
{
	size_t size = atomic_load_explicit(&pool.pace.bytes, memory_order_relaxed);
	struct slot *slot = NULL;

	if (!atomic_load_explicit(&pool.stopped, memory_order_relaxed))
		slot = take_slot(size);
	*ret_max_records = 0; /* as many as fit */
	count(&pool.requested, 1);
	if (slot) {
		give_slot(slot, size);
		*ret_buffer = slot->data;
		*ret_size = slot->valid;
		return;
	}
	count(&pool.discarded, 1);
	*ret_buffer = pool.null_is_safe ? NULL : pool.discard;
	*ret_size = pool.null_is_safe ? 0 : DISCARD_BYTES;
}

static struct slot *slot_of(const uint8_t *buffer)
{
	uint32_t used = atomic_load(&pool.used);

	for (uint32_t i = 0; i < used; i++) {
		if (atomic_load(&pool.slots[i].state) == SLOT_CUPTI && pool.slots[i].data == buffer)
			return &pool.slots[i];
	}
	return NULL;
}

/* Another tool's buffer, asked for before the callbacks became ours: read, never freed (REQ-18). */
static struct slot *copy_foreign(const uint8_t *buffer, size_t valid)
{
	struct slot *slot = take_slot(smaller(valid, pool.pace.most));
	size_t fits = slot ? smaller(valid, slot->bytes) : 0;

	if (slot)
		memcpy(slot->data, buffer, fits);
	count(&pool.discarded_bytes, valid - fits);
	return slot;
}

static void discard(uint8_t *buffer, size_t valid)
{
	count(&pool.discarded_bytes, valid);
	memset(buffer, 0, valid < DISCARD_BYTES ? valid : DISCARD_BYTES);
}

static void fill(struct slot *slot, size_t valid, bool foreign)
{
	slot->foreign = foreign;
	slot->valid = smaller(valid, slot->bytes);
	slot->order = atomic_fetch_add(&pool.next_order, 1);
	count(&pool.completed, 1);
	/* pairs with the acquire in gt_cupti_buffers_next: records before the state */
	atomic_store_explicit(&slot->state, SLOT_FULL, memory_order_release);
}

bool gt_cupti_buffers_complete(uint8_t *buffer, size_t valid)
{
	struct slot *slot = slot_of(buffer);
	bool ours = slot || !buffer || buffer == pool.discard;

	if (buffer && buffer == pool.discard)
		discard(buffer, valid);
	if (!ours) {
		count(&pool.foreign, 1);
		slot = copy_foreign(buffer, valid);
	}
	if (slot && ours)
		gt_cupti_pace_note(&pool.pace, valid, gt_clock_now() - slot->given_at);
	if (slot)
		fill(slot, valid, !ours);
	return ours;
}

bool gt_cupti_buffers_next(struct gt_cupti_buffer *ret_buffer)
{
	uint32_t used = atomic_load(&pool.used);
	const struct slot *oldest = NULL;

	for (uint32_t i = 0; i < used; i++) {
		const struct slot *slot = &pool.slots[i];

		if (atomic_load_explicit(&slot->state, memory_order_acquire) == SLOT_FULL &&
		    (!oldest || slot->order < oldest->order))
			oldest = slot;
	}
	if (!oldest)
		return false;
	*ret_buffer = (struct gt_cupti_buffer){oldest->data, oldest->valid, oldest->foreign};
	return true;
}

/* Those of at least @size bytes. */
static uint32_t count_in(int state, size_t size)
{
	uint32_t n = 0, used = atomic_load(&pool.used);

	for (uint32_t i = 0; i < used; i++)
		n += atomic_load_explicit(&pool.slots[i].state, memory_order_relaxed) == state &&
		     atomic_load_explicit(&pool.slots[i].bytes, memory_order_relaxed) >= size;
	return n;
}

/* The valid bytes of those. */
static size_t bytes_in(int state)
{
	uint32_t used = atomic_load(&pool.used);
	size_t bytes = 0;

	for (uint32_t i = 0; i < used; i++)
		if (atomic_load_explicit(&pool.slots[i].state, memory_order_relaxed) == state)
			bytes += pool.slots[i].valid;
	return bytes;
}

size_t gt_cupti_buffers_waiting(void)
{
	return bytes_in(SLOT_FULL) + count_in(SLOT_FULL, 0);
}

/* The next one may have to be twice as large. */
static size_t spare_bytes(void)
{
	return smaller(atomic_load(&pool.pace.bytes) * 2, pool.pace.most);
}

/* A few, and none that is too small for what comes now. */
static bool is_worth_keeping(const struct slot *slot)
{
	return slot->bytes >= atomic_load(&pool.pace.bytes) && count_in(SLOT_SPARE, 0) < SPARE_KEEP;
}

/* Nobody else touches a FULL or READ slot, but recovery reads one if we are killed here: the state changes
 * before the data does. Memory of the spool cannot be given back. */
static void recycle_slot(struct slot *slot, size_t dirty)
{
	if (!gt_spool_holds(slot->data) && !is_worth_keeping(slot)) {
		unmap_slot(slot);
		return;
	}
	atomic_store(&slot->state, SLOT_BUSY);
	memset(slot->data, 0, dirty); /* we promised CUPTI zeroed buffers */
	atomic_store_explicit(&slot->state, SLOT_SPARE, memory_order_release);
}

void gt_cupti_buffers_recycle(const struct gt_cupti_buffer *buffer, uint64_t now)
{
	for (uint32_t i = 0, used = atomic_load(&pool.used); i < used; i++) {
		struct slot *slot = &pool.slots[i];

		if (atomic_load(&slot->state) == SLOT_FULL && slot->data == buffer->data) {
			slot->read = now;
			if (gt_spool_holds(slot->data))
				atomic_store(&slot->state, SLOT_READ);
			else
				recycle_slot(slot, buffer->valid);
			return;
		}
	}
}

void gt_cupti_buffers_release(uint64_t until)
{
	for (uint32_t i = 0, used = atomic_load(&pool.used); i < used; i++) {
		struct slot *slot = &pool.slots[i];

		if (atomic_load_explicit(&slot->state, memory_order_relaxed) == SLOT_READ &&
		    slot->read < until)
			recycle_slot(slot, slot->valid);
	}
}

/* The oldest that was read: better unprotected than no buffer for CUPTI. */
static bool recycle_oldest(void)
{
	struct slot *oldest = NULL;

	for (uint32_t i = 0, used = atomic_load(&pool.used); i < used; i++) {
		struct slot *slot = &pool.slots[i];

		if (atomic_load_explicit(&slot->state, memory_order_relaxed) == SLOT_READ &&
		    (!oldest || slot->order < oldest->order))
			oldest = slot;
	}
	if (oldest)
		recycle_slot(oldest, oldest->valid);
	return oldest != NULL;
}

/* Once there is no room for more of the right size, spare ones of any size will do. */
void gt_cupti_buffers_prepare(void)
{
	size_t size = spare_bytes();

	for (uint32_t spare = count_in(SLOT_SPARE, size); spare < SPARE_BUFFERS; spare++) {
		struct slot *slot = map_slot(size);

		if (slot) {
			memset(slot->data, 0, size); /* page faults here, not on the application */
			atomic_store_explicit(&slot->state, SLOT_SPARE, memory_order_release);
		} else if (count_in(SLOT_SPARE, 0) >= SPARE_BUFFERS || !recycle_oldest()) {
			return;
		}
	}
}

void gt_cupti_buffers_flushing(void)
{
	atomic_store(&pool.flushed, atomic_load(&pool.requested));
}

/* CUPTI may ask for one while it flushes, for a record of the flush: that one is not missing. */
static uint32_t count_kept(void)
{
	uint64_t flushed = atomic_load(&pool.flushed);
	uint32_t n = 0;

	for (uint32_t i = 0, used = atomic_load(&pool.used); i < used; i++)
		n += atomic_load(&pool.slots[i].state) == SLOT_CUPTI &&
		     atomic_load(&pool.slots[i].asked) <= flushed;
	return n;
}

bool gt_cupti_buffers_kept(void)
{
	return count_kept() > 0;
}

size_t gt_cupti_buffers_given(void)
{
	size_t bytes = bytes_in(SLOT_CUPTI), next = atomic_load(&pool.pace.bytes);

	return bytes > next ? bytes : next;
}

void gt_cupti_buffers_tell(struct gt_ledger *ledger)
{
	uint64_t *count = ledger->count;

	count[GT_LEDGER_BUFFERS_COMPLETED] = atomic_load(&pool.completed);
	count[GT_LEDGER_BUFFERS_FOREIGN] = atomic_load(&pool.foreign);
	count[GT_LEDGER_BUFFERS_DISCARDED] = atomic_load(&pool.discarded);
	count[GT_LEDGER_BUFFERS_LOST_BYTES] = atomic_load(&pool.discarded_bytes);
	count[GT_LEDGER_BUFFERS_KEPT] = count_kept();
	count[GT_LEDGER_BUFFERS_UNREAD] = count_in(SLOT_FULL, 0);
}

struct gt_cupti_buffer_counts gt_cupti_buffers_count(void)
{
	return (struct gt_cupti_buffer_counts){
		.requested = atomic_load(&pool.requested),
		.completed = atomic_load(&pool.completed),
		.foreign = atomic_load(&pool.foreign),
		.discarded = atomic_load(&pool.discarded),
		.discarded_bytes = atomic_load(&pool.discarded_bytes),
	};
}

void gt_cupti_buffers_each(const struct gt_spool_view *view,
			   void (*found)(void *context, const struct gt_cupti_spooled *buffer),
			   void *context)
{
	const struct slot *slots =
		gt_spool_view_root(view, GT_SPOOL_BUFFERS, MAX_SLOTS * sizeof(*slots));

	for (uint32_t i = 0; slots && i < MAX_SLOTS; i++) {
		int state = atomic_load(&slots[i].state);
		struct gt_cupti_spooled buffer = {.valid = slots[i].valid,
						  .order = slots[i].order,
						  .foreign = gt_spool_bool(&slots[i].foreign),
						  .unfinished = state == SLOT_CUPTI};

		if (state != SLOT_FULL && state != SLOT_READ && state != SLOT_CUPTI)
			continue;
		if (buffer.unfinished) { /* what it was before */
			buffer.order = UINT64_MAX;
			buffer.foreign = false;
		}
		buffer.data = gt_spool_view_at(view, gt_spool_address(slots[i].data), buffer.valid);
		if (buffer.data)
			found(context, &buffer);
	}
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Activity buffer slots, see the header for who may call what.
 */
#include "collectors/cupti_buffers.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "core/clock.h"
#include "core/free_guard.h"
#include "core/memory.h"
#include "core/spool_view.h"

#define MAX_SLOTS     1024u
#define DISCARD_BYTES (256u * 1024u)
#define SPARE_BUFFERS 2u

/* Spare buffers beyond this go back to the system: a burst does not stay resident. */
#define SPARE_KEEP    4u

/* How long CUPTI should take to fill one. It keeps a buffer with work that is under way whatever it is told
 * (gt_cupti_flush), and on a busy GPU there is always some: then records come when a buffer is full. */
#define FILL_NS       250000000u
#define FIRST_BYTES   (16u * 1024u)
#define LEAST_BYTES   (8u * 1024u)

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
	uint8_t *_Atomic data; /* behind its guard; who looks for his own reads it */
	size_t valid;
	uint64_t order;         /* of completion */
	_Atomic uint64_t asked; /* the request that it answered */
	uint64_t read;          /* when, trace ns */
	bool foreign;           /* a copy of another tool's buffer */
};

static struct {
	struct slot *slots; /* MAX_SLOTS of them, in the spool if there is one */
	uint32_t slot_count;
	size_t bytes;              /* of each buffer, all of which CUPTI need not get */
	_Atomic size_t given;      /* how many bytes it got the last time */
	_Atomic uint64_t given_at; /* CLOCK_MONOTONIC ns */
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

int gt_cupti_buffers_start(size_t buffer_bytes, size_t max_bytes, bool null_is_safe)
{
	size_t slots = max_bytes / buffer_bytes;

	memset(&pool, 0,
	       sizeof(pool)); /* in a forked child: what its parent received is not its own */
	pool.bytes = buffer_bytes;
	pool.given = buffer_bytes < FIRST_BYTES ? buffer_bytes : FIRST_BYTES;
	pool.slot_count = (uint32_t)(slots < 2 ? 2 : slots > MAX_SLOTS ? MAX_SLOTS : slots);
	pool.null_is_safe = null_is_safe;
	pool.discard = guarded(gt_memory_map(DISCARD_BYTES + GT_FREE_GUARD_BYTES));
	pool.slots = gt_spool_map(MAX_SLOTS * sizeof(*pool.slots));
	if (!pool.discard || !pool.slots) {
		pool.slot_count = 0;
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

/* Moves one slot from @from to @to; NULL when there is none in that state. */
static struct slot *claim(int from, int to)
{
	for (uint32_t i = 0; i < pool.slot_count; i++) {
		int expected = from;

		if (atomic_load_explicit(&pool.slots[i].state, memory_order_relaxed) == from &&
		    atomic_compare_exchange_strong(&pool.slots[i].state, &expected, to))
			return &pool.slots[i];
	}
	return NULL;
}

/* Maps an unmapped slot and leaves it in @state. NULL: the cap, or no memory. */
static struct slot *map_slot(int state)
{
	struct slot *slot = claim(SLOT_UNMAPPED, SLOT_BUSY);

	if (!slot)
		return NULL;
	slot->data = guarded(gt_spool_map(pool.bytes + GT_FREE_GUARD_BYTES));
	atomic_store(&slot->state, slot->data ? state : SLOT_UNMAPPED);
	return slot->data ? slot : NULL;
}

static struct slot *take_slot(void)
{
	struct slot *slot = claim(SLOT_SPARE, SLOT_CUPTI);

	return slot ? slot : map_slot(SLOT_CUPTI);
}

/* More when the one before was full at once, fewer when it took long. */
static size_t size_to_give(void)
{
	uint64_t now = gt_clock_now(), before = atomic_exchange(&pool.given_at, now);
	uint64_t took = before ? now - before : FILL_NS;
	size_t size = atomic_load(&pool.given);

	if (took < FILL_NS / 2)
		size *= 2;
	else if (took > FILL_NS * 2ull)
		size = (size_t)((double)size * FILL_NS / (double)took) & ~(size_t)1023;
	if (size < LEAST_BYTES)
		size = LEAST_BYTES;
	if (size > pool.bytes)
		size = pool.bytes;
	atomic_store(&pool.given, size);
	return size;
}

void gt_cupti_buffers_request(uint8_t **ret_buffer, size_t *ret_size, size_t *ret_max_records)
{
	struct slot *slot = NULL;

	if (!atomic_load_explicit(&pool.stopped, memory_order_relaxed))
		slot = take_slot();
	*ret_max_records = 0; /* as many as fit */
	count(&pool.requested, 1);
	if (slot) {
		atomic_store_explicit(&slot->asked, atomic_load(&pool.requested),
				      memory_order_relaxed);
		*ret_buffer = slot->data;
		*ret_size = slot->valid = size_to_give();
		return;
	}
	count(&pool.discarded, 1);
	*ret_buffer = pool.null_is_safe ? NULL : pool.discard;
	*ret_size = pool.null_is_safe ? 0 : DISCARD_BYTES;
}

static struct slot *slot_of(const uint8_t *buffer)
{
	for (uint32_t i = 0; i < pool.slot_count; i++) {
		if (atomic_load(&pool.slots[i].state) == SLOT_CUPTI && pool.slots[i].data == buffer)
			return &pool.slots[i];
	}
	return NULL;
}

/* Another tool's buffer, asked for before the callbacks became ours: read, never freed (REQ-18). */
static struct slot *copy_foreign(const uint8_t *buffer, size_t valid)
{
	struct slot *slot = claim(SLOT_SPARE, SLOT_CUPTI);

	if (!slot)
		slot = map_slot(SLOT_CUPTI);
	if (slot)
		memcpy(slot->data, buffer, valid < pool.bytes ? valid : pool.bytes);
	if (!slot || valid > pool.bytes)
		count(&pool.discarded_bytes, slot ? valid - pool.bytes : valid);
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
	slot->valid = valid < pool.bytes ? valid : pool.bytes;
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
	if (slot)
		fill(slot, valid, !ours);
	return ours;
}

bool gt_cupti_buffers_next(struct gt_cupti_buffer *ret_buffer)
{
	const struct slot *oldest = NULL;

	for (uint32_t i = 0; i < pool.slot_count; i++) {
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

static uint32_t count_in(int state)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < pool.slot_count; i++)
		n += atomic_load_explicit(&pool.slots[i].state, memory_order_relaxed) == state;
	return n;
}

uint32_t gt_cupti_buffers_waiting(void)
{
	return count_in(SLOT_FULL);
}

/* Nobody else touches a FULL or READ slot, but recovery reads one if we are killed here: the state changes
 * before the data does. Memory of the spool cannot be given back. */
static void recycle_slot(struct slot *slot, size_t dirty)
{
	if (count_in(SLOT_SPARE) >= SPARE_KEEP && !gt_spool_holds(slot->data)) {
		gt_memory_unmap(slot->data - GT_FREE_GUARD_BYTES, pool.bytes + GT_FREE_GUARD_BYTES);
		slot->data = NULL;
		atomic_store_explicit(&slot->state, SLOT_UNMAPPED, memory_order_release);
		return;
	}
	atomic_store(&slot->state, SLOT_BUSY);
	memset(slot->data, 0, dirty); /* we promised CUPTI zeroed buffers */
	atomic_store_explicit(&slot->state, SLOT_SPARE, memory_order_release);
}

void gt_cupti_buffers_recycle(const struct gt_cupti_buffer *buffer, uint64_t now)
{
	for (uint32_t i = 0; i < pool.slot_count; i++) {
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
	for (uint32_t i = 0; i < pool.slot_count; i++) {
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

	for (uint32_t i = 0; i < pool.slot_count; i++) {
		struct slot *slot = &pool.slots[i];

		if (atomic_load_explicit(&slot->state, memory_order_relaxed) == SLOT_READ &&
		    (!oldest || slot->order < oldest->order))
			oldest = slot;
	}
	if (oldest)
		recycle_slot(oldest, oldest->valid);
	return oldest != NULL;
}

void gt_cupti_buffers_prepare(void)
{
	for (uint32_t spare = count_in(SLOT_SPARE); spare < SPARE_BUFFERS; spare++) {
		struct slot *slot = map_slot(SLOT_BUSY);

		if (!slot && recycle_oldest())
			continue;
		if (!slot)
			return;
		memset(slot->data, 0, pool.bytes); /* page faults here, not on the application */
		atomic_store_explicit(&slot->state, SLOT_SPARE, memory_order_release);
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

	for (uint32_t i = 0; i < pool.slot_count; i++)
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
	return atomic_load(&pool.given);
}

void gt_cupti_buffers_tell(struct gt_ledger *ledger)
{
	uint64_t *count = ledger->count;

	count[GT_LEDGER_BUFFERS_COMPLETED] = atomic_load(&pool.completed);
	count[GT_LEDGER_BUFFERS_FOREIGN] = atomic_load(&pool.foreign);
	count[GT_LEDGER_BUFFERS_DISCARDED] = atomic_load(&pool.discarded);
	count[GT_LEDGER_BUFFERS_LOST_BYTES] = atomic_load(&pool.discarded_bytes);
	count[GT_LEDGER_BUFFERS_KEPT] = count_kept();
	count[GT_LEDGER_BUFFERS_UNREAD] = gt_cupti_buffers_waiting();
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

/* SPDX-License-Identifier: Apache-2.0
 *
 * Activity buffer slots, see the header for who may call what.
 */
#include "collectors/cupti/buffers.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "collectors/cupti/memory/blocks.h"
#include "collectors/cupti/memory/pace.h"
#include "collectors/cupti/memory/slots.h"
#include "core/guest/clock.h"
#include "core/guest/free_guard.h"
#include "core/guest/memory.h"
#include "core/spool.h"

#define DISCARD_BYTES (256u * 1024u)
#define BLOCK_LEAST   ((size_t)1 << 20)
#define READY_BLOCKS  2u
#define FREE_SLOTS    1024u /* until the drain thread comes by again */
#define MANY          256u
#define PACES         64u

/* All buffers that CUPTI has at a time are to fit into a part of the memory: others wait to be
 * read. */
#define LENT_PART     8u

static struct {
	struct gt_cupti_slot *slots; /* NULL: no memory */
	struct gt_cupti_slot_counts *counts, private_counts;
	_Atomic uint32_t used; /* slots from here on were never used */
	struct gt_cupti_pace paces[PACES];
	uint8_t pace_of[GT_CUPTI_BUFFERS_MAX]; /* of the slots that CUPTI has */
	bool per_thread;
	size_t max_bytes;
	_Atomic uint32_t lent; /* buffers that CUPTI has, about */
	uint8_t *discard;
	bool null_is_safe;
	_Atomic bool stopped;
	_Atomic uint64_t next_order;
	_Atomic uint64_t demanded;  /* all of the first so many requests were to come back */
	_Atomic uint64_t forgotten; /* requests whose buffers may have gone to another tool */
	_Atomic uint64_t requested;
	_Atomic uint64_t crowded; /* requests for which there was no slot */
	uint64_t many_at;         /* requests when CUPTI had many; drain thread */
} pool;

static void count(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* A block has room for the largest buffer, and for a copy of another tool's buffer of that size
 * with its guard. */
static void start_blocks(size_t buffer_bytes, size_t max_bytes)
{
	size_t bytes = buffer_bytes > BLOCK_LEAST ? buffer_bytes : BLOCK_LEAST;

	bytes = smaller(bytes, max_bytes / 2);
	for (uint32_t i = 0; i < PACES; i++)
		gt_cupti_pace_start(&pool.paces[i], smaller(buffer_bytes, bytes));
	gt_cupti_blocks_start(bytes + GT_CUPTI_PAGE_BYTES, max_bytes / bytes);
}

int gt_cupti_buffers_start(size_t buffer_bytes, size_t max_bytes, bool per_thread,
			   bool null_is_safe)
{
	struct gt_cupti_slots *spooled;
	uint8_t *memory;

	memset(&pool, 0, sizeof(pool)); /* in a forked child the buffers are the parent's */
	start_blocks(buffer_bytes, max_bytes);
	pool.max_bytes = max_bytes;
	pool.per_thread = per_thread;
	pool.null_is_safe = null_is_safe;
	memory = gt_memory_map(DISCARD_BYTES + GT_FREE_GUARD_BYTES);
	pool.discard = memory ? gt_free_guard(memory) : NULL;
	pool.counts = &pool.private_counts;
	spooled = gt_spool_map(sizeof(*spooled));
	if (!pool.discard || !spooled)
		return -ENOMEM;
	pool.slots = spooled->slots;
	pool.counts = &spooled->counts;
	gt_spool_set_root(GT_SPOOL_BUFFERS, spooled);
	for (uint32_t i = 0; i < READY_BLOCKS && gt_cupti_blocks_add_untouched(); i++)
		continue;
	return 0;
}

void gt_cupti_buffers_stop(void)
{
	atomic_store(&pool.stopped, true);
}

void gt_cupti_buffers_resume(void)
{
	atomic_store(&pool.stopped, false);
}

static void count_used(uint32_t index)
{
	uint32_t used = atomic_load(&pool.used);

	while (used <= index && !atomic_compare_exchange_weak(&pool.used, &used, index + 1))
		continue;
}

/* Claims a free slot: it becomes BUSY. NULL: none. */
static struct gt_cupti_slot *claim_slot(void)
{
	for (uint32_t i = 0; pool.slots && i < GT_CUPTI_BUFFERS_MAX; i++) {
		int expected = GT_CUPTI_SLOT_FREE;

		if (atomic_load_explicit(&pool.slots[i].state, memory_order_relaxed) != expected ||
		    !atomic_compare_exchange_strong(&pool.slots[i].state, &expected,
						    GT_CUPTI_SLOT_BUSY))
			continue;
		count_used(i);
		return &pool.slots[i];
	}
	return NULL;
}

/* Claims a slot with memory for @bytes, or for at least @least. CUPTI may hand a buffer to a tool
 * that frees every buffer: see core/guest/free_guard.h. NULL: none. */
static struct gt_cupti_slot *prepare_slot(size_t bytes, size_t least)
{
	struct gt_cupti_slot *slot = claim_slot();
	struct gt_cupti_piece piece;

	if (!slot)
		return NULL;
	if (!gt_cupti_blocks_cut(bytes, least, &piece)) {
		atomic_store(&slot->state, GT_CUPTI_SLOT_FREE);
		return NULL;
	}
	slot->block = piece.block;
	slot->data = gt_free_guard(piece.memory);
	slot->bytes = piece.bytes - GT_FREE_GUARD_BYTES;
	return slot;
}

/* The pace of the calling thread. Few threads that work at a time share one. */
static uint8_t pace_here(void)
{
	static __thread char here;
	uintptr_t self = (uintptr_t)&here; /* those of threads lie pages or megabytes apart */

	return pool.per_thread ? (uint8_t)((self >> 12 ^ self >> 18 ^ self >> 23) % PACES) : 0;
}

/* CUPTI may ask for a buffer for each of a thousand threads. */
static size_t next_bytes(const struct gt_cupti_pace *pace)
{
	size_t bytes = atomic_load_explicit(&pace->bytes, memory_order_relaxed);
	uint32_t lent = atomic_load_explicit(&pool.lent, memory_order_relaxed);
	size_t share = pool.max_bytes / LENT_PART / (lent + 1);

	if (!pool.per_thread || bytes <= share)
		return bytes;
	return share > pace->least ? share : pace->least;
}

static void lend_slot(struct gt_cupti_slot *slot, uint8_t pace)
{
	pool.pace_of[slot - pool.slots] = pace;
	atomic_fetch_add_explicit(&pool.lent, 1, memory_order_relaxed);
	slot->valid = slot->bytes;
	slot->sampled = 0;
	slot->lent_at = gt_clock_now();
	atomic_store(&slot->request, atomic_load(&pool.requested));
	atomic_store(&slot->state, GT_CUPTI_SLOT_LENT);
}

static uint32_t count_in(int state)
{
	uint32_t n = 0, used = atomic_load(&pool.used);

	for (uint32_t i = 0; i < used; i++)
		n += atomic_load_explicit(&pool.slots[i].state, memory_order_relaxed) == state;
	return n;
}

static void count_discarded(void)
{
	count(&pool.counts->discarded, 1);
	count(&pool.crowded,
	      atomic_load(&pool.used) == GT_CUPTI_BUFFERS_MAX && !count_in(GT_CUPTI_SLOT_FREE));
}

void gt_cupti_buffers_request(uint8_t **ret_buffer, size_t *ret_size, size_t *ret_max_records)
{
	bool stopped = atomic_load_explicit(&pool.stopped, memory_order_relaxed);
	uint8_t pace = pace_here();
	struct gt_cupti_slot *slot = NULL;

	if (!stopped)
		slot = prepare_slot(next_bytes(&pool.paces[pace]), pool.paces[pace].least);
	*ret_max_records = 0; /* no limit */
	count(&pool.requested, 1);
	if (slot) {
		lend_slot(slot, pace);
		*ret_buffer = slot->data;
		*ret_size = slot->bytes;
		return;
	}
	if (!stopped)
		count_discarded();
	*ret_buffer = pool.null_is_safe ? NULL : pool.discard;
	*ret_size = pool.null_is_safe ? 0 : DISCARD_BYTES;
}

static struct gt_cupti_slot *slot_of(const uint8_t *buffer)
{
	uint32_t used = atomic_load(&pool.used);

	for (uint32_t i = 0; i < used; i++) {
		if (atomic_load(&pool.slots[i].state) == GT_CUPTI_SLOT_LENT &&
		    pool.slots[i].data == buffer)
			return &pool.slots[i];
	}
	return NULL;
}

/* Copies another tool's buffer, requested before the callbacks became ours: read, never freed
 * (REQ-18). All or nothing: a truncated record would be read beyond its end. */
static struct gt_cupti_slot *copy_foreign(const uint8_t *buffer, size_t valid)
{
	size_t bytes = valid + GT_FREE_GUARD_BYTES;
	struct gt_cupti_slot *slot = prepare_slot(bytes, bytes);

	if (slot)
		memcpy(slot->data, buffer, valid);
	else
		count(&pool.counts->discarded_bytes, valid);
	return slot;
}

static void discard(uint8_t *buffer, size_t valid)
{
	count(&pool.counts->discarded_bytes, valid);
	memset(buffer, 0, valid < DISCARD_BYTES ? valid : DISCARD_BYTES);
}

static void fill(struct gt_cupti_slot *slot, size_t valid, bool foreign)
{
	slot->foreign = foreign;
	slot->sampled = 0;
	slot->valid = smaller(valid, slot->bytes);
	slot->order = atomic_fetch_add(&pool.next_order, 1);
	count(&pool.counts->completed, 1);
	/* pairs with the acquire in gt_cupti_buffers_next: records before the state */
	atomic_store_explicit(&slot->state, GT_CUPTI_SLOT_FULL, memory_order_release);
}

static void note_return(const struct gt_cupti_slot *slot, size_t valid)
{
	uint32_t lent = atomic_load(&pool.lent);

	while (lent && !atomic_compare_exchange_weak(&pool.lent, &lent, lent - 1))
		continue;
	gt_cupti_pace_note(&pool.paces[pool.pace_of[slot - pool.slots]], valid,
			   gt_clock_now() - slot->lent_at);
}

bool gt_cupti_buffers_complete(uint8_t *buffer, size_t valid)
{
	struct gt_cupti_slot *slot = slot_of(buffer);
	bool ours = slot || !buffer || buffer == pool.discard;

	if (buffer && buffer == pool.discard)
		discard(buffer, valid);
	if (!ours) {
		count(&pool.counts->foreign, 1);
		slot = copy_foreign(buffer, valid);
	}
	if (slot && ours)
		note_return(slot, valid);
	if (slot)
		fill(slot, valid, !ours);
	return ours;
}

/* NULL: none waits to be read. */
static const struct gt_cupti_slot *oldest_full(void)
{
	uint32_t used = atomic_load(&pool.used);
	const struct gt_cupti_slot *oldest = NULL;

	for (uint32_t i = 0; i < used; i++) {
		const struct gt_cupti_slot *slot = &pool.slots[i];

		if (atomic_load_explicit(&slot->state, memory_order_acquire) ==
			    GT_CUPTI_SLOT_FULL &&
		    (!oldest || slot->order < oldest->order))
			oldest = slot;
	}
	return oldest;
}

bool gt_cupti_buffers_next(struct gt_cupti_buffer *ret_buffer)
{
	const struct gt_cupti_slot *oldest = oldest_full();

	if (!oldest)
		return false;
	*ret_buffer = (struct gt_cupti_buffer){.data = oldest->data,
					       .valid = oldest->valid,
					       .foreign = oldest->foreign,
					       .order = oldest->order,
					       .request = atomic_load(&oldest->request)};
	return true;
}

uint64_t gt_cupti_buffers_order(void)
{
	return atomic_load(&pool.next_order);
}

bool gt_cupti_buffers_wait_before(uint64_t order)
{
	const struct gt_cupti_slot *oldest = oldest_full();

	return oldest && oldest->order < order;
}

size_t gt_cupti_buffers_waiting(void)
{
	uint32_t used = atomic_load(&pool.used);
	size_t cost = 0;

	for (uint32_t i = 0; i < used; i++)
		if (atomic_load_explicit(&pool.slots[i].state, memory_order_relaxed) ==
		    GT_CUPTI_SLOT_FULL)
			cost += gt_cupti_buffer_cost(pool.slots[i].valid);
	return cost;
}

bool gt_cupti_buffers_are_many(void)
{
	uint64_t requested = atomic_load(&pool.requested);

	if (atomic_load(&pool.lent) < MANY || requested - pool.many_at < MANY)
		return false;
	pool.many_at = requested;
	return true;
}

/* Only the drain thread uses a FULL or READ slot, but recovery reads it if we are killed here: the
 * state changes before the data. */
static void free_slot(struct gt_cupti_slot *slot)
{
	uint32_t block = slot->block;

	atomic_store(&slot->state, GT_CUPTI_SLOT_FREE);
	gt_cupti_blocks_return(block);
}

static struct gt_cupti_slot *find_full(const uint8_t *data)
{
	for (uint32_t i = 0, used = atomic_load(&pool.used); i < used; i++)
		if (atomic_load(&pool.slots[i].state) == GT_CUPTI_SLOT_FULL &&
		    pool.slots[i].data == data)
			return &pool.slots[i];
	return NULL;
}

/* Returns its slot. */
static struct gt_cupti_slot *note_reading(const struct gt_cupti_buffer *buffer, uint64_t now)
{
	struct gt_cupti_slot *slot = find_full(buffer->data);

	if (slot) {
		slot->read = now;
		slot->sampled = buffer->sampled;
	}
	return slot;
}

void gt_cupti_buffers_begin(const struct gt_cupti_buffer *buffer, uint64_t now)
{
	note_reading(buffer, now);
}

bool gt_cupti_buffers_are_outside(const struct gt_cupti_buffer *buffer)
{
	return gt_spool_is_open() && !gt_spool_holds(buffer->data);
}

void gt_cupti_buffers_recycle(const struct gt_cupti_buffer *buffer, uint64_t now)
{
	struct gt_cupti_slot *slot = note_reading(buffer, now);

	if (slot && gt_spool_holds(slot->data)) {
		slot->valid = buffer->valid;
		atomic_store(&slot->state, GT_CUPTI_SLOT_READ);
	} else if (slot) {
		free_slot(slot);
	}
}

void gt_cupti_buffers_release(uint64_t until)
{
	for (uint32_t i = 0, used = atomic_load(&pool.used); i < used; i++) {
		struct gt_cupti_slot *slot = &pool.slots[i];

		if (atomic_load_explicit(&slot->state, memory_order_relaxed) ==
			    GT_CUPTI_SLOT_READ &&
		    slot->read < until)
			free_slot(slot);
	}
}

/* The oldest buffer that was read, of those that @may accepts (NULL: all). To be freed though
 * recovery may need it: CUPTI must not run out of buffers. */
static struct gt_cupti_slot *oldest_read(bool (*may)(const struct gt_cupti_slot *slot))
{
	struct gt_cupti_slot *oldest = NULL;

	for (uint32_t i = 0, used = atomic_load(&pool.used); i < used; i++) {
		struct gt_cupti_slot *slot = &pool.slots[i];

		if (atomic_load_explicit(&slot->state, memory_order_relaxed) ==
			    GT_CUPTI_SLOT_READ &&
		    (!oldest || slot->order < oldest->order) && (!may || may(slot)))
			oldest = slot;
	}
	return oldest;
}

/* Calls @each for every read buffer of @block. Returns how many there are. */
static uint32_t each_read(uint32_t block, void (*each)(struct gt_cupti_slot *slot))
{
	uint32_t n = 0;

	for (uint32_t i = 0, used = atomic_load(&pool.used); i < used; i++) {
		struct gt_cupti_slot *slot = &pool.slots[i];

		if (atomic_load_explicit(&slot->state, memory_order_relaxed) !=
			    GT_CUPTI_SLOT_READ ||
		    slot->block != block)
			continue;
		n++;
		if (each)
			each(slot);
	}
	return n;
}

/* Freeing its block would make memory available. */
static bool blocks_memory(const struct gt_cupti_slot *slot)
{
	return each_read(slot->block, NULL) == gt_cupti_blocks_pieces(slot->block);
}

/* What is done once before the first buffer is freed that recovery may need. */
struct buffers_spill {
	void (*spill)(void *context); /* NULL: done, or not needed */
	void *context;
};

static void spill_once(struct buffers_spill *spill)
{
	if (spill->spill)
		spill->spill(spill->context);
	spill->spill = NULL;
}

static bool free_block(struct buffers_spill *spill)
{
	struct gt_cupti_slot *oldest = oldest_read(blocks_memory);

	if (!oldest)
		return false;
	spill_once(spill);
	return each_read(oldest->block, free_slot) > 0;
}

/* Many small buffers may use up the slots before they use up the blocks. */
static void free_slots(struct buffers_spill *spill)
{
	struct gt_cupti_slot *oldest;

	if (atomic_load(&pool.used) <= GT_CUPTI_BUFFERS_MAX - FREE_SLOTS)
		return;
	for (uint32_t n = count_in(GT_CUPTI_SLOT_FREE);
	     n < FREE_SLOTS && (oldest = oldest_read(NULL)); n++) {
		spill_once(spill);
		free_slot(oldest);
	}
}

void gt_cupti_buffers_prepare(void (*spill)(void *context), void *context)
{
	struct buffers_spill once = {spill, context};

	free_slots(&once);
	while (gt_cupti_blocks_reclaim() < READY_BLOCKS)
		if (!gt_cupti_blocks_add() && !free_block(&once))
			return;
}

void gt_cupti_buffers_demanded(uint64_t requests)
{
	uint64_t before = atomic_load(&pool.demanded);

	while (before < requests &&
	       !atomic_compare_exchange_weak(&pool.demanded, &before, requests))
		continue;
}

/* Buffers that CUPTI still has, of the first @requests. */
static uint32_t count_held(uint64_t requests)
{
	uint32_t n = 0;

	for (uint32_t i = 0, used = atomic_load(&pool.used); i < used; i++)
		n += atomic_load(&pool.slots[i].state) == GT_CUPTI_SLOT_LENT &&
		     atomic_load(&pool.slots[i].request) <= requests;
	return n;
}

bool gt_cupti_buffers_held(uint64_t requests)
{
	return count_held(requests) > 0;
}

void gt_cupti_buffers_forget(void)
{
	uint64_t before = atomic_load(&pool.forgotten);
	uint32_t n = 0, used = atomic_load(&pool.used);

	atomic_store(&pool.forgotten, atomic_load(&pool.requested));
	atomic_store(&pool.lent, 0);
	for (uint32_t i = 0; i < used; i++)
		n += atomic_load(&pool.slots[i].state) == GT_CUPTI_SLOT_LENT &&
		     atomic_load(&pool.slots[i].request) > before;
	gt_cupti_blocks_allow(n);
}

static size_t largest_pace(void)
{
	size_t largest = 0;

	for (uint32_t i = 0; i < PACES; i++) {
		size_t bytes = atomic_load_explicit(&pool.paces[i].bytes, memory_order_relaxed);

		if (bytes > largest)
			largest = bytes;
	}
	return largest;
}

size_t gt_cupti_buffers_lent_bytes(void)
{
	uint64_t forgotten = atomic_load(&pool.forgotten);
	uint32_t used = atomic_load(&pool.used);
	size_t bytes = 0, next = largest_pace();

	for (uint32_t i = 0; i < used; i++)
		if (atomic_load(&pool.slots[i].state) == GT_CUPTI_SLOT_LENT &&
		    atomic_load(&pool.slots[i].request) > forgotten)
			bytes += pool.slots[i].valid;
	return bytes > next ? bytes : next;
}

void gt_cupti_buffers_each_lent(void (*take)(void *context, const struct gt_cupti_lent *lent),
				void *context)
{
	for (uint32_t i = 0, used = atomic_load(&pool.used); i < used; i++) {
		const struct gt_cupti_slot *slot = &pool.slots[i];
		struct gt_cupti_lent lent;

		/* the state first: what a free slot points to may be unmapped */
		if (atomic_load(&slot->state) != GT_CUPTI_SLOT_LENT)
			continue;
		lent = (struct gt_cupti_lent){.data = slot->data, .bytes = slot->bytes};
		take(context, &lent);
	}
}

void gt_cupti_buffers_report_delivered(struct gt_ledger *ledger)
{
	if (pool.counts)
		gt_cupti_slot_counts_report(pool.counts, ledger);
}

void gt_cupti_buffers_report(struct gt_ledger *ledger)
{
	uint64_t *count = ledger->count;

	gt_cupti_buffers_report_delivered(ledger);
	/* CUPTI may request one while it flushes, for a record of the flush */
	count[GT_LEDGER_BUFFERS_KEPT] = count_held(atomic_load(&pool.demanded));
	count[GT_LEDGER_BUFFERS_UNREAD] = count_in(GT_CUPTI_SLOT_FULL);
}

struct gt_cupti_buffer_counts gt_cupti_buffers_count(void)
{
	const struct gt_cupti_slot_counts *counts =
		pool.counts ? pool.counts : &pool.private_counts;

	return (struct gt_cupti_buffer_counts){
		.requested = atomic_load(&pool.requested),
		.completed = atomic_load(&counts->completed),
		.foreign = atomic_load(&counts->foreign),
		.discarded = atomic_load(&counts->discarded),
		.discarded_bytes = atomic_load(&counts->discarded_bytes),
		.crowded = atomic_load(&pool.crowded),
	};
}

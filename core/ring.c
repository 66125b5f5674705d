/* SPDX-License-Identifier: Apache-2.0
 *
 * The ring, see the header. reserve/commit: the owning application thread; next/pass/release: the
 * drain thread.
 */
#include "core/ring.h"

#include <errno.h>

#include "core/guest/memory.h"
#include "core/spool_view.h"

#define RECORD_PADDING 0

int gt_ring_init(struct gt_ring *ring, size_t capacity)
{
	size_t size = 4096;

	while (size < capacity)
		size *= 2;
	ring->data = gt_spool_map(size);
	if (!ring->data)
		return -ENOMEM;
	ring->capacity = size;
	ring->from = (struct gt_ring_memory){.data = ring->data, .capacity = size};
	ring->old = ring->larger = (struct gt_ring_memory){0};
	ring->usual = UINT64_MAX;
	ring->seen_tail = ring->reserved = ring->read = ring->peak = ring->moved = 0;
	atomic_init(&ring->offer, GT_RING_NONE);
	atomic_init(&ring->was_full, false);
	atomic_init(&ring->head, 0);
	atomic_init(&ring->tail, 0);
	return 0;
}

static void unmap(struct gt_ring_memory *memory)
{
	gt_memory_unmap(memory->data, memory->capacity);
	memory->data = NULL;
}

void gt_ring_fini(struct gt_ring *ring)
{
	unmap(&ring->from);
	unmap(&ring->old);
	unmap(&ring->larger);
	ring->data = NULL;
}

int gt_ring_offer(struct gt_ring *ring, size_t capacity)
{
	char *data;

	if (atomic_load_explicit(&ring->offer, memory_order_relaxed) || ring->old.data)
		return -EBUSY;
	data = gt_spool_map(capacity);
	if (data && gt_spool_holds(ring->from.data) && !gt_spool_holds(data)) {
		gt_memory_unmap(data, capacity); /* a kill would lose what is in it */
		data = NULL;
	}
	if (!data)
		return -ENOMEM;
	ring->larger = (struct gt_ring_memory){.data = data, .capacity = capacity};
	/* pairs with the acquire in move */
	atomic_store_explicit(&ring->offer, GT_RING_OFFERED, memory_order_release);
	return 0;
}

/* Producer, whose ring is full at @head. False: nothing larger is offered. */
static bool move(struct gt_ring *ring, uint64_t head)
{
	if (atomic_load_explicit(&ring->offer, memory_order_acquire) != GT_RING_OFFERED)
		return false;
	if (ring->usual != UINT64_MAX)
		ring->usual = ring->larger.capacity - ring->larger.capacity / 8;
	ring->data = ring->larger.data;
	ring->capacity = ring->larger.capacity;
	ring->moved = head;
	/* pairs with the acquire in follow */
	atomic_store_explicit(&ring->offer, GT_RING_TAKEN, memory_order_release);
	return true;
}

bool gt_ring_is_crowded_now(struct gt_ring *ring)
{
	uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);

	ring->seen_tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
	/* not moved here: a record may be reserved */
	return head - ring->seen_tail > ring->usual &&
	       atomic_load_explicit(&ring->offer, memory_order_relaxed) != GT_RING_OFFERED;
}

static struct gt_ring_record *record_at(const struct gt_ring *ring, uint64_t position)
{
	return (struct gt_ring_record *)(void *)(ring->data + (position & (ring->capacity - 1)));
}

/* Consumer: has the producer moved before it wrote what is read next? */
static void follow(struct gt_ring *ring)
{
	if (__builtin_expect(atomic_load_explicit(&ring->offer, memory_order_acquire) !=
					     GT_RING_TAKEN ||
				     ring->read != ring->moved,
			     1))
		return;
	ring->old = ring->from; /* in this order: a kill may come in between (memory_of) */
	atomic_signal_fence(memory_order_seq_cst);
	ring->from = ring->larger;
	atomic_signal_fence(memory_order_seq_cst);
	atomic_store_explicit(&ring->offer, GT_RING_NONE, memory_order_release);
	ring->larger = (struct gt_ring_memory){0};
}

static const struct gt_ring_record *unread_at(const struct gt_ring *ring, uint64_t position)
{
	const char *at = ring->from.data + (position & (ring->from.capacity - 1));

	return (const struct gt_ring_record *)(const void *)at;
}

/* Whether @need bytes from @head fit; reads the consumer's tail only when it must. */
static bool has_room(struct gt_ring *ring, uint64_t head, size_t need)
{
	if (head + need - ring->seen_tail <= ring->capacity)
		return true;
	/* pairs with the release in gt_ring_release: the consumer has read what we overwrite */
	ring->seen_tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
	return head + need - ring->seen_tail <= ring->capacity;
}

struct gt_ring_record *gt_ring_reserve_anew(struct gt_ring *ring, size_t max)
{
	uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
	size_t to_end = ring->capacity - (size_t)(head & (ring->capacity - 1));
	size_t pad;

	max = (max + 7) & ~(size_t)7;
	pad = to_end < max ? to_end : 0;
	if (!has_room(ring, head, pad + max)) {
		if (move(ring, head))
			return gt_ring_reserve_anew(ring, max);
		atomic_store_explicit(&ring->was_full, true, memory_order_relaxed);
		return NULL;
	}
	if (pad) {
		struct gt_ring_record *padding = record_at(ring, head);

		padding->size = (uint32_t)pad;
		padding->type = RECORD_PADDING;
		head += pad;
		atomic_store_explicit(&ring->head, head, memory_order_release);
	}
	ring->reserved = head;
	return record_at(ring, head);
}

const struct gt_ring_record *gt_ring_next(struct gt_ring *ring)
{
	/* pairs with the release in gt_ring_commit */
	while (atomic_load_explicit(&ring->head, memory_order_acquire) != ring->read) {
		const struct gt_ring_record *record;

		follow(ring);
		record = unread_at(ring, ring->read);
		if (record->type != RECORD_PADDING)
			return record;
		ring->read += record->size;
	}
	return NULL;
}

void gt_ring_pass(struct gt_ring *ring, const struct gt_ring_record *record)
{
	ring->read += record->size;
	ring->passed[record->type % GT_RING_TYPES]++;
}

void gt_ring_release(struct gt_ring *ring)
{
	uint64_t used = gt_ring_end(ring) - atomic_load_explicit(&ring->tail, memory_order_relaxed);

	for (int i = 0; i < GT_RING_TYPES + GT_RING_COUNTS; i++) {
		ring->released[i] += ring->passed[i];
		ring->passed[i] = 0;
	}
	if (used > ring->peak)
		ring->peak = used;
	/* pairs with the acquire in has_room */
	atomic_store_explicit(&ring->tail, ring->read, memory_order_release);
	if (ring->old.data) /* all of it has been read when the consumer followed */
		unmap(&ring->old);
}

/* The record at @position of a ring with untrusted bytes. NULL: not a record. */
static const struct gt_ring_record *checked_at(const char *data, uint64_t capacity,
					       uint64_t position, uint64_t head)
{
	uint64_t offset = position & (capacity - 1);
	const struct gt_ring_record *record =
		(const struct gt_ring_record *)(const void *)(data + offset);

	if (offset % 8 || capacity - offset < sizeof(*record) || record->size < sizeof(*record) ||
	    record->size % 8 || record->size > capacity - offset || record->size > head - position)
		return NULL;
	return record;
}

/* Where the records from @position on lie, of a ring whose threads may have been killed anywhere.
 */
static const struct gt_ring_memory *memory_of(const struct gt_ring *ring, uint64_t position)
{
	bool taken = atomic_load(&ring->offer) == GT_RING_TAKEN;

	if (position < ring->moved && ring->old.data)
		return &ring->old;
	return position >= ring->moved && taken ? &ring->larger : &ring->from;
}

/* The records of one memory, up to @end. Returns where they ended. */
static uint64_t each_in(const struct gt_spool_view *view, const struct gt_ring_memory *memory,
			uint64_t position, uint64_t end,
			void (*found)(void *context, const struct gt_ring_record *record),
			void *context)
{
	uint64_t capacity = memory->capacity;
	const char *data = gt_spool_view_at(view, gt_spool_address(memory->data), capacity);

	if (!data || !capacity || capacity & (capacity - 1) || end - position > capacity)
		return position;
	while (position != end) {
		const struct gt_ring_record *record = checked_at(data, capacity, position, end);

		if (!record)
			break;
		if (record->type != RECORD_PADDING)
			found(context, record);
		position += record->size;
	}
	return position;
}

uint64_t gt_ring_each(const struct gt_spool_view *view, const struct gt_ring *ring,
		      void (*found)(void *context, const struct gt_ring_record *record),
		      void *context)
{
	uint64_t head = atomic_load(&ring->head), tail = atomic_load(&ring->tail);
	uint64_t moved = ring->moved;

	if (tail < moved && moved < head) {
		tail = each_in(view, memory_of(ring, tail), tail, moved, found, context);
		if (tail != moved)
			return head - tail;
	}
	tail = each_in(view, memory_of(ring, tail), tail, head, found, context);
	return head - tail;
}

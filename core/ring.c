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
	ring->usual = UINT64_MAX;
	ring->seen_tail = ring->reserved = ring->read = ring->peak = 0;
	atomic_init(&ring->head, 0);
	atomic_init(&ring->tail, 0);
	return 0;
}

void gt_ring_fini(struct gt_ring *ring)
{
	gt_memory_unmap(ring->data, ring->capacity);
	ring->data = NULL;
}

static struct gt_ring_record *record_at(const struct gt_ring *ring, uint64_t position)
{
	return (struct gt_ring_record *)(void *)(ring->data + (position & (ring->capacity - 1)));
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
	if (!has_room(ring, head, pad + max))
		return NULL;
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
		const struct gt_ring_record *record = record_at(ring, ring->read);

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

uint64_t gt_ring_each(const struct gt_spool_view *view, const struct gt_ring *ring,
		      void (*found)(void *context, const struct gt_ring_record *record),
		      void *context)
{
	uint64_t head = atomic_load(&ring->head), tail = atomic_load(&ring->tail);
	uint64_t capacity = ring->capacity;
	const char *data = gt_spool_view_at(view, gt_spool_address(ring->data), capacity);

	if (!data || !capacity || capacity & (capacity - 1) || head - tail > capacity)
		return 0;
	while (tail != head) {
		const struct gt_ring_record *record = checked_at(data, capacity, tail, head);

		if (!record)
			break;
		if (record->type != RECORD_PADDING)
			found(context, record);
		tail += record->size;
	}
	return head - tail;
}

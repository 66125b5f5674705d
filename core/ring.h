/* SPDX-License-Identifier: Apache-2.0
 *
 * A ring of records from one application thread to the drain thread: single producer, single
 * consumer, no lock, never waits. The producer reserves as much as it may need, fills the record in
 * place, and commits the length used. A full ring refuses; the producer counts that.
 *
 * Records are contiguous and 8-byte aligned. A reservation that does not fit before the end of the
 * memory puts a padding record there and starts at the beginning.
 *
 * The consumer may offer larger memory. A producer whose ring is full moves there: what it commits
 * from then on lies in that, what came before stays where it is until it is released.
 */
#ifndef GT_CORE_RING_H
#define GT_CORE_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* First member of each record. */
struct gt_ring_record {
	uint32_t size; /* bytes with this header, multiple of 8 */
	uint16_t type; /* defined by the collectors; 0 is padding */
	uint16_t flags;
};

/* Types of records that are counted, padding among them. */
#define GT_RING_TYPES  5

/* Counts that the consumer keeps of what the records said, see gt_ring_count. */
#define GT_RING_COUNTS 2

/* Where records lie. */
struct gt_ring_memory {
	char *data;
	size_t capacity; /* power of two */
};

/* What has become of larger memory. */
enum gt_ring_offer {
	GT_RING_NONE,
	GT_RING_OFFERED, /* the producer may move */
	GT_RING_TAKEN,   /* it has, and the consumer has not read so far yet */
};

/* A queue with one producer and one consumer. */
struct gt_ring {
	/* consumer's cache line */
	_Alignas(64) _Atomic uint64_t tail; /* bytes released to the producer so far */
	uint64_t read;                      /* bytes read so far; private to the consumer */
	uint64_t peak;                      /* most bytes in it when some were released */
	struct gt_ring_memory from;         /* where the consumer reads */
	struct gt_ring_memory old;          /* what lies there is not released yet; NULL: nothing */
	struct gt_ring_memory larger;       /* that is offered, or taken */
	/* records by type, then the consumer's counts: of records read and not released; of those
	 * released so far, for recovery */
	uint32_t passed[GT_RING_TYPES + GT_RING_COUNTS];
	uint64_t released[GT_RING_TYPES + GT_RING_COUNTS];
	/* producer's cache line */
	_Alignas(64) _Atomic uint64_t head; /* bytes committed so far */
	uint64_t seen_tail;                 /* the tail that the producer read last */
	uint64_t reserved;                  /* where the open reservation starts */
	char *data;
	size_t capacity;        /* power of two */
	uint64_t usual;         /* what is in it when the rest is kept for what matters most */
	uint64_t moved;         /* the position from which it uses the memory that it has now */
	_Atomic uint32_t offer; /* enum gt_ring_offer */
	_Atomic bool was_full;  /* a record found no room */
};

/* Maps @capacity bytes (rounded up to a power of two, at least a page). Nothing of it is kept for
 * what matters most. -ENOMEM. */
int gt_ring_init(struct gt_ring *ring, size_t capacity);
void gt_ring_fini(struct gt_ring *ring);

/* The same as gt_ring_reserve, at the end of the memory, and where the tail must be read. */
struct gt_ring_record *gt_ring_reserve_anew(struct gt_ring *ring, size_t max);

/* Producer: reserves @max bytes, header included; NULL: the ring is full. Replaces an uncommitted
 * reservation. Hot. */
static inline struct gt_ring_record *gt_ring_reserve(struct gt_ring *ring, size_t max)
{
	uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
	size_t offset = (size_t)(head & (ring->capacity - 1));
	size_t need = max + 7; /* at least @max, rounded up */

	if (__builtin_expect(ring->capacity - offset < need ||
				     head + need - ring->seen_tail > ring->capacity,
			     0))
		return gt_ring_reserve_anew(ring, max);
	ring->reserved = head;
	return (struct gt_ring_record *)(void *)(ring->data + offset);
}

/* Producer: from now on the last eighth is kept for what matters most: see gt_ring_is_crowded. */
static inline void gt_ring_keep_room(struct gt_ring *ring)
{
	ring->usual = ring->capacity - ring->capacity / 8;
}

/* The same as gt_ring_is_crowded, where the tail must be read. */
bool gt_ring_is_crowded_now(struct gt_ring *ring);

/* Producer: whether only what matters most should be put in. Reads the consumer's tail only when it
 * must. */
static inline bool gt_ring_is_crowded(struct gt_ring *ring)
{
	uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);

	return __builtin_expect(head - ring->seen_tail > ring->usual, 0) &&
	       gt_ring_is_crowded_now(ring);
}

/* Producer: publishes the reserved record with @size bytes (<= max) and @type. */
static inline void gt_ring_commit(struct gt_ring *ring, struct gt_ring_record *record, size_t size,
				  uint16_t type)
{
	record->size = (uint32_t)((size + 7) & ~(size_t)7);
	record->type = type;
	/* pairs with the acquire in gt_ring_next: the record's bytes are visible before its
	 * length */
	atomic_store_explicit(&ring->head, ring->reserved + record->size, memory_order_release);
}

/* Consumer: the end of the ring now. A loop must stop there: reading until empty may never end. */
static inline uint64_t gt_ring_end(struct gt_ring *ring)
{
	return atomic_load_explicit(&ring->head, memory_order_acquire);
}

/* Consumer: whether a record committed before @end is still unread. */
static inline bool gt_ring_has_before(struct gt_ring *ring, uint64_t end)
{
	return ring->read < end;
}

/* Consumer: the oldest unread record, or NULL. */
const struct gt_ring_record *gt_ring_next(struct gt_ring *ring);

/* Consumer: marks the record of gt_ring_next as read. It stays valid until gt_ring_release. */
void gt_ring_pass(struct gt_ring *ring, const struct gt_ring_record *record);

/* Consumer: the record of gt_ring_next adds @n to count @which. Before it is passed. */
static inline void gt_ring_count(struct gt_ring *ring, int which, uint32_t n)
{
	ring->passed[GT_RING_TYPES + which] += n;
}

/* Consumer: the records read were written out; returns their bytes to the producer. */
void gt_ring_release(struct gt_ring *ring);

/* Consumer: whether more than half of the ring is not released. */
static inline bool gt_ring_is_pressed(const struct gt_ring *ring)
{
	return ring->read - atomic_load_explicit(&ring->tail, memory_order_relaxed) >
	       ring->from.capacity / 2;
}

/* Consumer: lets the producer move to @capacity bytes, a power of two, when the ring is full; the
 * memory that it leaves is unmapped. -EBUSY: it has not left another one yet; -ENOMEM. */
int gt_ring_offer(struct gt_ring *ring, size_t capacity);

/* Consumer: the bytes that the ring has, or may have without being asked again. */
static inline size_t gt_ring_reach(const struct gt_ring *ring)
{
	return atomic_load_explicit(&ring->offer, memory_order_relaxed) == GT_RING_NONE
		       ? ring->from.capacity
		       : ring->larger.capacity;
}

/* For recovery: each unreleased record of a ring in a spool, oldest first. Returns the bytes that
 * could not be read. */
struct gt_spool_view;
uint64_t gt_ring_each(const struct gt_spool_view *view, const struct gt_ring *ring,
		      void (*found)(void *context, const struct gt_ring_record *record),
		      void *context);

/* Consumer: whether every committed record has been read. */
static inline bool gt_ring_is_empty(struct gt_ring *ring)
{
	return atomic_load_explicit(&ring->head, memory_order_acquire) == ring->read;
}

#endif

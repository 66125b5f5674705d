/* SPDX-License-Identifier: Apache-2.0
 *
 * The ring: order, contiguity, refusal when full, and a producer and a consumer at full speed.
 */
#include "core/ring.h"

#include "core/spool_view.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

struct sample {
	struct gt_ring_record head;
	uint64_t number;
	unsigned char body[];
};

static struct gt_ring ring;

static void setup(void)
{
	cr_assert_eq(gt_ring_init(&ring, 4096), 0);
}

static void teardown(void)
{
	gt_ring_fini(&ring);
}

TestSuite(ring, .init = setup, .fini = teardown);

static size_t body_bytes(uint64_t number)
{
	return (number * 7919) % 200;
}

static bool put(uint64_t number)
{
	size_t bytes = body_bytes(number);
	struct sample *s = (void *)gt_ring_reserve(&ring, sizeof(*s) + 200);

	if (!s)
		return false;
	s->number = number;
	memset(s->body, (int)(number & 0xff), bytes);
	gt_ring_commit(&ring, &s->head, sizeof(*s) + bytes, 1);
	return true;
}

/* Takes one record and checks every byte of it. */
static bool take(uint64_t expected)
{
	const struct sample *s = (const void *)gt_ring_next(&ring);

	if (!s)
		return false;
	cr_assert_eq(s->number, expected);
	for (size_t i = 0; i < body_bytes(expected); i++)
		cr_assert_eq(s->body[i], expected & 0xff);
	gt_ring_pass(&ring, &s->head);
	gt_ring_release(&ring);
	return true;
}

Test(ring, a_round_ends_where_it_began_though_more_comes)
{
	uint64_t end, taken = 0;

	for (uint64_t i = 0; i < 3; i++)
		cr_assert(put(i));
	end = gt_ring_end(&ring);
	for (; gt_ring_has_before(&ring, end); taken++) {
		cr_assert(take(taken));
		cr_assert(put(3 + taken));
	}
	cr_assert_eq(taken, 3);
	cr_assert_not(gt_ring_is_empty(&ring));
}

Test(ring, gives_records_in_order_across_the_end)
{
	for (uint64_t i = 0; i < 1000; i++) {
		cr_assert(put(i));
		cr_assert(take(i));
	}
	cr_assert(gt_ring_is_empty(&ring));
}

Test(ring, refuses_when_full_and_goes_on_after)
{
	uint64_t n = 0;

	while (put(n))
		n++;
	cr_assert_gt(n, 10);
	cr_assert(ring.was_full);
	for (uint64_t i = 0; i < n; i++)
		cr_assert(take(i));
	cr_assert_not(take(n));
	cr_assert(put(n));
	cr_assert(take(n));
}

Test(ring, an_uncommitted_reservation_is_replaced)
{
	struct sample *s = (void *)gt_ring_reserve(&ring, sizeof(*s));

	s->number = 99;
	cr_assert(put(7));
	cr_assert(take(7));
	cr_assert(gt_ring_is_empty(&ring));
}

#define RACED 200000

static void *produce(void *argument)
{
	(void)argument;
	for (uint64_t i = 0; i < RACED; i++) {
		while (!put(i)) /* the other one may have no processor */
			sched_yield();
	}
	return NULL;
}

Test(ring, loses_nothing_between_two_threads)
{
	pthread_t producer;

	pthread_create(&producer, NULL, produce, NULL);
	for (uint64_t i = 0; i < RACED; i++) {
		while (!take(i))
			sched_yield();
	}
	pthread_join(producer, NULL);
	cr_assert(gt_ring_is_empty(&ring));
}

/* Counts those that follow one another. */
static void follow(void *context, const struct gt_ring_record *record)
{
	uint64_t *next = context;

	*next += ((const struct sample *)(const void *)record)->number == *next;
}

/* Of a process that was killed now. Everything is where its addresses say. */
static uint64_t recovered(uint64_t first)
{
	const struct gt_spool_view view = {
		.data = (const uint8_t *)8, .base = 8, .size = SIZE_MAX / 2};
	uint64_t next = first;

	cr_assert_eq(gt_ring_each(&view, &ring, follow, &next), 0);
	return next - first;
}

static uint64_t fill(uint64_t from)
{
	while (put(from))
		from++;
	return from;
}

Test(ring, moves_to_larger_memory_when_it_is_full)
{
	uint64_t small = fill(0), number, taken = 0;

	cr_assert_eq(gt_ring_offer(&ring, 65536), 0);
	cr_assert_eq(gt_ring_offer(&ring, 65536), -EBUSY);
	cr_assert_eq(gt_ring_reach(&ring), 65536);
	cr_assert_eq(recovered(0), small);
	number = fill(small);
	cr_assert_gt(number, 10 * small);
	cr_assert(ring.was_full);
	cr_assert_eq(recovered(0), number);
	for (; taken < number; taken++) {
		cr_assert(take(taken));
		cr_assert_eq(recovered(taken + 1), number - taken - 1);
	}
	cr_assert_gt(fill(number), number + 10 * small);
}

/* Read and not released: both memories are needed. */
Test(ring, keeps_what_is_not_released_when_it_moves)
{
	uint64_t small = fill(0), number;

	cr_assert_eq(gt_ring_offer(&ring, 65536), 0);
	number = fill(small);
	for (uint64_t i = 0; i <= small; i++) {
		const struct gt_ring_record *record = gt_ring_next(&ring);

		cr_assert_eq(((const struct sample *)(const void *)record)->number, i);
		gt_ring_pass(&ring, record);
	}
	cr_assert_eq(gt_ring_offer(&ring, 65536), -EBUSY);
	cr_assert_eq(recovered(0), number);
	gt_ring_release(&ring);
	cr_assert_eq(recovered(small + 1), number - small - 1);
}

Test(ring, is_not_crowded_when_it_can_move)
{
	uint64_t number;

	gt_ring_keep_room(&ring);
	number = fill(0);
	cr_assert(gt_ring_is_crowded(&ring));
	cr_assert_eq(gt_ring_offer(&ring, 65536), 0);
	cr_assert_not(gt_ring_is_crowded(&ring));
	cr_assert(put(number));
	cr_assert_not(gt_ring_is_crowded(&ring));
	fill(number + 1);
	cr_assert(gt_ring_is_crowded(&ring));
}

Test(ring, loses_nothing_when_it_moves_between_two_threads)
{
	pthread_t producer;
	size_t capacity = 8192;

	pthread_create(&producer, NULL, produce, NULL);
	for (uint64_t i = 0; i < RACED; i++) {
		while (!take(i))
			sched_yield();
		if (i % 1000 == 0 && capacity < 1 << 20 && !gt_ring_offer(&ring, capacity))
			capacity *= 2;
	}
	pthread_join(producer, NULL);
	cr_assert(gt_ring_is_empty(&ring));
	cr_assert_gt(capacity, 8192);
}

/* The last eighth, until the consumer has given room back. */
Test(ring, keeps_room_when_asked_to)
{
	uint64_t number = 0;

	while (put(number))
		number++;
	cr_assert_not(gt_ring_is_crowded(&ring), "nobody has asked for it");
	gt_ring_keep_room(&ring);
	cr_assert(gt_ring_is_crowded(&ring));
	for (uint64_t i = 0; i < number; i++)
		take(i);
	cr_assert_not(gt_ring_is_crowded(&ring));
}

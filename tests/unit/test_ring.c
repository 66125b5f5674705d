/* SPDX-License-Identifier: Apache-2.0
 *
 * The ring: order, contiguity, refusal when full, and a producer and a consumer at full speed.
 */
#include "core/ring.h"

#include <criterion/criterion.h>
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

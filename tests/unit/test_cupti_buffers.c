/* SPDX-License-Identifier: Apache-2.0
 *
 * Activity buffers: aligned and zeroed, read in the order of completion, foreign ones copied; at
 * the cap records are discarded and counted, without returning a NULL that crashes an old CUPTI.
 */
#include "collectors/cupti/buffers.h"
#include "core/guest/free_guard.h"
#include "core/spool.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#define BYTES 65536

static uint8_t *request(size_t *size)
{
	uint8_t *buffer = NULL;
	size_t records = 99;

	gt_cupti_buffers_request(&buffer, size, &records);
	cr_assert_eq(records, 0);
	return buffer;
}

/* Asks until there is no more of @cap bytes, of which at least half must have been given. */
static void use_up(size_t cap)
{
	size_t size, sum = 0;

	while (gt_cupti_buffers_count().discarded == 0) {
		request(&size);
		if (gt_cupti_buffers_count().discarded == 0)
			sum += size;
	}
	cr_assert_leq(sum, cap + 2 * 4096);
	cr_assert_geq(sum, cap / 2);
}

Test(cupti_buffers, come_back_in_the_order_of_completion)
{
	struct gt_cupti_buffer done;
	size_t size;
	uint8_t *a, *b;

	cr_assert_eq(gt_cupti_buffers_start(BYTES, 8 * BYTES, false, false), 0);
	a = request(&size);
	b = request(&size);
	cr_assert_leq(size, BYTES);
	cr_assert_eq((uintptr_t)a % 8, 0);
	gt_cupti_buffers_complete(b, 100);
	gt_cupti_buffers_complete(a, 200);
	cr_assert(gt_cupti_buffers_next(&done));
	cr_assert_eq(done.data, b);
	cr_assert_eq(done.valid, 100);
	gt_cupti_buffers_recycle(&done, 1);
	cr_assert(gt_cupti_buffers_next(&done));
	cr_assert_eq(done.data, a);
	gt_cupti_buffers_recycle(&done, 1);
	cr_assert_not(gt_cupti_buffers_next(&done));
}

Test(cupti_buffers, are_zero_when_handed_out_again)
{
	struct gt_cupti_buffer done;
	static uint8_t zero[BYTES];
	size_t size;

	gt_cupti_buffers_start(BYTES, 2 * BYTES, false, false);
	for (int round = 0; round < 5; round++) {
		uint8_t *buffer = request(&size);

		cr_assert_eq(memcmp(buffer, zero, size), 0);
		memset(buffer, 0xDB, size);
		gt_cupti_buffers_complete(buffer, size);
		cr_assert(gt_cupti_buffers_next(&done));
		gt_cupti_buffers_recycle(&done, 1);
		gt_cupti_buffers_prepare(NULL, NULL);
	}
}

Test(cupti_buffers, over_the_cap_a_discard_buffer_is_given_and_counted)
{
	size_t size;
	uint8_t *discard;

	gt_cupti_buffers_start(BYTES, 2 * BYTES, false, false);
	use_up(2 * BYTES);
	discard = request(&size);
	cr_assert_not_null(discard);
	gt_cupti_buffers_complete(discard, 64);
	cr_assert_eq(gt_cupti_buffers_count().discarded, 2);
	cr_assert_eq(gt_cupti_buffers_count().discarded_bytes, 64);
	cr_assert_eq(gt_cupti_buffers_count().completed, 0);
}

Test(cupti_buffers, a_foreign_buffer_is_read_as_a_copy_and_not_touched)
{
	uint8_t foreign[64];
	struct gt_cupti_buffer done;

	memset(foreign, 7, sizeof(foreign));
	gt_cupti_buffers_start(BYTES, 2 * BYTES, false, true);
	cr_assert_not(gt_cupti_buffers_complete(foreign, sizeof(foreign)), "its owner's");
	cr_assert_eq(gt_cupti_buffers_count().foreign, 1);
	cr_assert(gt_cupti_buffers_next(&done));
	cr_assert_neq(done.data, foreign);
	cr_assert_eq(done.valid, sizeof(foreign));
	cr_assert_eq(memcmp(done.data, foreign, sizeof(foreign)), 0);
	gt_cupti_buffers_recycle(&done, 1);
	cr_assert_eq(foreign[0], 7);
	cr_assert_eq(foreign[63], 7);
}

Test(cupti_buffers, a_foreign_buffer_over_the_cap_is_counted)
{
	static uint8_t foreign[BYTES / 2];

	gt_cupti_buffers_start(BYTES, 2 * BYTES, false, true);
	use_up(2 * BYTES);
	gt_cupti_buffers_complete(foreign, sizeof(foreign));
	cr_assert_eq(gt_cupti_buffers_count().foreign, 1);
	cr_assert_eq(gt_cupti_buffers_count().discarded_bytes, sizeof(foreign));
}

#define WRITERS 4
#define ROUNDS  3000
#define SMALL   4096

struct writer {
	pthread_t thread;
	uint32_t number;
	uint32_t not_zero; /* buffers that were not zeroed, or foreign */
	uint32_t refused;
};

static struct writer writers[WRITERS];
static _Atomic uint32_t writers_done;

/* As CUPTI: requests buffers, fills a part of each with the writer's number and a count, and
 * returns them. */
static void *write_buffers(void *argument)
{
	static const uint32_t zero[SMALL / 4];
	struct writer *w = argument;

	for (uint32_t round = 0; round < ROUNDS; round++) {
		uint8_t *buffer = NULL;
		size_t size, records, used = 8 + round % 500 * 8; /* bytes */

		gt_cupti_buffers_request(&buffer, &size, &records);
		if (!buffer) {
			w->refused++;
			sched_yield();
			continue;
		}
		w->not_zero += memcmp(buffer, zero, size) != 0;
		for (size_t at = 0; at < used; at += 8)
			memcpy(buffer + at, (uint32_t[]){w->number + 1, round + 1}, 8);
		gt_cupti_buffers_complete(buffer, used);
	}
	atomic_fetch_add(&writers_done, 1);
	return NULL;
}

/* Everything in a buffer is of one writer and one round. Returns the writer, or -1. */
static int writer_of(const struct gt_cupti_buffer *buffer)
{
	const uint32_t *words = (const uint32_t *)buffer->data;

	for (size_t i = 0; i + 1 < buffer->valid / 4; i += 2)
		if (words[i] != words[0] || words[i + 1] != words[1])
			return -1;
	return words[0] >= 1 && words[0] <= WRITERS ? (int)words[0] - 1 : -1;
}

Test(cupti_buffers, many_threads_ask_and_complete_while_one_reads)
{
	uint32_t seen[WRITERS] = {0}, mixed = 0;
	struct gt_cupti_buffer done;
	bool last_look = false;

	gt_cupti_buffers_start(SMALL, 16 * SMALL, false, true);
	for (uint32_t i = 0; i < WRITERS; i++) {
		writers[i].number = i;
		pthread_create(&writers[i].thread, NULL, write_buffers, &writers[i]);
	}
	while (!last_look) {
		last_look = atomic_load(&writers_done) == WRITERS;
		while (gt_cupti_buffers_next(&done)) {
			int writer = writer_of(&done);

			if (writer < 0)
				mixed++;
			else
				seen[writer]++;
			gt_cupti_buffers_recycle(&done, 1);
		}
		gt_cupti_buffers_prepare(NULL, NULL);
	}
	cr_assert_eq(mixed, 0);
	for (uint32_t i = 0; i < WRITERS; i++) {
		pthread_join(writers[i].thread, NULL);
		cr_assert_eq(writers[i].not_zero, 0);
		cr_assert_eq(seen[i] + writers[i].refused, ROUNDS);
	}
}

Test(cupti_buffers, a_new_start_knows_nothing_of_the_one_before)
{
	struct gt_cupti_buffer done;
	size_t size;

	gt_cupti_buffers_start(BYTES, 4 * BYTES, false, false);
	gt_cupti_buffers_complete(request(&size), 100);
	gt_cupti_buffers_start(BYTES, 4 * BYTES, false, false);
	cr_assert_not(gt_cupti_buffers_next(&done), "a forked child has its parent's records");
	cr_assert_eq(gt_cupti_buffers_count().requested, 0);
	cr_assert_eq(gt_cupti_buffers_count().completed, 0);
}

Test(cupti_buffers, none_is_mapped_once_nobody_reads_any_more)
{
	size_t size, discard_size;
	uint8_t *first, *second;

	gt_cupti_buffers_start(BYTES, 64 * BYTES, false, false);
	request(&size);
	gt_cupti_buffers_stop();
	first = request(&discard_size);
	second = request(&discard_size);
	cr_assert_not_null(first);
	cr_assert_eq(first, second, "the discard buffer");
	gt_cupti_buffers_start(BYTES, 64 * BYTES, false, true);
	gt_cupti_buffers_stop();
	cr_assert_null(request(&size), "this CUPTI accepts a NULL");
}

Test(cupti_buffers, what_did_not_come_back_or_was_not_read_is_counted)
{
	struct gt_ledger ledger = {0};
	size_t size;
	uint8_t *kept, *unread;

	cr_assert_eq(gt_cupti_buffers_start(BYTES, 8 * BYTES, false, false), 0);
	kept = request(&size);
	unread = request(&size);
	gt_cupti_buffers_report(&ledger);
	cr_assert_eq(ledger.count[GT_LEDGER_BUFFERS_KEPT], 0, "nobody has asked for it back");
	gt_cupti_buffers_demanded(gt_cupti_buffers_count().requested);
	gt_cupti_buffers_complete(unread, 100);
	request(&size); /* for a record of the flush itself */
	gt_cupti_buffers_report_delivered(&ledger);
	cr_assert_eq(ledger.count[GT_LEDGER_BUFFERS_KEPT], 0, "a file that is full is not the end");
	cr_assert_eq(ledger.count[GT_LEDGER_BUFFERS_UNREAD], 0);
	cr_assert_eq(ledger.count[GT_LEDGER_BUFFERS_COMPLETED], 1);
	gt_cupti_buffers_report(&ledger);
	cr_assert_eq(ledger.count[GT_LEDGER_BUFFERS_KEPT], 1);
	cr_assert_eq(ledger.count[GT_LEDGER_BUFFERS_UNREAD], 1);
	cr_assert_eq(ledger.count[GT_LEDGER_BUFFERS_COMPLETED], 1);
	gt_cupti_buffers_complete(kept, 100);
	gt_cupti_buffers_report(&ledger);
	cr_assert_eq(ledger.count[GT_LEDGER_BUFFERS_KEPT], 0);
}

Test(cupti_buffers, are_as_large_as_what_comes_in_a_moment)
{
	struct gt_cupti_buffer done;
	size_t size, largest = 0;

	gt_cupti_buffers_start(1u << 20, 64u << 20, false, true);
	for (int i = 0; i < 12; i++) {
		uint8_t *buffer = request(&size);

		cr_assert_geq(size, largest, "full at once: more the next time");
		gt_cupti_buffers_complete(buffer, size);
		cr_assert(gt_cupti_buffers_next(&done));
		gt_cupti_buffers_recycle(&done, 1);
		gt_cupti_buffers_prepare(NULL, NULL);
		largest = size;
	}
	cr_assert_eq(largest, (1u << 20) - GT_FREE_GUARD_BYTES);
	for (int i = 0; i < 3; i++)
		gt_cupti_buffers_complete(request(&size), 8);
	cr_assert_leq(size, 512u << 10, "flushed when there was little in it");
}

/* A burst of flushes, each of which brings a little: they take what they need of the cap, not the
 * most that a buffer may have. */
/* A record that is cut off would be read beyond its end. */
Test(cupti_buffers, a_foreign_buffer_is_copied_whole_or_not_at_all)
{
	static uint8_t foreign[16 * BYTES];
	struct gt_cupti_buffer done;

	gt_cupti_buffers_start(BYTES, 2 * BYTES, false, true);
	gt_cupti_buffers_complete(foreign, sizeof(foreign));
	cr_assert_not(gt_cupti_buffers_next(&done));
	cr_assert_eq(gt_cupti_buffers_count().discarded_bytes, sizeof(foreign));
	gt_cupti_buffers_complete(foreign, BYTES);
	cr_assert(gt_cupti_buffers_next(&done));
	cr_assert_eq(done.valid, BYTES);
	cr_assert_eq(gt_cupti_buffers_count().discarded_bytes, sizeof(foreign));
}

/* One that another tool got and kept is not what CUPTI can hold. */
Test(cupti_buffers, that_may_be_lost_are_not_counted_as_given)
{
	size_t size, given;

	gt_cupti_buffers_start(1u << 20, 64u << 20, false, true);
	for (int i = 0; i < 10; i++)
		gt_cupti_buffers_complete(request(&size), size);
	given = gt_cupti_buffers_lent_bytes();
	request(&size);
	request(&size);
	cr_assert_geq(gt_cupti_buffers_lent_bytes(), 2 * size);
	gt_cupti_buffers_forget();
	cr_assert_eq(gt_cupti_buffers_lent_bytes(), given);
}

/* As CUPTI does for each of many short threads: it returns them only when asked. */
Test(cupti_buffers, that_are_many_are_asked_back_before_they_run_out)
{
	uint8_t *held[GT_CUPTI_BUFFERS_MAX];
	size_t size, count = 0, rounds = 0;

	gt_cupti_buffers_start(1u << 20, 256u << 20, true, true);
	cr_assert_not(gt_cupti_buffers_are_many());
	for (int i = 0; i < 10000; i++) {
		held[count++] = request(&size);
		if (!gt_cupti_buffers_are_many())
			continue;
		cr_assert_not(gt_cupti_buffers_are_many());
		rounds++;
		while (count > 0)
			gt_cupti_buffers_complete(held[--count], 200);
		for (struct gt_cupti_buffer done; gt_cupti_buffers_next(&done);)
			gt_cupti_buffers_recycle(&done, 1);
		gt_cupti_buffers_prepare(NULL, NULL);
	}
	cr_assert_gt(rounds, 10000 / GT_CUPTI_BUFFERS_MAX);
	cr_assert_eq(gt_cupti_buffers_count().discarded, 0);
}

/* More memory would not help. */
Test(cupti_buffers, that_are_too_many_are_counted_as_such)
{
	size_t size;

	gt_cupti_buffers_start(1u << 20, 1u << 30, true, true);
	for (uint32_t i = 0; i < GT_CUPTI_BUFFERS_MAX + 3; i++)
		request(&size);
	cr_assert_eq(gt_cupti_buffers_count().discarded, 3);
	cr_assert_eq(gt_cupti_buffers_count().crowded, 3);
	gt_cupti_buffers_start(4 * BYTES, 8 * BYTES, false, true);
	use_up(8 * BYTES);
	cr_assert_eq(gt_cupti_buffers_count().crowded, 0);
}

Test(cupti_buffers, that_hold_little_take_little_of_the_cap)
{
	size_t size;

	gt_cupti_buffers_start(4u << 20, 16u << 20, false, true);
	for (int i = 0; i < 300; i++)
		gt_cupti_buffers_complete(request(&size), 200);
	cr_assert_eq(gt_cupti_buffers_count().discarded, 0);
	cr_assert_eq(gt_cupti_buffers_count().completed, 300);
	cr_assert_eq(gt_cupti_buffers_waiting(), 300 * gt_cupti_buffer_cost(200));
}

Test(cupti_buffers, may_be_smaller_where_the_cap_has_no_room_for_more)
{
	size_t size, sum = 0, discarded;

	gt_cupti_buffers_start(1u << 20, 2u << 20, false, true);
	do {
		uint8_t *buffer = request(&size);

		discarded = gt_cupti_buffers_count().discarded;
		if (!discarded)
			gt_cupti_buffers_complete(buffer, size);
		sum += discarded ? 0 : size;
	} while (!discarded);
	cr_assert_leq(sum, (2u << 20) + 2 * 4096, "a page more for each block");
	cr_assert_geq(sum, (1u << 20) + (64u << 10) - 4096,
		      "all but the rest of the first block, too little for the second size");
}

/* @count buffers one after another, each given, filled with @valid bytes at most and read. Returns
 * the size of the last one. */
static size_t turn_over(int count, size_t valid)
{
	struct gt_cupti_buffer done;
	size_t size = 0;

	for (int i = 0; i < count; i++) {
		uint8_t *buffer = request(&size);

		gt_cupti_buffers_complete(buffer, valid < size ? valid : size);
		cr_assert(gt_cupti_buffers_next(&done), "%d", i);
		gt_cupti_buffers_recycle(&done, 1);
		gt_cupti_buffers_prepare(NULL, NULL);
	}
	return size;
}

/* After a fast phase, small ones find all the room that large ones had; and the other way round. */
Test(cupti_buffers, of_any_size_have_all_of_the_cap)
{
	struct gt_cupti_buffer done;
	size_t size, large;

	gt_cupti_buffers_start(4u << 20, 16u << 20, false, true);
	large = turn_over(40, SIZE_MAX);
	cr_assert_eq(large, (4u << 20) - GT_FREE_GUARD_BYTES);
	for (int i = 0; i < 300; i++)
		gt_cupti_buffers_complete(request(&size), 200);
	cr_assert_eq(gt_cupti_buffers_count().discarded, 0);
	while (gt_cupti_buffers_next(&done))
		gt_cupti_buffers_recycle(&done, 1);
	gt_cupti_buffers_prepare(NULL, NULL);
	cr_assert_eq(turn_over(40, SIZE_MAX), large);
	cr_assert_eq(gt_cupti_buffers_count().discarded, 0);
}

static void start_spool(void)
{
	const struct gt_spool_options options = {.where = "on",
						 .build_id = "00",
						 .folder = "/tmp",
						 .max_bytes = 64u << 20,
						 .started = 3};
	char why[256];

	if (gt_spool_start(&options, why, sizeof(why)))
		cr_skip("no tmpfs with enough room");
}

/* What was read is kept for recovery, but not where CUPTI would get no buffer: large ones take all
 * blocks, */
Test(cupti_buffers, that_are_kept_for_recovery_give_way, .fini = gt_spool_remove)
{
	uint8_t *kept;
	size_t size;

	start_spool();
	gt_cupti_buffers_start(4u << 20, 16u << 20, false, true);
	kept = request(&size); /* CUPTI's, all the time: its block does not come back */
	turn_over(60, SIZE_MAX);
	turn_over(500, 200);
	turn_over(60, SIZE_MAX);
	cr_assert_eq(gt_cupti_buffers_count().discarded, 0);
	gt_cupti_buffers_complete(kept, 8);
}

/* and small ones take all slots. */
Test(cupti_buffers, that_are_many_give_way_too, .fini = gt_spool_remove)
{
	start_spool();
	gt_cupti_buffers_start(4u << 20, 48u << 20, false, true);
	turn_over(2 * GT_CUPTI_BUFFERS_MAX, 200);
	cr_assert_eq(gt_cupti_buffers_count().discarded, 0);
}

static void count_spill(void *context)
{
	++*(int *)context;
}

/* Before the first one is freed that recovery may need, and only then. */
Test(cupti_buffers, that_give_way_are_spilled_first, .fini = gt_spool_remove)
{
	struct gt_cupti_buffer done;
	int spills = 0;
	size_t size;

	start_spool();
	gt_cupti_buffers_start(4u << 20, 16u << 20, false, true);
	gt_cupti_buffers_complete(request(&size), 8);
	cr_assert(gt_cupti_buffers_next(&done));
	gt_cupti_buffers_recycle(&done, 1);
	gt_cupti_buffers_prepare(count_spill, &spills);
	cr_assert_eq(spills, 0);
	turn_over(GT_CUPTI_BUFFERS_MAX, 200);
	for (uint32_t i = 0; i < GT_CUPTI_BUFFERS_MAX && !spills; i++) {
		gt_cupti_buffers_complete(request(&size), 8);
		cr_assert(gt_cupti_buffers_next(&done));
		gt_cupti_buffers_recycle(&done, 1);
		gt_cupti_buffers_prepare(count_spill, &spills);
	}
	cr_assert_eq(spills, 1);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * The size of the next buffer follows the rate of the records, by at most a factor of two at a
 * time, or at once if measured over a long time.
 */
#include "collectors/cupti/memory/pace.h"

#include <criterion/criterion.h>

#define MS    1000000ull
#define KIB   1024u
#define MOST  (4096u * KIB)

#define FIRST (64u * KIB)
#define GOOD  (1024u * KIB) /* the least that CUPTI recommends */

/* One whose size is @bytes, by its rate. */
static struct gt_cupti_pace pace_of(size_t bytes)
{
	struct gt_cupti_pace pace;

	gt_cupti_pace_start(&pace, MOST);
	gt_cupti_pace_note(&pace, bytes, 1000 * MS);
	cr_assert_eq(pace.bytes, bytes / 4);
	return pace;
}

Test(cupti_pace, the_first_one_shows_whether_what_cupti_recommends_is_worth_it)
{
	struct gt_cupti_pace pace;

	gt_cupti_pace_start(&pace, MOST);
	cr_assert_eq(pace.bytes, FIRST);
	gt_cupti_pace_note(&pace, FIRST, 0);
	cr_assert_eq(pace.bytes, GOOD);
}

Test(cupti_pace, full_at_once_is_twice_as_large_until_the_most)
{
	struct gt_cupti_pace pace;

	gt_cupti_pace_start(&pace, MOST);
	gt_cupti_pace_note(&pace, FIRST, 0);
	for (size_t bytes = GOOD; bytes < MOST; bytes *= 2) {
		cr_assert_eq(pace.bytes, bytes);
		gt_cupti_pace_note(&pace, bytes, 0);
	}
	gt_cupti_pace_note(&pace, MOST, 0);
	cr_assert_eq(pace.bytes, MOST);
}

Test(cupti_pace, a_small_one_full_at_once_is_followed_by_what_cupti_recommends)
{
	struct gt_cupti_pace pace = pace_of(64 * KIB);

	gt_cupti_pace_note(&pace, 16 * KIB, 50 * MS); /* not a good rate */
	cr_assert_eq(pace.bytes, 32 * KIB);
	gt_cupti_pace_note(&pace, 32 * KIB, MS);
	cr_assert_eq(pace.bytes, 64 * KIB, "a short time shows a rate up to 32 KiB in 10 ms");
	gt_cupti_pace_note(&pace, 64 * KIB, MS);
	cr_assert_eq(pace.bytes, GOOD);
}

Test(cupti_pace, stays_while_one_is_full_after_a_quarter_of_a_second)
{
	struct gt_cupti_pace pace = pace_of(64 * KIB);

	gt_cupti_pace_note(&pace, 16 * KIB, 250 * MS);
	cr_assert_eq(pace.bytes, 16 * KIB);
	gt_cupti_pace_note(&pace, 16 * KIB, 130 * MS);
	cr_assert_eq(pace.bytes, 16 * KIB);
	gt_cupti_pace_note(&pace, 16 * KIB, 120 * MS);
	cr_assert_eq(pace.bytes, 32 * KIB);
}

Test(cupti_pace, full_late_or_nearly_empty_is_half_as_large_down_to_the_least)
{
	struct gt_cupti_pace pace = pace_of(64 * KIB);

	gt_cupti_pace_note(&pace, 16 * KIB, 600 * MS);
	cr_assert_eq(pace.bytes, 8 * KIB);
	gt_cupti_pace_note(&pace, 8, 10000 * MS);
	cr_assert_eq(pace.bytes, 8 * KIB);
}

/* The GPU was fast, now it is slow and always busy: nothing comes until a buffer is full. */
Test(cupti_pace, after_a_long_time_the_size_is_right_at_once)
{
	struct gt_cupti_pace pace;

	gt_cupti_pace_start(&pace, MOST);
	for (int i = 0; i < 10; i++)
		gt_cupti_pace_note(&pace, pace.bytes, 0);
	gt_cupti_pace_note(&pace, MOST, 21000 * MS); /* 200 kB/s */
	cr_assert_eq(pace.bytes, 32 * KIB);
}

Test(cupti_pace, one_that_came_back_unused_says_nothing)
{
	struct gt_cupti_pace pace;

	gt_cupti_pace_start(&pace, MOST);
	gt_cupti_pace_note(&pace, FIRST, MS);
	for (size_t bytes = GOOD; bytes < MOST; bytes *= 2) {
		cr_assert_eq(pace.bytes, bytes);
		gt_cupti_pace_note(&pace, bytes, MS);
		gt_cupti_pace_note(&pace, 0, MS);
	}
}

/* The program waits for its work after each launch, and each wait has CUPTI deliver one record. */
Test(cupti_pace, many_that_hold_little_do_not_ask_for_more)
{
	struct gt_cupti_pace pace;

	gt_cupti_pace_start(&pace, MOST);
	for (int i = 0; i < 1000; i++)
		gt_cupti_pace_note(&pace, 200, MS / 100);
	cr_assert_leq(pace.bytes, 16 * KIB);
}

Test(cupti_pace, the_most_may_be_little)
{
	struct gt_cupti_pace pace;

	gt_cupti_pace_start(&pace, 4 * KIB);
	cr_assert_eq(pace.bytes, 4 * KIB);
	gt_cupti_pace_note(&pace, 4 * KIB, 0);
	cr_assert_eq(pace.bytes, 4 * KIB);
	gt_cupti_pace_note(&pace, 8, 1000 * MS);
	cr_assert_eq(pace.bytes, 4 * KIB);
}

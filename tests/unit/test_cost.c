/* SPDX-License-Identifier: Apache-2.0
 *
 * Shares of the cost, from made-up readings.
 */
#include "pipeline/sources/cost.h"

#include <criterion/criterion.h>

#define MS 1000000ull

Test(cost, of_a_busy_process)
{
	struct gt_cost_reading from = {.at = 5 * MS, .process = 7 * MS};
	struct gt_cost_reading to = {.at = 1005 * MS,
				     .added = 20 * MS,
				     .own = 30 * MS,
				     .process = 2057 * MS,
				     .threads = 2000 * MS};
	struct gt_cost_shares shares = gt_cost_between(&from, &to);

	cr_assert_eq(shares.overhead, 250, "50 of 2000 ms that are the program's");
	cr_assert_eq(shares.threads, 100);
	cr_assert_eq(shares.writing, 300);
}

/* One that waits for its GPU: what counts is the time that it takes. */
Test(cost, of_a_process_that_waits)
{
	struct gt_cost_reading from = {0};
	struct gt_cost_reading to = {.at = 1000 * MS,
				     .added = MS,
				     .own = 9 * MS,
				     .process = 20 * MS,
				     .threads = 1000 * MS};

	cr_assert_eq(gt_cost_between(&from, &to).overhead, 100, "10 of 999 ms");
}

/* A thread that only launches: of 1000 ms that passed 200 were added. */
Test(cost, of_a_thread_that_only_launches)
{
	struct gt_cost_reading from = {0};
	struct gt_cost_reading to = {.at = 1000 * MS,
				     .added = 200 * MS,
				     .own = 200 * MS,
				     .process = 1200 * MS,
				     .threads = 1000 * MS};

	cr_assert_eq(gt_cost_between(&from, &to).overhead, 5000, "400 of 800 ms");
}

Test(cost, of_nothing)
{
	struct gt_cost_reading same = {.at = 1};
	struct gt_cost_shares shares = gt_cost_between(&same, &same);

	cr_assert_eq(shares.overhead + shares.threads + shares.writing, 0);
	/* the clocks of threads and process are not read at one moment */
	same.process = 5;
	shares = gt_cost_between(&same,
				 &(struct gt_cost_reading){.at = MS, .own = 10, .process = 6});
	cr_assert_leq(shares.overhead, 1);
}

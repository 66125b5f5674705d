/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists of ranks.
 */
#include "core/window/rank_list.h"

#include <criterion/criterion.h>
#include <errno.h>

Test(rank_list, members)
{
	cr_assert(!gt_rank_list_check("0,8-15"));
	for (int64_t rank = -1; rank < 20; rank++)
		cr_assert_eq(gt_rank_list_has("0,8-15", rank),
			     rank == 0 || (rank >= 8 && rank <= 15), "%ld", (long)rank);
	cr_assert(gt_rank_list_has("3-3", 3));
	cr_assert(gt_rank_list_has("0-2147483647", 123456));
	cr_assert(gt_rank_list_has("5,4,5", 4));
}

Test(rank_list, what_is_no_list)
{
	static const char *const wrong[] = {"",
					    ",",
					    "1,",
					    ",1",
					    "1,,2",
					    "a",
					    "1-",
					    "-1",
					    "2-1",
					    "1-2-3",
					    "1 ,2",
					    "0x1",
					    "1..",
					    "2147483648",
					    "1;2",
					    "*",
					    "1-2,x",
					    "+1",
					    "99999999999999999999"};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		cr_assert_eq(gt_rank_list_check(wrong[i]), -EINVAL, "'%s'", wrong[i]);
		cr_assert(gt_rank_list_has(wrong[i], 7), "'%s'", wrong[i]);
	}
}

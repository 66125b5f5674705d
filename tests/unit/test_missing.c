/* SPDX-License-Identifier: Apache-2.0
 *
 * Who is missing in a collective, from what the processes say of themselves.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/control/missing.h"

static struct gt_missing missing;
static char *text;

/* What is printed of the processes that were taken. */
static const char *printed(bool as_json)
{
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	gt_missing_print(&missing, as_json, out);
	fclose(out);
	return text;
}

static void take(uint32_t pid, int32_t rank, const char *lines)
{
	cr_assert_eq(gt_missing_take(&missing, pid, rank, lines), 0);
}

static void teardown(void)
{
	gt_missing_fini(&missing);
	missing = (struct gt_missing){0};
	free(text);
	text = NULL;
}

TestSuite(missing, .fini = teardown);

Test(missing, names_who_has_not_come)
{
	take(30, 2, "a1 3 3 11 ncclAllGather 34100 0 - 0 34000\n");
	take(10, 0, "a1 3 1 13 ncclAllReduce 33000 12 ncclReduce 33500 33000\n");
	take(20, -1, "a1 3 2 12 ncclReduce 34000 12 ncclReduce 33900 33000\n");
	cr_assert_str_eq(printed(false), "\ncollective 12 of communicator 0x00000000000000a1, "
					 "ncclReduce, 3 members: 2 wait in it "
					 "for up to 33.9 s\n"
					 "  rank 2 (process 30) has not called it: its last one "
					 "there is 11, ncclAllGather, 34.1 s "
					 "ago\n");
}

Test(missing, names_who_called_another_one)
{
	take(10, 0, "a1 2 1 5 ncclAllReduce 9000 5 ncclAllReduce 9000 9000\n");
	take(20, 1, "a1 2 2 5 ncclBroadcast 9000 5 ncclBroadcast 9000 9000\n");
	cr_assert(strstr(printed(false),
			 "  rank 1 (process 20) called ncclBroadcast as collective 5\n"),
		  "%s", text);
}

Test(missing, knows_that_all_have_come)
{
	take(10, 0, "a1 2 1 5 ncclAllReduce 9000 5 ncclAllReduce 9000 9000\n");
	take(20, 1, "a1 2 2 7 ncclAllReduce 9000 0 - 0 9000\n");
	cr_assert(strstr(printed(false), "1 waits in it for up to 9.0 s\n"
					 "  all members have called it\n"),
		  "%s", text);
}

Test(missing, says_that_others_are_elsewhere)
{
	take(10, 0, "a1 8 1 5 ncclAllReduce 9000 5 ncclAllReduce 9000 9000\n");
	cr_assert(strstr(printed(false), "  7 of its members are not among these processes: who is "
					 "missing is not known\n"),
		  "%s", text);
}

Test(missing, keeps_communicators_apart)
{
	take(10, 0,
	     "a1 2 1 5 ncclAllReduce 9000 5 ncclAllReduce 9000 9000\n"
	     "b2 2 1 3 ncclAllReduce 9000 0 - 0 9000\n");
	take(20, 1,
	     "a1 2 2 4 ncclAllReduce 9000 0 - 0 9000\n"
	     "b2 2 2 2 ncclAllReduce 9000 0 - 0 9000\n");
	cr_assert(strstr(printed(true),
			 "{\"collective\": 5, \"communicator\": \"0x00000000000000a1\""),
		  "%s", text);
	cr_assert(strstr(text,
			 "\"missing\": [{\"pid\": 20, \"rank\": 1, \"last\": {\"collective\": 4, "
			 "\"call\": \"ncclAllReduce\", \"seconds\": 9.000}}]"),
		  "%s", text);
	cr_assert_null(strstr(text, "00b2"), "%s", text);
}

/* Who moves is no hang; without CUPTI it is one only if somebody is behind. */
Test(missing, is_silent_without_a_hang)
{
	take(10, 0,
	     "a1 2 1 5 ncclAllReduce 900 5 ncclAllReduce 900 100\n"
	     "c3 2 1 5 ncclAllReduce 9000 0 ? 0 9000\n");
	take(20, 1,
	     "a1 2 2 4 ncclAllReduce 900 0 - 0 100\n"
	     "c3 2 2 5 ncclAllReduce 9000 0 ? 0 9000\n");
	cr_assert_str_eq(printed(false), "");
}

Test(missing, takes_no_other_lines)
{
	take(10, 0,
	     "a1 2 1 5 nccl\"AllReduce 9000 5 x 9000 9000\n\n1 2\n0 2 1 5 a 1 5 a 9000 9000\nx");
	cr_assert_eq(missing.all.count, 0);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * The parsed members of a trace's header: unusual ones are read as by an independent parser, or
 * stay unknown if it refuses them.
 */
#include <criterion/criterion.h>

#include "tests/fuzz/header_judge.h"

static const char *const odd[] = {
	"{\"rank\": 3, \"world_size\": 8, \"backend\": \"nccl\"}",
	"{\"rank\": 3.0, \"world_size\": 8e0}",
	"{\"rank\": \"3\"}",
	"{\"rank\": -0}",
	"{\"rank\": -5, \"rank\": 6}",
	"{\"rank\": null, \"rank\": 6}",
	"{\"r\\u0061nk\": 4}",
	"{\"rank\": 9223372036854775807}",
	"{\"rank\": 9223372036854775808}",
	"{\"rank\": -9223372036854775808}",
	"{\"rank\": 99999999999999999999999999, \"world_size\": 2}",
	"{\"rank\": NaN, \"world_size\": 2}",
	"{\"rank\": 1, \"loss\": -Infinity}",
	"{\"rank\": 1, \"host\": \"\xff\"}",
	"{\"rank\": 1, \"host\": \"\xc3\xa4\"}",
	"{\"backend\": \"n\\u00e4\\n\\/\\\"\\\\\"}",
	"{\"backend\": 5, \"backend\": \"nccl\"}",
	"{\"inner\": {\"rank\": 7}}",
	"{}",
	"[]",
	"[1, 2]",
	"\"rank\"",
	"null",
	("[{\"id\": 0, \"name\": \"H200\", \"totalGlobalMem\": 150121545728, "
	 "\"computeMajor\": 9, \"computeMinor\": 0, \"numSms\": 132}]"),
	"[{\"name\": \"a\"}, {\"name\": 5}, {\"id\": 7}, null, [], \"x\", {\"name\": \"\"}]",
	"[{\"id\": 1.5, \"totalGlobalMem\": 1e9}]",
	"[{\"name\": \"a\"}, {\"name\": NaN}]",
	"[{\"name\": \"\xed\xa0\x80\"}]",
	"[ { \"id\" : 4 , \"numSms\" : 5 } ]",
};

Test(header, odd_members)
{
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		cr_assert(header_judge("distributedInfo", odd[i]), "%s", odd[i]);
		cr_assert(header_judge("deviceProperties", odd[i]), "%s", odd[i]);
	}
}

/* As deep as the scanner goes, and deeper, which it refuses. */
Test(header, deep)
{
	for (int depth = 200; depth < 300; depth += 11) {
		char text[1024] = "{\"rank\": 2, \"deep\": ";
		size_t n = strlen(text);

		memset(text + n, '[', (size_t)depth);
		memset(text + n + depth, ']', (size_t)depth);
		strcpy(text + n + 2 * (size_t)depth, "}");
		cr_assert(header_judge("distributedInfo", text), "depth %d", depth);
	}
}

/* The independent parser works: it distinguishes known from unknown members. */
Test(header, known)
{
	static const char text[] = "{\"rank\": 3, \"backend\": \"n\\u0063cl\"}\0               ";
	struct gt_span key = {.text = "distributedInfo", .len = 15, .kind = GT_SPAN_STRING};
	struct gt_span value = {
		.text = text, .len = (uint32_t)strlen(text), .kind = GT_SPAN_OBJECT};
	struct gt_header header = {0};

	cr_assert_eq(gt_header_add(&header, &key, &value, false), 0);
	cr_assert(header.has_rank);
	cr_assert_eq(header.rank, 3);
	cr_assert_str_eq(header.backend, "nccl");
	gt_header_fini(&header);
}

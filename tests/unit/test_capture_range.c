/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "core/capture_range.h"

static int parse(const char *text, struct gt_capture_range *ret_range)
{
	return gt_capture_range_parse(text, ret_range);
}

Test(capture_range, kinds)
{
	const char *volatile nothing = ""; /* gcc 12 warns of bytes behind a constant */
	struct gt_capture_range range;

	cr_assert_eq(parse(nothing, &range), 0);
	cr_assert_eq(range.kind, GT_CAPTURE_ALL);
	cr_assert_eq(parse("cudaProfilerApi", &range), 0);
	cr_assert_eq(range.kind, GT_CAPTURE_PROFILER);
	cr_assert_eq(parse("nvtx:a b", &range), 0);
	cr_assert_eq(range.kind, GT_CAPTURE_NVTX);
	cr_assert_str_eq(range.name, "a b");
	cr_assert_str_eq(range.domain, "");
	cr_assert_eq(parse("nvtx:me@here@lib", &range), 0);
	cr_assert_str_eq(range.name, "me@here", "the last @ counts");
	cr_assert_str_eq(range.domain, "lib");
}

Test(capture_range, none)
{
	static const char *const wrong[] = {
		"nvtx", "nvtx:", "nvtx:@lib", "NVTX:a", "cudaProfilerApi ", "x", "@"};
	char text[2 * GT_CAPTURE_RANGE_NAME] = "nvtx:";
	struct gt_capture_range range;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		cr_assert_eq(parse(wrong[i], &range), -EINVAL, "%s", wrong[i]);
		cr_assert_eq(range.kind, GT_CAPTURE_ALL);
	}
	memset(text + 5, 'x', GT_CAPTURE_RANGE_NAME);
	cr_assert_eq(parse(text, &range), -ENAMETOOLONG);
	cr_assert_eq(range.kind, GT_CAPTURE_ALL);
	text[5 + GT_CAPTURE_RANGE_NAME - 1] = 0;
	cr_assert_eq(parse(text, &range), 0, "the longest one");
}

static bool is_like(const char *pattern, const char *text)
{
	return gt_capture_range_is_like(pattern, text, strlen(text));
}

Test(capture_range, patterns)
{
	static const char *const like[][2] = {{"", ""},           {"*", ""},       {"*", "abc"},
					      {"a?c", "abc"},     {"a*", "a"},     {"a*c", "abcbc"},
					      {"*b*", "abc"},     {"**a**", "a"},  {"?", "x"},
					      {"a*b?d", "abbcd"}, {"*.x", "y.x.x"}};
	static const char *const unlike[][2] = {{"", "a"},   {"a", ""},      {"?", ""},
						{"a", "ab"}, {"a*c", "abd"}, {"*b", "abc"},
						{"a?", "a"}, {"A", "a"}};

	for (size_t i = 0; i < sizeof(like) / sizeof(like[0]); i++)
		cr_assert(is_like(like[i][0], like[i][1]), "%s %s", like[i][0], like[i][1]);
	for (size_t i = 0; i < sizeof(unlike) / sizeof(unlike[0]); i++)
		cr_assert_not(is_like(unlike[i][0], unlike[i][1]), "%s %s", unlike[i][0],
			      unlike[i][1]);
	cr_assert(gt_capture_range_is_like("ab", "abc", 2), "only the length counts");
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * --kernels and the other lists: which names they keep, as text and back.
 */
#include "core/window/capture_filter.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

static struct gt_capture_filter filter;

static int set(const char *text)
{
	filter = (struct gt_capture_filter){0};
	return gt_capture_filter_set(&filter, GT_CAPTURE_KERNELS, text);
}

static bool keeps(const char *name)
{
	return gt_capture_filter_keeps(&filter, GT_CAPTURE_KERNELS, &name, 1);
}

Test(capture_filter, keeps_what_matches)
{
	cr_assert_eq(set("*gemm*,add"), 0);
	cr_assert(keeps("sgemm_128"));
	cr_assert(keeps("add"));
	cr_assert_not(keeps("adds"));
	cr_assert_not(keeps(""));
}

Test(capture_filter, leaves_out_what_matches_behind_a_mark)
{
	cr_assert_eq(set("!fill*"), 0);
	cr_assert(keeps("add"));
	cr_assert_not(keeps("fill_kernel"));
	cr_assert_eq(set("!*_f16,*gemm*"), 0);
	cr_assert(keeps("gemm_f32"));
	cr_assert_not(keeps("gemm_f16"), "in any order");
	cr_assert_not(keeps("add"));
}

Test(capture_filter, nothing_keeps_everything)
{
	const char *volatile nothing = "";

	cr_assert_eq(set(nothing), 0);
	cr_assert(keeps("add"));
	cr_assert_not(gt_capture_filter_is_set(&filter));
	cr_assert(gt_capture_filter_keeps(&filter, GT_CAPTURE_KERNELS, NULL, 0));
	cr_assert_eq(set("a"), 0);
	cr_assert_not(gt_capture_filter_keeps(&filter, GT_CAPTURE_KERNELS, NULL, 0),
		      "what has no name is not called a");
}

Test(capture_filter, wrong_lists)
{
	static const char *const wrong[] = {",",   "a,",   ",a",   "a,,b", "!",    "a,!",
					    "!,a", "a\nb", "a\tb", "@lib", "a,@b", "!@x"};
	char longest[GT_CAPTURE_LIST + 1];

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		cr_assert_eq(set(wrong[i]), -EINVAL, "%s", wrong[i]);
		cr_assert(keeps("anything"), "%s", wrong[i]);
	}
	memset(longest, 'a', sizeof(longest) - 1);
	longest[GT_CAPTURE_LIST] = 0;
	cr_assert_eq(set(longest), -ENAMETOOLONG);
	longest[GT_CAPTURE_LIST - 1] = 0;
	cr_assert_eq(set(longest), 0);
	cr_assert_eq(set("!!a"), 0);
	cr_assert_not(keeps("!a"), "only the first ! is none of the name");
}

Test(capture_filter, ranges_have_domains)
{
	filter = (struct gt_capture_filter){0};
	cr_assert_eq(gt_capture_filter_set(&filter, GT_CAPTURE_RANGES, "step*,*@NCCL"), 0);
	cr_assert(gt_capture_filter_keeps_range(&filter, "step 1", ""));
	cr_assert(gt_capture_filter_keeps_range(&filter, "step 1", "any"));
	cr_assert(gt_capture_filter_keeps_range(&filter, "ncclAllReduce", "NCCL"));
	cr_assert_not(gt_capture_filter_keeps_range(&filter, "ncclAllReduce", ""));
	cr_assert_eq(gt_capture_filter_set(&filter, GT_CAPTURE_RANGES, "me@home"), 0);
	cr_assert(gt_capture_filter_keeps_range(&filter, "me@home", "any"), "a name with an @");
}

Test(capture_filter, a_text_says_it_all)
{
	struct gt_capture_filter again;
	char text[GT_CAPTURE_FILTER], second[GT_CAPTURE_FILTER];

	cr_assert_eq(set("void f<int>(*),!a b"), 0);
	cr_assert_eq(gt_capture_filter_set(&filter, GT_CAPTURE_DEVICES, "0"), 0);
	filter.min_duration = 10000;
	gt_capture_filter_describe(&filter, text);
	cr_assert_str_eq(text, "kernels=void?f<int>(*),!a?b devices=0 min-duration=10000ns");
	gt_capture_filter_parse(text, &again);
	gt_capture_filter_describe(&again, second);
	cr_assert_str_eq(second, text);
	cr_assert_eq(again.min_duration, 10000);
	cr_assert_not(keeps("a b"));
}

Test(capture_filter, text_of_a_stranger)
{
	static const char *const texts[] = {
		"kernels",        "=",  "kernels=,",           "min-duration=",
		"min-duration=x", "  ", "other=a kernels=\x01"};
	char longest[GT_CAPTURE_FILTER];

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		gt_capture_filter_parse(texts[i], &filter);
		cr_assert_not(gt_capture_filter_is_set(&filter), "%s", texts[i]);
	}
	memset(longest, 'k', sizeof(longest) - 1);
	memcpy(longest, "kernels=", strlen("kernels="));
	longest[sizeof(longest) - 1] = 0;
	gt_capture_filter_parse(longest, &filter);
	cr_assert_not(gt_capture_filter_is_set(&filter));
}

Test(capture_filter, longest_lists_fit)
{
	char list[GT_CAPTURE_LIST], text[GT_CAPTURE_FILTER];
	struct gt_capture_filter again;

	memset(list, 'a', sizeof(list) - 1);
	list[sizeof(list) - 1] = 0;
	filter = (struct gt_capture_filter){.min_duration = UINT64_MAX};
	for (int i = 0; i < GT_CAPTURE_LISTS_; i++)
		cr_assert_eq(gt_capture_filter_set(&filter, (enum gt_capture_list)i, list), 0);
	gt_capture_filter_describe(&filter, text);
	gt_capture_filter_parse(text, &again);
	for (int i = 0; i < GT_CAPTURE_LISTS_; i++)
		cr_assert_str_eq(again.list[i], list);
}

static void has_base(const char *name, const char *base)
{
	const char *start;
	size_t length = gt_capture_filter_base(name, &start);

	cr_assert_eq(length, strlen(base), "%s", name);
	cr_assert(!memcmp(start, base, length), "%s", name);
}

Test(capture_filter, names_without_types)
{
	has_base("add", "add");
	has_base("void ns::add<float, 4>(float*)", "ns::add");
	has_base("add(float const*, int)", "add");
	has_base("(anonymous namespace)::add(int)", "(anonymous namespace)::add");
	has_base("void at::(anonymous namespace)::add<int>(int)", "at::(anonymous namespace)::add");
	has_base("", "");
}

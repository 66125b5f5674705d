/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "core/window/capture_plan.h"

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
	cr_assert_eq(parse("cudaGraphLaunch", &range), 0);
	cr_assert_eq(range.kind, GT_CAPTURE_GRAPHS);
	cr_assert_eq(range.launches, 1);
	cr_assert_eq(parse("cudaGraphLaunch:1000000", &range), 0);
	cr_assert_eq(range.launches, 1000000);
	cr_assert_eq(parse("cudaGraphLaunch:0", &range), -EINVAL);
	cr_assert_eq(parse("cudaGraphLaunch:1000001", &range), -EINVAL);
	cr_assert_eq(parse("cudaGraphLaunch:99999999999", &range), -EINVAL);
	cr_assert_eq(parse("cudaGraphLaunch:", &range), -EINVAL);
	cr_assert_eq(parse("cudaGraphLaunchX", &range), -EINVAL);
	cr_assert_eq(parse("cudaGraphLaunch:2x", &range), -EINVAL);
}

static bool has(const struct gt_capture_range *range, const char *name, const char *domain)
{
	return gt_capture_range_has(range, name, strlen(name), domain);
}

Test(capture_range, python_functions)
{
	struct gt_capture_range range;

	cr_assert_eq(parse("python:Model.for*", &range), 0);
	cr_assert_eq(range.kind, GT_CAPTURE_NVTX);
	cr_assert(has(&range, "train.Model.forward", "Python"));
	cr_assert(has(&range, "Model.forward", "Python"));
	cr_assert(!has(&range, "MyModel.forward", "Python"), "from a dot on");
	cr_assert(!has(&range, "train.Model.forward", ""));
	cr_assert_eq(parse("python:", &range), -EINVAL);
	cr_assert_eq(range.kind, GT_CAPTURE_ALL);
	cr_assert_eq(parse("nvtx:a", &range), 0);
	cr_assert(!has(&range, "b.a", ""), "only functions");
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

static int end_of(const char *text, uint32_t *ret_windows)
{
	bool ends;
	int rc = gt_capture_end_parse(text, &ends, ret_windows);

	return rc ? rc : ends;
}

Test(capture_range, ends)
{
	static const char *const wrong[] = {"repeat:",   "repeat:0",       "repeat:x",
					    "repeat:2x", "repeat2",        "Stop",
					    "stop ",     "repeat:1000001", "repeat:99999999999"};
	uint32_t windows;

	cr_assert_eq(end_of("stop", &windows), true);
	cr_assert_eq(windows, 1);
	cr_assert_eq(end_of("none", &windows), false);
	cr_assert_eq(end_of("repeat", &windows), true);
	cr_assert_eq(windows, 0);
	cr_assert_eq(end_of("repeat:12", &windows), true);
	cr_assert_eq(windows, 12);
	cr_assert_eq(end_of("stop-shutdown", &windows), true);
	cr_assert_eq(windows, 1);
	cr_assert_eq(end_of("repeat-shutdown:3", &windows), true);
	cr_assert_eq(windows, 3);
	cr_assert_eq(end_of("repeat-shutdown", &windows), -EINVAL);
	cr_assert_eq(end_of("none-shutdown", &windows), -EINVAL);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		cr_assert_eq(end_of(wrong[i], &windows), -EINVAL, "%s", wrong[i]);
		cr_assert_eq(windows, 1, "%s", wrong[i]);
	}
}

Test(capture_range, schedules)
{
	static const char *const wrong[] = {"1",          "1,2,3",    "0,0,0,0",      "1,2,3,4,5,6",
					    "1,2,3,4,5,", "1,2,3,4,", ",1,2,3",       "1,,2,3",
					    "1,2,3,-4",   "1, 2,3,4", "1,2,3,1000001"};
	struct gt_capture_schedule s;

	cr_assert_eq(gt_capture_schedule_parse("0,1,2,3", &s), 0);
	cr_assert(s.skip_first == 0 && s.wait == 1 && s.warmup == 2 && s.active == 3 &&
		  s.repeat == 0);
	cr_assert_eq(gt_capture_schedule_parse("9,0,0,1,4", &s), 0);
	cr_assert(s.skip_first == 9 && s.active == 1 && s.repeat == 4);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		cr_assert_eq(gt_capture_schedule_parse(wrong[i], &s), -EINVAL, "%s", wrong[i]);
		cr_assert_eq(s.active, 0);
	}
}

Test(capture_range, phases)
{
	static const struct gt_capture_schedule s = {
		.skip_first = 2, .wait = 1, .warmup = 1, .active = 2, .repeat = 2};
	static const char phases[] = "00"
				     "0123"
				     "0123"
				     "000000";

	for (size_t i = 0; phases[i]; i++)
		cr_assert_eq(gt_capture_phase_of(&s, i), (unsigned int)(phases[i] - '0'),
			     "step %zu", i);
}

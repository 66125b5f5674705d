/* SPDX-License-Identifier: Apache-2.0 */
#include "collectors/python/layout.h"

#include <criterion/criterion.h>
#include <string.h>

/* The words of a _Py_DebugOffsets of 3.13.0, as far as they are read. */
static const uint64_t words_3_13[GT_PYTHON_DEBUG_WORDS] = {
	[1] = 0x030d00f0, [23] = 72,  [24] = 152, [28] = 80,  [29] = 8,   [30] = 0,   [31] = 56,
	[33] = 70,        [34] = 208, [35] = 112, [36] = 120, [37] = 128, [38] = 136, [39] = 68,
	[43] = 200,       [45] = 8,   [65] = 16,  [66] = 32,  [68] = 32,  [69] = 16,  [70] = 40,
};

static void fill(uint64_t *words)
{
	memcpy(words, words_3_13, sizeof(words_3_13));
	memcpy(words, "xdebugpy", 8);
}

Test(python_layout, known_versions)
{
	struct gt_python_layout layout;

	for (uint32_t minor = 8; minor <= 12; minor++) {
		uint32_t hex = 0x03000000 | minor << 16 | 0x07f0;

		cr_assert_null(gt_python_layout_find(hex, NULL, &layout));
		cr_assert_eq(layout.version, hex >> 16);
		cr_assert_gt(layout.code_size, layout.code_table);
		cr_assert_gt(layout.string_compact, layout.string_ascii);
	}
}

Test(python_layout, versions_that_are_not_known)
{
	static const uint32_t versions[] = {0, 0x02070ff0, 0x03070ff0, 0x030f0000, 0x04000000};
	struct gt_python_layout layout = {.version = 1};
	uint64_t words[GT_PYTHON_DEBUG_WORDS];

	fill(words);
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		words[1] = versions[i];
		cr_assert_not_null(gt_python_layout_find(versions[i], words, &layout));
	}
	cr_assert_not_null(gt_python_layout_find(0x030d00f0, NULL, &layout));
	cr_assert_eq(layout.version, 1, "untouched on failure");
}

Test(python_layout, debug_offsets)
{
	uint64_t words[GT_PYTHON_DEBUG_WORDS];
	struct gt_python_layout layout;

	fill(words);
	cr_assert_null(gt_python_layout_find(0x030d00f0, words, &layout));
	cr_assert_eq(layout.thread_frame, 72);
	cr_assert_eq(layout.frame_owner, 70);
	cr_assert_eq(layout.code_adaptive, 200);
	cr_assert_eq(layout.bytes_data, 32);
	cr_assert_eq(layout.string_compact, 56);
	cr_assert_eq(layout.cframe_frame, GT_PYTHON_NO_FIELD);
}

Test(python_layout, debug_offsets_that_are_refused)
{
	static const struct {
		int word;
		uint64_t value;
	} wrong[] = {
		{0, 0},         {1, 0x030d01f0},
		{2, 1},         {23, 71},
		{23, 1u << 20}, {29, 100},
		{31, 80},       {33, 200},
		{38, 204},      {39, 67},
		{43, 209},      {35, UINT64_MAX - 7},
		{66, 8},        {34, (uint64_t)1 << 40},
	};
	uint64_t words[GT_PYTHON_DEBUG_WORDS];
	struct gt_python_layout layout;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		fill(words);
		words[wrong[i].word] = wrong[i].value;
		cr_expect_not_null(gt_python_layout_find(0x030d00f0, words, &layout), "word %d",
				   wrong[i].word);
	}
}

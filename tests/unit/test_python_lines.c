/* SPDX-License-Identifier: Apache-2.0
 *
 * Line tables of one function compiled by CPython 3.9, 3.10 and 3.12, and malformed tables.
 */
#include "collectors/python/lines.h"

#include <criterion/criterion.h>

#define FIRST 10

struct expected {
	int32_t offset;
	uint32_t line;
};

static const uint8_t lnotab[] = {0x00, 0x01, 0x02, 0x01, 0x02, 0xff, 0x04, 0x02, 0x0c, 0x01, 0x08,
				 0x02, 0x02, 0x01, 0x06, 0x01, 0x06, 0xff, 0x08, 0x03, 0x06, 0x01};

static const uint8_t linetable[] = {0x02, 0x01, 0x02, 0x01, 0x04, 0xff, 0x0c, 0x02,
				    0x08, 0x01, 0x02, 0x02, 0x06, 0x01, 0x06, 0x01,
				    0x08, 0xff, 0x04, 0x03, 0x04, 0x01};

static const uint8_t locations[] = {
	0x80, 0x00, 0xd8, 0x09, 0x0a, 0xd8, 0x09, 0x0a, 0xf1, 0x03, 0x01, 0x0a, 0x0b, 0x80, 0x41,
	0xe4, 0x0d, 0x12, 0x90, 0x31, 0x8b, 0x58, 0xf2, 0x00, 0x07, 0x05, 0x11, 0x88, 0x01, 0xd8,
	0x08, 0x09, 0x88, 0x51, 0x89, 0x06, 0x88, 0x01, 0xf0, 0x04, 0x04, 0x09, 0x11, 0xe4, 0x1a,
	0x1f, 0xa0, 0x01, 0x9b, 0x28, 0xf6, 0x03, 0x01, 0x11, 0x24, 0xd8, 0x15, 0x16, 0xf2, 0x03,
	0x00, 0x12, 0x13, 0xf0, 0x00, 0x01, 0x11, 0x24, 0x88, 0x41, 0xf0, 0x00, 0x01, 0x11, 0x24,
	0xf0, 0x06, 0x00, 0x0d, 0x11, 0xf0, 0x0f, 0x07, 0x05, 0x11, 0xf0, 0x10, 0x00, 0x0c, 0x0d,
	0x80, 0x48, 0xf9, 0xf2, 0x09, 0x01, 0x11, 0x24, 0xf8, 0xf0, 0x06, 0x00, 0x0d, 0x11, 0xfa};

static void expect_lines(enum gt_python_table format, const uint8_t *table, size_t size,
			 const struct expected *expected, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t line = gt_python_line(format, table, size, FIRST, expected[i].offset);

		cr_expect_eq(line, expected[i].line, "offset %d: line %u, not %u",
			     expected[i].offset, line, expected[i].line);
	}
}

#define EXPECT_LINES(format, table, ...)                                                           \
	do {                                                                                       \
		static const struct expected expected[] = {__VA_ARGS__};                           \
		expect_lines(format, table, sizeof(table), expected,                               \
			     sizeof(expected) / sizeof(expected[0]));                              \
	} while (0)

Test(python_lines, to_3_9)
{
	EXPECT_LINES(GT_PYTHON_LNOTAB, lnotab, {-1, 10}, {0, 11}, {2, 12}, {3, 12}, {4, 11},
		     {8, 13}, {18, 13}, {20, 14}, {28, 16}, {30, 17}, {36, 18}, {42, 17}, {50, 20},
		     {56, 21}, {58, 21});
}

Test(python_lines, of_3_10)
{
	EXPECT_LINES(GT_PYTHON_LINETABLE, linetable, {-1, 10}, {0, 11}, {2, 12}, {4, 11}, {6, 11},
		     {8, 13}, {19, 13}, {20, 14}, {28, 16}, {30, 17}, {36, 18}, {42, 17}, {50, 20},
		     {54, 21}, {57, 21}, {58, 0});
}

Test(python_lines, from_3_11_on)
{
	EXPECT_LINES(GT_PYTHON_LOCATIONS, locations, {-1, 10}, {0, 10}, {2, 11}, {4, 12}, {6, 11},
		     {12, 13}, {38, 13}, {40, 14}, {50, 16}, {52, 18}, {72, 17}, {86, 18}, {88, 17},
		     {100, 20}, {102, 13}, {104, 21}, {108, 0}, {112, 17}, {118, 0}, {120, 20},
		     {122, 0}, {128, 0});
}

Test(python_lines, instructions_without_a_line)
{
	static const uint8_t table[] = {4, 1, 4, 0x80, 4, 1};

	EXPECT_LINES(GT_PYTHON_LINETABLE, table, {0, 11}, {4, 0}, {8, 12});
}

Test(python_lines, empty_and_cut_tables)
{
	static const uint8_t one[] = {0xf0};

	for (int format = 0; format < GT_PYTHON_TABLE_COUNT_; format++) {
		gt_python_line((enum gt_python_table)format, NULL, 0, FIRST, 0);
		gt_python_line((enum gt_python_table)format, one, 1, FIRST, 100);
		for (size_t size = 0; size < sizeof(locations); size++)
			gt_python_line((enum gt_python_table)format, locations, size, FIRST,
				       (int32_t)size);
	}
	cr_assert_eq(gt_python_line(GT_PYTHON_LNOTAB, NULL, 0, FIRST, 0), FIRST);
	cr_assert_eq(gt_python_line(GT_PYTHON_LINETABLE, NULL, 0, FIRST, 0), 0);
	cr_assert_eq(gt_python_line(GT_PYTHON_LOCATIONS, NULL, 0, FIRST, 0), 0);
}

Test(python_lines, lines_out_of_range_are_none)
{
	static const uint8_t down[] = {2, 0x81, 2, 0x81};
	/* a delta of -2^30: sign bit, then 0x40000000 in six bits a byte */
	static const uint8_t far[] = {0xe8, 0x41, 0x40, 0x40, 0x40, 0x40, 0x02};

	cr_assert_eq(gt_python_line(GT_PYTHON_LNOTAB, down, sizeof(down), FIRST, 10), 0);
	cr_assert_eq(gt_python_line(GT_PYTHON_LOCATIONS, far, sizeof(far), FIRST, 0), 0);
	cr_assert_eq(gt_python_line(GT_PYTHON_LOCATIONS, far, sizeof(far), INT32_MIN, 0), 0);
	cr_assert_eq(gt_python_line(GT_PYTHON_LNOTAB, down, sizeof(down), -5, -1), 0);
}

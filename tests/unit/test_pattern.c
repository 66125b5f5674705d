/* SPDX-License-Identifier: Apache-2.0
 *
 * Patterns of file names: hostile values stay inside their part of the name.
 */
#include "core/pattern.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

static const char *value;

static const char *lookup(const char *name)
{
	return strcmp(name, "V") == 0 ? value : NULL;
}

static const char *expand(const char *pattern, const char *with)
{
	static char name[512];

	value = with;
	cr_assert_eq(gt_pattern_expand(pattern, lookup, name, sizeof(name)), 0);
	return name;
}

Test(pattern, values)
{
	static const struct {
		const char *pattern, *value, *name;
	} rows[] = {
		{"out", "x", "out"},
		{"%q{V}", "7", "7"},
		{"a/%q{V}/b-%q{V}.c", "7", "a/7/b-7.c"},
		{"%q{V}", "../../etc/cron.d/x", "_.._etc_cron.d_x"},
		{"../%q{V}", "../x", "../_x"},
		{"%q{V}", "/etc/passwd", "_etc_passwd"},
		{"%q{V}", "...", "unset"},
		{".%q{V}", ".", ".unset"},
		{"%q{V}", ".hidden", "hidden"},
		{"%q{V}", "", "unset"},
		{"%q{V}", NULL, "unset"},
		{"%q{OTHER}", "x", "unset"},
		{"%q{}", "x", "unset"},
		{"%q{V}", "a\nb\tc\x1b[31m", "a_b_c__31m"},
		{"%q{V}", "$(rm -rf ~);`id`", "__rm_-rf_____id_"},
		{"%q{V}", "h\xc3\xa9 \xff\xfe\xed\xa0\x80", "h________"},
		{"%q{V}", "%q{V}%h", "_q_V__h"},
		{"100%%", NULL, "100%"},
		{"100%", NULL, "100%"},
		{"%q{V", "x", "%q{V"},
		{"%p%z", "x", "%p%z"},
		{"%%q{V}", "x", "%q{V}"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_assert_str_eq(expand(rows[i].pattern, rows[i].value), rows[i].name);
}

Test(pattern, long_value_is_cut)
{
	char large[4097];

	memset(large, 'x', sizeof(large) - 1);
	large[sizeof(large) - 1] = 0;
	cr_assert_eq(strlen(expand("%q{V}", large)), GT_PATTERN_VALUE);
}

Test(pattern, host_is_one_part)
{
	const char *name = expand("%h", NULL);

	cr_assert_gt(strlen(name), 0);
	cr_assert_null(strpbrk(name, "/."));
}

Test(pattern, too_long_a_name_is_refused)
{
	char name[8];

	value = "12345";
	cr_assert_eq(gt_pattern_expand("ab%q{V}", lookup, name, sizeof(name)), 0);
	cr_assert_eq(gt_pattern_expand("abc%q{V}", lookup, name, sizeof(name)), -ENAMETOOLONG);
	cr_assert_eq(strlen(name), 7);
}

Test(pattern, escaped)
{
	static const char *const names[] = {"", "out", "50%", "%%h", "a%q{V}/%", "new\nline"};
	char pattern[64], name[64];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		cr_assert_eq(gt_pattern_escape(names[i], pattern, sizeof(pattern)), 0);
		cr_assert_eq(gt_pattern_expand(pattern, lookup, name, sizeof(name)), 0);
		cr_assert_str_eq(name, names[i]);
	}
	cr_assert_eq(gt_pattern_escape("abc%", pattern, 5), -ENAMETOOLONG);
}

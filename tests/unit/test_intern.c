/* SPDX-License-Identifier: Apache-2.0
 *
 * Interning: one copy of each content, dense ids, any bytes, a hard memory limit.
 */
#include "core/intern.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

Test(intern, equal_content_is_one_string)
{
	struct gt_intern *pool = gt_intern_new(1 << 20);
	char copy[] = "kernel";
	const struct gt_string *a = gt_intern_cstr(pool, "kernel");

	cr_assert_eq(a, gt_intern_get(pool, copy, 6));
	cr_assert_neq(a, gt_intern_get(pool, copy, 5));
	cr_assert_str_eq(a->text, "kernel");
	cr_assert_eq(a->length, 6);
	gt_intern_free(pool);
}

Test(intern, keeps_zero_bytes_and_the_empty_string)
{
	struct gt_intern *pool = gt_intern_new(1 << 20);
	const struct gt_string *s = gt_intern_get(pool, "a\0b", 3);

	cr_assert_eq(s->length, 3);
	cr_assert_eq(memcmp(s->text, "a\0b", 4), 0);
	cr_assert_neq(s, gt_intern_get(pool, "a\0c", 3));
	cr_assert_eq(gt_intern_get(pool, "", 0)->length, 0);
	gt_intern_free(pool);
}

Test(intern, many_strings_keep_address_and_dense_ids)
{
	enum { COUNT = 20000 };
	static const struct gt_string *seen[COUNT];
	struct gt_intern *pool = gt_intern_new(16 << 20);
	uint32_t first = gt_intern_cstr(pool, "first")->id;
	char text[32];

	for (int i = 0; i < COUNT; i++) {
		snprintf(text, sizeof(text), "name %d", i);
		seen[i] = gt_intern_cstr(pool, text);
		cr_assert_eq(seen[i]->id, first + 1 + (uint32_t)i);
	}
	for (int i = 0; i < COUNT; i++) {
		snprintf(text, sizeof(text), "name %d", i);
		cr_assert_eq(seen[i], gt_intern_cstr(pool, text));
	}
	cr_assert_eq(gt_intern_refused(pool), 0);
	gt_intern_free(pool);
}

Test(intern, over_the_limit_strings_are_counted_not_lost_silently)
{
	struct gt_intern *pool = gt_intern_new(512 << 10);
	char text[4096];
	const struct gt_string *last = NULL;

	memset(text, 'x', sizeof(text));
	for (int i = 0; i < 400; i++) {
		memcpy(text, &i, sizeof(i));
		last = gt_intern_get(pool, text, sizeof(text));
	}
	cr_assert_gt(gt_intern_refused(pool), 0);
	cr_assert_str_eq(last->text, "(strings over the limit)");
	gt_intern_free(pool);
}

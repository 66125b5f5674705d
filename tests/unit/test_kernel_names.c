/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/call/kernel_names.h"

#define MANY 20000u

static uint64_t address(const char *text)
{
	return (uint64_t)(uintptr_t)text;
}

Test(kernel_names, are_found_by_address_and_bounded)
{
	struct gt_kernel_names *names = calloc(1, sizeof(*names));
	char(*text)[64] = calloc(MANY, sizeof(*text));
	uint32_t found = 0;

	cr_assert(names && text);
	gt_kernel_names_note(address("before")); /* there is no table */
	gt_kernel_names_start(names);
	gt_kernel_names_note(0);
	for (uint32_t i = 0; i < MANY; i++) {
		snprintf(text[i], sizeof(text[i]), "_Z%ukernel", i);
		gt_kernel_names_note(address(text[i]));
		gt_kernel_names_note(address(text[i]));
	}
	for (uint32_t i = 0; i < MANY; i++) {
		const char *name = gt_kernel_names_find(names, address(text[i]));

		found += name != NULL;
		cr_assert(!name || !strcmp(name, text[i]), "%s is not %s", name, text[i]);
		cr_assert(i > 1000 || name, "%s: the table was nearly empty", text[i]);
	}
	cr_assert(found > GT_KERNEL_NAMES / 2 && found <= GT_KERNEL_NAMES, "%u", found);
	cr_assert_null(gt_kernel_names_find(names, 0));
	cr_assert_null(gt_kernel_names_find(names, 12345));
	gt_kernel_names_start(NULL);
	free(text);
	free(names);
}

Test(kernel_names, are_found_by_reference)
{
	struct gt_kernel_names *names = calloc(1, sizeof(*names));
	char text[] = "load";

	cr_assert(names);
	gt_kernel_names_start(names);
	gt_kernel_names_note_as(GT_KERNEL_NAMES_NVTX | 1, text);
	text[0] = 'r'; /* the first one counts */
	gt_kernel_names_note_as(GT_KERNEL_NAMES_NVTX | 1, text);
	cr_assert_str_eq(gt_kernel_names_find(names, GT_KERNEL_NAMES_NVTX | 1), "load");
	cr_assert_null(gt_kernel_names_find(names, 1));
	gt_kernel_names_start(NULL);
	free(names);
}

/* Whatever a spool says. */
Test(kernel_names, believes_no_offset)
{
	static const char symbol[] = "_Z5scalev";
	static const uint32_t offsets[] = {0, 2000, GT_KERNEL_NAME_BYTES, GT_KERNEL_NAME_BYTES + 1,
					   UINT32_MAX};
	struct gt_kernel_names *names = calloc(1, sizeof(*names));

	cr_assert(names);
	gt_kernel_names_start(names);
	gt_kernel_names_note(address(symbol));
	memset(names->bytes + GT_KERNEL_NAME_BYTES - 16, 'x', 16);
	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		for (uint32_t slot = 0; slot < GT_KERNEL_NAMES; slot++)
			names->text[slot] = offsets[i];
		cr_assert_null(gt_kernel_names_find(names, address(symbol)), "%u", offsets[i]);
	}
	gt_kernel_names_start(NULL);
	free(names);
}

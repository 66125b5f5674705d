/* SPDX-License-Identifier: Apache-2.0
 *
 * What a zip without zip64 cannot hold; what it can is tests/numbers/test_merge_zip.py.
 */
#include "transform/job/zip.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static int zip_members(size_t count)
{
	FILE *out = fopen("/dev/null", "w");
	struct gt_zip zip;
	char name[32];
	int rc;

	gt_zip_begin(&zip, out);
	for (size_t i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "%zu", i);
		gt_zip_open(&zip, name);
		gt_zip_close(&zip);
	}
	rc = gt_zip_end(&zip);
	fclose(out);
	return rc;
}

Test(zip, as_many_members_as_are_counted)
{
	cr_assert_eq(zip_members(65534), 0);
	cr_assert_eq(zip_members(65535), -EOVERFLOW);
}

/* Near the end, by what stands in the struct: nobody writes 4 GiB for it. */
static int zip_behind(uint64_t at, uint32_t plain)
{
	FILE *out = fopen("/dev/null", "w");
	struct gt_zip zip;
	char data[4096];
	int rc;

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (char)rand();
	gt_zip_begin(&zip, out);
	zip.at = at;
	gt_zip_open(&zip, "a");
	if (!zip.error)
		zip.members.at[0].plain = plain;
	gt_zip_put(&zip, data, sizeof(data));
	gt_zip_close(&zip);
	rc = gt_zip_end(&zip);
	fclose(out);
	return rc;
}

Test(zip, four_gigabytes)
{
	cr_assert_eq(zip_behind(UINT32_MAX - 8192, 0), 0);
	cr_assert_eq(zip_behind(UINT32_MAX - 4096, 0), -EFBIG);
	cr_assert_eq(zip_behind(UINT32_MAX, 0), -EFBIG);
	cr_assert_eq(zip_behind((uint64_t)1 << 40, 0), -EFBIG);
	cr_assert_eq(zip_behind(0, UINT32_MAX - 4096), 0);
	cr_assert_eq(zip_behind(0, UINT32_MAX - 4095), -EFBIG);
}

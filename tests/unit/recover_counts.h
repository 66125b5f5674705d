/* SPDX-License-Identifier: Apache-2.0
 *
 * Looking at the ledger of a recovered trace. Included by one file of a test.
 */
#ifndef GT_TESTS_UNIT_RECOVER_COUNTS_H
#define GT_TESTS_UNIT_RECOVER_COUNTS_H

#include <stdio.h>

#include "tests/unit/recover_fixture.h"

static inline uint64_t count_in(const char *text, enum gt_ledger_key key)
{
	char name[64];
	const char *at;

	snprintf(name, sizeof(name), "\"%s\": ", gt_ledger_rows[key].json);
	at = strstr(text, name);
	cr_assert_not_null(at, "%s", name);
	return strtoull(at + strlen(name), NULL, 10);
}

/* While it is not where it was made, no more of it can be had: as of one that is full. */
static inline void hide_spool(bool hidden)
{
	char other[4096];

	snprintf(other, sizeof(other), "%s.hidden", gt_spool_path());
	cr_assert_eq(rename(hidden ? gt_spool_path() : other, hidden ? other : gt_spool_path()), 0);
}

#endif

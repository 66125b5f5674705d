/* SPDX-License-Identifier: Apache-2.0
 *
 * Spans and moments as users write them.
 */
#include "core/window/when.h"

#include <criterion/criterion.h>
#include <errno.h>

#define NOW UINT64_C(1763892000000000000) /* 2025-11-23T10:00:00Z */

static void expect_span(const char *text, int error, uint64_t ns)
{
	const char *end;
	uint64_t found = 0;

	cr_assert_eq(gt_when_span(text, &end, &found), error, "%s", text);
	cr_assert_eq(found, ns, "%s: %lu", text, (unsigned long)found);
	cr_assert(error || !*end, "%s", text);
}

static void expect_moment(const char *text, int error, uint64_t ns)
{
	uint64_t found = 0;

	cr_assert_eq(gt_when_moment(text, NOW, &found), error, "%s", text);
	cr_assert_eq(found, ns, "%s: %lu", text, (unsigned long)found);
}

Test(when, spans)
{
	expect_span("10", 0, 10000000000);
	expect_span("1.5", 0, 1500000000);
	expect_span("0.000000001s", 0, 1);
	expect_span("500ms", 0, 500000000);
	expect_span("10us", 0, 10000);
	expect_span("250ns", 0, 250);
	expect_span("2.5m", 0, 150000000000);
	expect_span("1h", 0, 3600000000000);
	expect_span("2d", 0, 172800000000000);
	expect_span("", -EINVAL, 0);
	expect_span("s", -EINVAL, 0);
	expect_span("-1", -EINVAL, 0);
}

Test(when, wrong_spans)
{
	const char *end;
	uint64_t ns;

	cr_assert_eq(gt_when_span("1y", &end, &ns), -EINVAL);
	cr_assert_eq(gt_when_span("10sec", &end, &ns), -EINVAL);
	cr_assert_eq(gt_when_span("106752d", &end, &ns), -ERANGE);
	cr_assert_eq(gt_when_span("99999999999999999999", &end, &ns), -ERANGE);
}

Test(when, moments)
{
	expect_moment("@+30s", 0, NOW + 30000000000);
	expect_moment("@1763892000", 0, NOW);
	expect_moment("@1763892000.25", 0, NOW + 250000000);
	expect_moment("@2025-11-23T10:00:00Z", 0, NOW);
	expect_moment("@2025-11-23 11:00+01:00", 0, NOW);
	expect_moment("@2025-11-23T04:30:00.5-0530", 0, NOW + 500000000);
	expect_moment("@2024-02-29T00:00Z", 0, UINT64_C(1709164800000000000));
	expect_moment("@1970-01-01T00:00Z", 0, 0);
	expect_moment("@2100-03-01T00:00Z", 0, UINT64_C(4107542400000000000));
}

Test(when, wrong_moments)
{
	static const char *const texts[] = {
		"",
		"@",
		"10:00",
		"@10:00",
		"@+",
		"@+1y",
		"@+1s ",
		"@2025-11-23T10:00:00",
		"@1.5.5",
		"@noon",
		"@-5",
		"@2025-11-23",
		"@ 5",
		"@2025-11-23T10:00Zx",
		"@2025-11-23T1:00Z",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		expect_moment(texts[i], -EINVAL, 0);
	expect_moment("@2025-02-29T00:00Z", -ERANGE, 0);
	expect_moment("@2025-13-01T00:00Z", -ERANGE, 0);
	expect_moment("@2025-11-23T24:00Z", -ERANGE, 0);
	expect_moment("@1969-12-31T23:59Z", -ERANGE, 0);
	expect_moment("@1970-01-01T00:00+01:00", -ERANGE, 0);
	expect_moment("@9999999999999", -ERANGE, 0);
}

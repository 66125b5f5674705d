/* SPDX-License-Identifier: Apache-2.0
 *
 * What the tracer takes of a memory limit: all parts together are a fraction of it.
 */
#include "core/budget.h"

#include <criterion/criterion.h>
#include <string.h>

#define MIB ((uint64_t)1 << 20)

static struct gt_config config;
static struct gt_budget budget;

static bool fit(uint64_t limit, const char *max_rss)
{
	struct gt_cgroup_limit cgroup = {.bytes = limit, .file = "/f"};

	gt_config_init(&config);
	cr_assert_eq(gt_config_set(&config, GT_CONFIG_MAX_RSS, max_rss), 0);
	return gt_budget_fit(&config, &cgroup, &budget);
}

static uint64_t number(enum gt_option_id id)
{
	return (uint64_t)gt_config_number(&config, id);
}

Test(budget, without_a_limit_the_options_count)
{
	char text[64] = "x";

	cr_assert(fit(0, "1G"));
	cr_assert_eq(number(GT_CONFIG_MAX_RSS), 1024 * MIB);
	cr_assert_eq(number(GT_CONFIG_MAX_MEMORY), 512 * MIB);
	cr_assert_eq(number(GT_CONFIG_RING_SIZE), 2 * MIB);
	cr_assert_eq(budget.unsaved, 0);
	cr_assert_eq(budget.in_memory, 0);
	gt_budget_describe(&budget, &config, text, sizeof(text));
	cr_assert_str_eq(text, "");
	cr_assert(fit(0, "64M"));
	cr_assert_eq(number(GT_CONFIG_MAX_MEMORY), 32 * MIB);
	cr_assert_eq(number(GT_CONFIG_RING_SIZE), 2 * MIB);
}

Test(budget, of_any_limit_a_quarter_is_left)
{
	for (uint64_t limit = 48 * MIB; limit < 1024 * 1024 * MIB; limit += limit / 7) {
		cr_assert(fit(limit, "1G"));
		cr_assert_leq(number(GT_CONFIG_MAX_RSS) + budget.unsaved + budget.in_memory,
			      limit * 3 / 4);
		cr_assert_leq(number(GT_CONFIG_MAX_MEMORY), number(GT_CONFIG_MAX_RSS) / 2);
		cr_assert_leq(number(GT_CONFIG_RING_SIZE), number(GT_CONFIG_MAX_MEMORY) / 8);
		cr_assert_geq(number(GT_CONFIG_RING_SIZE), 512 << 10);
		cr_assert_leq(number(GT_CONFIG_BUFFER_SIZE), number(GT_CONFIG_MAX_MEMORY) / 8);
		cr_assert_geq(budget.unsaved, MIB);
		cr_assert_eq(budget.limits_memory, limit < 8 * 1024 * MIB);
	}
}

Test(budget, too_little)
{
	cr_assert(!fit(1, "1G"));
	cr_assert(!fit(48 * MIB - 1, "1G"));
	cr_assert(fit(48 * MIB, "1G"));
}

/* The option is the smaller one: it is what limits. */
Test(budget, a_large_limit)
{
	cr_assert(fit(1024 * MIB, "64M"));
	cr_assert(!budget.limits_memory);
	cr_assert_eq(number(GT_CONFIG_MAX_RSS), 64 * MIB);
	cr_assert_eq(number(GT_CONFIG_MAX_MEMORY), 32 * MIB);
	cr_assert_eq(budget.unsaved, 64 * MIB);
}

Test(budget, in_words)
{
	char text[256];

	fit(64 * MIB, "1G");
	gt_budget_describe(&budget, &config, text, sizeof(text));
	cr_assert_str_eq(text,
			 "64 MiB in /f: memory 24 MiB, each ring 512 KiB, each activity buffer "
			 "768 KiB, unsaved output 4 MiB");
	for (size_t size = 1; size < strlen(text); size++) {
		char cut[256];

		memset(cut, 'x', sizeof(cut));
		gt_budget_describe(&budget, &config, cut, size);
		cr_assert_lt(strlen(cut), size);
		cr_assert_eq(cut[size], 'x');
	}
}

static bool fit_files(uint64_t limit, uint64_t size, uint32_t keep, uint64_t want_size,
		      uint32_t want_keep)
{
	bool lowered;

	fit(limit, "1G");
	lowered = gt_budget_fit_files(&budget, &size, &keep);
	cr_assert_eq(size, want_size, "%lu", (unsigned long)size);
	cr_assert_eq(keep, want_keep, "%u", keep);
	return lowered;
}

Test(budget, a_trace_in_memory)
{
	cr_assert(!fit_files(0, 1024 * MIB, 4, 1024 * MIB, 4));
	cr_assert(fit_files(64 * MIB, 1024 * MIB, 4, 2 * MIB, 4));
	cr_assert(fit_files(64 * MIB, 1024 * MIB, 1, 8 * MIB, 1));
	cr_assert(fit_files(64 * MIB, MIB, 1000, MIB, 8));
	cr_assert(!fit_files(64 * MIB, MIB, 8, MIB, 8));
	cr_assert(!fit_files(64 * MIB, 1024 * MIB, 0, 1024 * MIB, 0)); /* the user keeps all */
	cr_assert(!fit_files(64 * 1024 * MIB, 1024 * MIB, 4, 1024 * MIB, 4));
}

Test(budget, address_space)
{
	cr_assert(fit(0, "1G"));
	cr_assert_not(gt_budget_fit_space(&config, GT_BUDGET_SPACE - 1, &budget));
	cr_assert(gt_budget_fit_space(&config, GT_BUDGET_SPACE, &budget));
	cr_assert(budget.limits_space && !budget.limits_memory);
	cr_assert_eq(number(GT_CONFIG_MAX_RSS), 64 * MIB);
	cr_assert_eq(number(GT_CONFIG_MAX_MEMORY), 16 * MIB);
}

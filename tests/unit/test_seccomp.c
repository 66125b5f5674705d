/* SPDX-License-Identifier: Apache-2.0
 *
 * Filters in the text of /proc/PID/status, what they leave, and memory that may not be mapped, read
 * in each of the ways.
 */
#include "core/guest/seccomp.h"

#include <criterion/criterion.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/mman.h>

#include "core/guest/peek.h"
#include "tests/reliability/sandbox.h"

#define PAGE GT_PEEK_PAGE

Test(seccomp, filters_are_counted)
{
	static const struct {
		const char *status;
		int filters;
	} cases[] = {
		{"Name:\tx\nSeccomp:\t0\nSeccomp_filters:\t0\nCpus_allowed:\tf\n", 0},
		{"Name:\tx\nSeccomp:\t2\nSeccomp_filters:\t3\nCpus_allowed:\tf\n", 3},
		{"Name:\tx\nSeccomp:\t2\nCpus_allowed:\tf\n", 1},
		{"Name:\tx\nSeccomp:\t1\nSeccomp_filters:\t0\nCpus_allowed:\tf\n", 1},
		{"Name:\tx\nCpus_allowed:\tf\n", 0}, /* a kernel without it */
		{"Name:\tx\nGroups:\t1 2 3", -1},    /* cut */
		{"", -1},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		cr_assert_eq(gt_seccomp_parse(cases[i].status), cases[i].filters, "%zu", i);
}

Test(seccomp, without_a_filter_all_is_permitted)
{
	gt_seccomp_note_start("\nSeccomp:\t0\nCpus_allowed:\tf\n", false);
	cr_assert(gt_seccomp_permits(GT_SYS_process_vm_readv));
	cr_assert(gt_seccomp_permits(GT_SYS_unlink));
}

Test(seccomp, an_inherited_filter)
{
	gt_seccomp_note_start("\nSeccomp:\t2\nSeccomp_filters:\t100\nCpus_allowed:\tf\n", false);
	cr_assert_eq(gt_seccomp_check(), GT_SECCOMP_INHERITED);
	cr_assert_not(gt_seccomp_permits(GT_SYS_process_vm_readv));
	cr_assert(gt_seccomp_permits(GT_SYS_unlink));
	cr_assert(gt_seccomp_permits(GT_SYS_openat));
}

Test(seccomp, what_is_not_known_counts_as_that_of_a_container)
{
	gt_seccomp_note_start("", false);
	cr_assert_not(gt_seccomp_shows_own(""));
	cr_assert_eq(gt_seccomp_check(), GT_SECCOMP_INHERITED);
	cr_assert(gt_seccomp_permits(GT_SYS_unlink));
	cr_assert(gt_seccomp_permits(GT_SYS_openat));
}

/* A filter that comes later is seen by a thread that watches, and by one that asks. */
static void install_later(bool watches)
{
	if (watches)
		gt_seccomp_watch();
	if (sandbox_refuse(SECCOMP_RET_ERRNO | EPERM, RARE, NULL, 0, 0))
		cr_skip("no seccomp");
	cr_assert_eq(gt_seccomp_is_watching(), watches);
	if (!watches)
		cr_assert(gt_seccomp_permits(GT_SYS_unlink));
	cr_assert_not(gt_seccomp_permits_now(GT_SYS_unlink));
	cr_assert(gt_seccomp_permits(GT_SYS_openat));
}

Test(seccomp, a_later_filter_of_a_thread_that_watches)
{
	install_later(true);
}

Test(seccomp, a_later_filter_of_a_thread_that_asks)
{
	install_later(false);
}

/* Two pages and a hole. */
static void check_copies(void)
{
	char *pages =
		mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static char copy[3 * PAGE];
	uint64_t start = (uint64_t)(uintptr_t)pages;

	munmap(pages + 2 * PAGE, PAGE);
	for (size_t i = 0; i < 2 * PAGE; i++)
		pages[i] = (char)(i * 7);
	cr_assert_eq(gt_peek_copy(copy, start + 100, 50), 50);
	cr_assert_arr_eq(copy, pages + 100, 50);
	cr_assert_eq(gt_peek_copy(copy, start + 100, sizeof(copy)), 2 * PAGE - 100);
	cr_assert_arr_eq(copy, pages + 100, 2 * PAGE - 100);
	cr_assert_eq(gt_peek_copy(copy, start + 2 * PAGE, 1), 0);
	cr_assert_eq(gt_peek_copy(copy, 0, 1), 0);
	cr_assert_eq(gt_peek_copy(copy, UINT64_MAX - 3, 16), 0);
	cr_assert(gt_peek_is_readable(pages + 2 * PAGE - 1));
	cr_assert_not(gt_peek_is_readable(pages + 2 * PAGE));
	cr_assert_not(gt_peek_is_readable(NULL));
	munmap(pages, 2 * PAGE);
}

Test(seccomp, memory_is_read_by_a_thread_of_the_program)
{
	check_copies();
}

Test(seccomp, memory_is_read_by_a_thread_that_watches)
{
	gt_seccomp_watch();
	check_copies();
}

Test(seccomp, memory_is_read_under_a_filter)
{
	gt_seccomp_watch();
	if (sandbox_refuse(SECCOMP_RET_KILL_PROCESS, RARE, NULL, 0, 0))
		cr_skip("no seccomp");
	check_copies();
}

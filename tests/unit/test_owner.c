/* SPDX-License-Identifier: Apache-2.0
 *
 * Claims on an output folder: one wins, a claim holds while its trace exists in either form, and is
 * taken over when the trace is gone; planted links are not followed.
 */
#include "writers/owner.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char path[64];
static int folder;

static void make_folder(void)
{
	snprintf(path, sizeof(path), "/tmp/gt-owner-XXXXXX");
	cr_assert_not_null(mkdtemp(path));
	folder = open(path, O_RDONLY | O_DIRECTORY);
	cr_assert_geq(folder, 0);
}

static void remove_folder(void)
{
	char command[128];

	close(folder);
	snprintf(command, sizeof(command), "rm -rf %s", path);
	cr_assert_eq(system(command), 0);
}

static void touch(const char *name)
{
	int fd = openat(folder, name, O_WRONLY | O_CREAT, 0600);

	cr_assert_geq(fd, 0);
	close(fd);
}

TestSuite(owner, .init = make_folder, .fini = remove_folder);

Test(owner, the_first_of_a_rank_wins_and_other_ranks_do_not_care)
{
	cr_assert(gt_owner_claim(folder, "rank0"));
	cr_assert_not(gt_owner_claim(folder, "rank0"), "about to create its trace");
	cr_assert(gt_owner_claim(folder, "rank1"));
	touch("a.json");
	gt_owner_set_trace(folder, "rank0", "a.json");
	cr_assert_not(gt_owner_claim(folder, "rank0"));
}

Test(owner, a_claim_holds_for_the_compressed_trace_and_ends_with_it)
{
	cr_assert(gt_owner_claim(folder, "rank0"));
	touch("a.json");
	gt_owner_set_trace(folder, "rank0", "a.json");
	cr_assert_eq(renameat(folder, "a.json", folder, "a.json.gz"), 0);
	cr_assert_not(gt_owner_claim(folder, "rank0"));
	cr_assert_eq(unlinkat(folder, "a.json.gz", 0), 0);
	cr_assert(gt_owner_claim(folder, "rank0"), "its trace is gone");
	cr_assert_not(gt_owner_claim(folder, "rank0"), "and replaced by one only");
}

/* Its process was killed before it had a trace. */
Test(owner, an_empty_claim_ends_after_a_minute)
{
	struct timespec times[2] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_NOW}};

	cr_assert(gt_owner_claim(folder, "rank0"));
	clock_gettime(CLOCK_REALTIME, &times[1]);
	times[1].tv_sec -= 50;
	cr_assert_eq(utimensat(folder, ".rank0.owner", times, 0), 0);
	cr_assert_not(gt_owner_claim(folder, "rank0"));
	times[1].tv_sec -= 20;
	cr_assert_eq(utimensat(folder, ".rank0.owner", times, 0), 0);
	cr_assert(gt_owner_claim(folder, "rank0"));
}

Test(owner, of_many_at_once_exactly_one_wins)
{
	int won = 0;

	for (int i = 0; i < 16; i++)
		if (fork() == 0)
			_exit(gt_owner_claim(folder, "rank0"));
	for (int i = 0; i < 16; i++) {
		int status;

		wait(&status);
		won += WEXITSTATUS(status);
	}
	cr_assert_eq(won, 1);
}

Test(owner, a_planted_link_is_not_followed)
{
	touch("victim");
	cr_assert_eq(symlinkat("victim", folder, ".rank0.owner"), 0);
	cr_assert_not(gt_owner_claim(folder, "rank0"));
	gt_owner_set_trace(folder, "rank0", "a.json");
	cr_assert_eq(lseek(openat(folder, "victim", O_RDONLY), 0, SEEK_END), 0);
}

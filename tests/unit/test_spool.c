/* SPDX-License-Identifier: Apache-2.0
 *
 * The spool in use: where it may be, its limit, interrupted reservations, repeated mappings, fork.
 */
#include "core/spool.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/intern.h"
#include "core/stack.h"

static int reservations, interruptible;

/* In place of libc's: a signal that can come ends the real one with EINTR. */
int fallocate(int fd, int mode, off_t offset, off_t length)
{
	sigset_t mask;

	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	reservations++;
	interruptible += !sigismember(&mask, SIGALRM) || !sigismember(&mask, SIGPROF);
	return (int)syscall(SYS_fallocate, fd, mode, offset, length);
}

static int start_spool(const char *where, size_t max_bytes, char *why, size_t size)
{
	struct gt_spool_options options = {.where = where,
					   .build_id = "00",
					   .folder = "",
					   .max_bytes = max_bytes,
					   .started = 1};

	return gt_spool_start(&options, why, size);
}

static void start(size_t max_bytes)
{
	char why[256];

	if (start_spool("on", max_bytes, why, sizeof(why)))
		cr_skip("no tmpfs with enough room");
}

Test(spool, no_signal_interrupts_a_reservation, .fini = gt_spool_remove)
{
	sigset_t mask;

	start(1 << 20);
	cr_assert(gt_spool_holds(gt_spool_map(100)));
	cr_assert_eq(reservations, 2);
	cr_assert_eq(interruptible, 0);
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	cr_assert_not(sigismember(&mask, SIGALRM));
}

static struct gt_stack_frame frames[2]; /* of the module that stays, and the one that goes */

static const struct gt_stack_frame *find(void *context, uint64_t pc)
{
	(void)context;
	return &frames[pc < 0x20000];
}

Test(spool, forgetting_modules_takes_no_more_and_more_of_it, .fini = gt_spool_remove)
{
	const uint64_t stays = 0x20001, goes = 0x10001;
	const struct gt_stack *kept;
	struct gt_intern *strings;
	struct gt_stacks *stacks;
	int before = 0;

	start(4 << 20);
	strings = gt_intern_new(0);
	frames[0].module = gt_intern_cstr(strings, "stays");
	frames[1].module = gt_intern_cstr(strings, "goes");
	stacks = gt_stacks_new(find, NULL, 1 << 20);
	kept = gt_stacks_get(stacks, 1, &stays, 1);
	for (int i = 0; i < 1000; i++) {
		cr_assert_not_null(gt_stacks_get(stacks, 2, &goes, 1));
		gt_stacks_forget(stacks, 0x10000, 0x20000);
		cr_assert_null(gt_stacks_find(stacks, 2));
		cr_assert_eq(gt_stacks_find(stacks, 1), kept);
		before = i < 3 ? reservations : before;
	}
	cr_assert_eq(gt_spool_refused(), 0);
	cr_assert_leq(reservations - before, 1, "a block for the stacks themselves");
	gt_stacks_free(stacks);
	gt_intern_free(strings);
}

Test(spool, takes_no_disk)
{
	char why[256];

	cr_assert_lt(start_spool("/proc", 64 << 20, why, sizeof(why)), 0);
	cr_assert(strstr(why, "is no tmpfs"), "%s", why);
	cr_assert_lt(start_spool("/nowhere", 64 << 20, why, sizeof(why)), 0);
	cr_assert(strstr(why, "is not there"), "%s", why);
	cr_assert_not(gt_spool_holds(gt_spool_map(100)));
}

Test(spool, gives_anonymous_memory_when_it_is_full, .fini = gt_spool_remove)
{
	void *first;

	start(1 << 20);
	first = gt_spool_map(600000);
	cr_assert(gt_spool_holds(first));
	memset(first, 1, 600000);
	cr_assert_not(gt_spool_holds(gt_spool_map(600000)));
	cr_assert_eq(gt_spool_refused(), 602112);
	cr_assert(gt_spool_holds(gt_spool_map(100000)), "there is room for less");
}

Test(spool, is_the_parents_alone_after_fork, .fini = gt_spool_remove)
{
	uint32_t *word;
	int status;

	start(1 << 20);
	word = gt_spool_map(4096);
	*word = 1;
	if (fork() == 0) {
		*word = 2;
		gt_spool_remove();
		_exit(gt_spool_is_open() || *gt_spool_path());
	}
	wait(&status);
	cr_assert_eq(status, 0);
	cr_assert_eq(*word, 1);
	cr_assert_eq(access(gt_spool_path(), F_OK), 0);
	gt_spool_remove();
	cr_assert_neq(access(gt_spool_path(), F_OK), 0);
	*word = 3; /* the memory stays */
}

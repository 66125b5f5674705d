/* SPDX-License-Identifier: Apache-2.0
 *
 * Work in a child that crashes, hangs, ends early or says all.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "transform/confined.h"

enum end {
	END_WELL,
	END_CRASH,
	END_EARLY,
	END_NEVER,
};

static void work(int to, void *data)
{
	const enum end *end = data;

	if (write(to, "abcd", *end == END_EARLY ? 2 : 4) < 0)
		_exit(2);
	if (*end == END_CRASH)
		raise(SIGKILL);
	if (*end == END_EARLY)
		_exit(1);
	while (*end == END_NEVER)
		pause();
}

static void check(enum end end, unsigned int seconds, bool reads, bool ends_well, bool is_late)
{
	struct gt_confined child;
	char text[5] = "", more;

	cr_assert_eq(gt_confined_start(&child, seconds, work, &end), 0);
	cr_expect_eq(gt_confined_read(&child, text, 4), reads);
	if (reads)
		cr_expect_str_eq(text, "abcd");
	if (end == END_NEVER)
		cr_expect(!gt_confined_read(&child, &more, 1));
	cr_expect_eq(child.is_late, is_late);
	cr_expect_eq(gt_confined_end(&child), ends_well);
}

Test(confined, ends)
{
	check(END_WELL, 600, true, true, false);
	check(END_CRASH, 600, true, false, false);
	check(END_EARLY, 600, false, false, false);
}

Test(confined, never_ends)
{
	check(END_NEVER, 1, true, false, true);
	check(END_WELL, 0, false, false, true);
}

/* A parent that catches signals and blocks them, as the command line does for its output. */
static void look_at_signals(int to, void *data)
{
	sigset_t blocked;
	struct sigaction action;
	char answer;

	(void)data;
	sigprocmask(SIG_SETMASK, NULL, &blocked);
	sigaction(SIGTERM, NULL, &action);
	answer = sigismember(&blocked, SIGINT) || action.sa_handler != SIG_DFL ? 'n' : 'y';
	if (write(to, &answer, 1) != 1)
		_exit(1);
}

static void nothing(int number)
{
	(void)number;
}

Test(confined, signals_are_not_the_parents)
{
	struct gt_confined child;
	sigset_t set;
	char answer = 0;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGTERM, nothing);
	cr_assert_eq(gt_confined_start(&child, 600, look_at_signals, NULL), 0);
	cr_expect(gt_confined_read(&child, &answer, 1));
	cr_expect_eq(answer, 'y');
	cr_expect(gt_confined_end(&child));
}

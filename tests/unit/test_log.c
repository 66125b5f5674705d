/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages to a stderr that cannot be written raise no signal in the program.
 */
#include "core/guest/log.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static volatile sig_atomic_t caught;

static void on_signal(int number)
{
	caught = number;
}

/* Says a line with @fd as stderr; the program has no handler then. */
static void say_to(int fd)
{
	int old = dup(STDERR_FILENO);

	dup2(fd, STDERR_FILENO);
	gt_log_say("nobody reads %d", 1);
	dup2(old, STDERR_FILENO);
	close(old);
}

static int pipe_without_reader(void)
{
	int ends[2];

	cr_assert_eq(pipe(ends), 0);
	close(ends[0]);
	return ends[1];
}

Test(log, a_pipe_without_a_reader_does_not_end_the_program)
{
	sigset_t pending;

	signal(SIGPIPE, SIG_DFL);
	say_to(pipe_without_reader());
	sigpending(&pending);
	cr_assert_not(sigismember(&pending, SIGPIPE));
}

Test(log, a_full_file_does_not_end_the_program)
{
	struct rlimit before, none;
	char path[] = "/tmp/gputrace-test-log-XXXXXX";
	int fd = mkstemp(path);

	cr_assert_geq(fd, 0);
	unlink(path);
	signal(SIGXFSZ, SIG_DFL);
	getrlimit(RLIMIT_FSIZE, &before);
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = before.rlim_max};
	setrlimit(RLIMIT_FSIZE, &none);
	say_to(fd);
	setrlimit(RLIMIT_FSIZE, &before);
	cr_assert_eq(lseek(fd, 0, SEEK_END), 0);
	close(fd);
}

Test(log, the_programs_own_signal_stays_pending)
{
	sigset_t pipes, pending;

	signal(SIGPIPE, on_signal);
	sigemptyset(&pipes);
	sigaddset(&pipes, SIGPIPE);
	sigprocmask(SIG_BLOCK, &pipes, NULL);
	raise(SIGPIPE);
	say_to(pipe_without_reader());
	sigpending(&pending);
	cr_assert(sigismember(&pending, SIGPIPE));
	cr_assert_eq(caught, 0);
	sigprocmask(SIG_UNBLOCK, &pipes, NULL);
	cr_assert_eq(caught, SIGPIPE);
}

Test(log, the_programs_handler_is_not_called)
{
	signal(SIGPIPE, on_signal);
	say_to(pipe_without_reader());
	cr_assert_eq(caught, 0);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Foreground execution. Every signal is blocked and taken with sigwaitinfo, so there is no handler
 * and no race. What the terminal sends (si_code SI_KERNEL) goes to the whole process group and has
 * reached the program already, but for a hang-up, as has what a process sent to the group; what was
 * sent to this process alone is passed on.
 */
#include "cli/run/exec.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/run/witness.h"

void gt_exec_reserve_streams(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

/* What a launcher asked for in case it dies holds for the program too; fork drops it. */
static void keep_death_signal(int number)
{
	if (number)
		prctl(PR_SET_PDEATHSIG, number);
}

/* Takes the timers that who started us has set (alarm before exec); fork drops them. */
static void take_timers(struct itimerval *timers)
{
	const struct itimerval none = {0};

	setitimer(ITIMER_REAL, &none, &timers[ITIMER_REAL]);
	setitimer(ITIMER_VIRTUAL, &none, &timers[ITIMER_VIRTUAL]);
	setitimer(ITIMER_PROF, &none, &timers[ITIMER_PROF]);
}

static void give_timers(const struct itimerval *timers)
{
	setitimer(ITIMER_REAL, &timers[ITIMER_REAL], NULL);
	setitimer(ITIMER_VIRTUAL, &timers[ITIMER_VIRTUAL], NULL);
	setitimer(ITIMER_PROF, &timers[ITIMER_PROF], NULL);
}

/* The child: nothing of ours is left but the environment that was asked for. */
static _Noreturn void become_program(char *const *argv, char *const *environment,
				     const struct gt_exec *exec, int error_fd)
{
	int error;

	keep_death_signal(exec->death_signal);
	for (; *environment; environment++)
		putenv(*environment);
	sigaction(SIGCHLD, &exec->old_child_action, NULL);
	sigprocmask(SIG_SETMASK, &exec->old_mask, NULL);
	give_timers(exec->timers);
	execvp(argv[0], argv);
	error = errno;
	if (write(error_fd, &error, sizeof(error)) != (ssize_t)sizeof(error))
		_exit(127);
	_exit(error == ENOENT ? 127 : 126);
}

/* A hang-up goes to the leader of the session alone, with a SIGCONT; a timer's signal to whose it
 * is. */
static bool kernel_tells_us_alone(int number)
{
	if (number == SIGHUP || number == SIGCONT)
		return getsid(0) == getpid();
	return number == SIGALRM || number == SIGVTALRM || number == SIGPROF;
}

/* Passes on what was sent to this process alone. */
static void pass_on(const struct gt_exec *exec, struct gt_witness *witness, const siginfo_t *info)
{
	bool from_terminal = info->si_code == SI_KERNEL && !kernel_tells_us_alone(info->si_signo);
	bool from_program = info->si_pid == exec->child && info->si_code <= 0;

	if (info->si_code == SI_USER && gt_witness_saw(witness, info->si_signo))
		return;
	if (from_terminal || from_program)
		return;
	if (info->si_code == SI_QUEUE)
		sigqueue(exec->child, info->si_signo, info->si_value);
	else
		kill(exec->child, info->si_signo);
}

/*
 * Stands still as the program does, whoever stopped it: a shell sees only us, and a program that
 * takes the terminal's ^Z itself stops with SIGSTOP in the end. Whoever wakes us, the shell or the
 * witness, does so with a SIGCONT of ours, which is pending afterwards and no news for the program.
 */
static void stop_too(struct gt_witness *witness)
{
	const struct timespec at_once = {0};
	sigset_t one;

	sigemptyset(&one);
	sigaddset(&one, SIGCONT);
	gt_witness_watch(witness);
	raise(SIGSTOP);
	sigtimedwait(&one, NULL, &at_once);
	gt_witness_saw(witness, SIGCONT);
}

/* True when the program has ended. What woke us from a stop may have been for us alone: a program
 * that did not go on then, or before, is continued. */
static bool reap(struct gt_exec *exec, struct gt_witness *witness)
{
	bool is_stopped = false;
	int status;

	while (waitpid(exec->child, &status, WNOHANG | WUNTRACED | WCONTINUED) == exec->child) {
		is_stopped = WIFSTOPPED(status);
		if (is_stopped) {
			stop_too(witness);
		} else if (!WIFCONTINUED(status)) {
			exec->wait_status = status;
			return true;
		}
	}
	if (is_stopped)
		kill(exec->child, SIGCONT);
	return false;
}

static void attend(struct gt_exec *exec, struct gt_witness *witness, const sigset_t *all)
{
	siginfo_t info;

	while (!reap(exec, witness)) {
		if (sigwaitinfo(all, &info) < 0)
			continue;
		if (info.si_signo != SIGCHLD)
			pass_on(exec, witness, &info);
	}
}

/* The errno of execvp, or 0 once the pipe was closed by a successful exec. */
static int read_exec_error(int fd)
{
	int error = 0;
	ssize_t n;

	do
		n = read(fd, &error, sizeof(error));
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(error) ? error : 0;
}

/* While the program runs nobody may have to wait for us to close what it has closed; stderr is for
 * what comes afterwards. */
static void let_go(int kept)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; fd < 1024; fd++) {
		if (fd == kept || fd == null || fd == STDERR_FILENO)
			continue;
		if (fd > STDERR_FILENO || dup2(null, fd) < 0)
			close(fd);
	}
	if (null > STDERR_FILENO)
		close(null);
}

static void block_signals(struct gt_exec *exec, sigset_t *ret_all)
{
	struct sigaction standard = {.sa_handler = SIG_DFL};

	sigfillset(ret_all);
	sigprocmask(SIG_SETMASK, ret_all, &exec->old_mask);
	/* An inherited SIG_IGN would make the kernel throw the exit status away. */
	sigaction(SIGCHLD, &standard, &exec->old_child_action);
}

int gt_exec_run(char *const *argv, char *const *environment, struct gt_exec *ret_exec)
{
	struct gt_exec exec = {0};
	struct gt_witness witness;
	sigset_t all;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	fflush(NULL);
	prctl(PR_GET_PDEATHSIG, &exec.death_signal);
	block_signals(&exec, &all);
	take_timers(exec.timers);
	exec.child = fork();
	if (exec.child < 0) {
		int error = errno;

		close(fds[0]);
		close(fds[1]);
		sigprocmask(SIG_SETMASK, &exec.old_mask, NULL);
		return -error;
	}
	if (exec.child == 0)
		become_program(argv, environment, &exec, fds[1]);
	close(fds[1]);
	exec.error = read_exec_error(fds[0]);
	close(fds[0]);
	gt_witness_start(&witness, exec.child);
	let_go(witness.fd);
	attend(&exec, &witness, &all);
	gt_witness_end(&witness);
	*ret_exec = exec;
	return 0;
}

_Noreturn void gt_exec_end(const struct gt_exec *exec)
{
	struct rlimit no_core = {0, 0};
	struct sigaction standard = {.sa_handler = SIG_DFL};
	sigset_t one;
	int number;

	if (exec->error)
		exit(exec->error == ENOENT ? 127 : 126);
	if (!WIFSIGNALED(exec->wait_status))
		exit(WEXITSTATUS(exec->wait_status));
	number = WTERMSIG(exec->wait_status);
	setrlimit(RLIMIT_CORE, &no_core);
	sigaction(number, &standard, NULL);
	sigemptyset(&one);
	sigaddset(&one, number);
	raise(number);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	exit(128 + number);
}

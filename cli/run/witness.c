/* SPDX-License-Identifier: Apache-2.0
 *
 * The witness keeps all signals blocked, so what it got stays pending until it is asked for.
 */
#include "cli/run/witness.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recover/liveness.h"

#define PATIENCE_MS 1000
#define LOOK_MS     100 /* between two looks at a stopped program: nothing tells that one goes on */
#define WATCH       0   /* in place of a signal's number; has no answer */

/* Nobody may have to wait for us to close a pipe. */
static void close_all_but(int fd)
{
	dup2(fd, 0);
	for (int other = 1; other < 1024; other++)
		close(other);
}

/* The one who asked is about to stop, or has. */
static void watch(pid_t program)
{
	struct pollfd next = {.fd = 0, .events = POLLIN};

	while (poll(&next, 1, LOOK_MS) <= 0) {
		if (gt_liveness_is_stopped("/proc", getppid()) &&
		    !gt_liveness_is_stopped("/proc", program))
			kill(getppid(), SIGCONT);
	}
}

/* Answers which signals came, until the one who asks is gone. */
static _Noreturn void be_witness(int fd, pid_t program)
{
	const struct timespec at_once = {0};
	sigset_t one;
	int number, seen;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close_all_but(fd);
	while (read(0, &number, sizeof(number)) == (ssize_t)sizeof(number)) {
		if (number == WATCH) {
			watch(program);
			continue;
		}
		sigemptyset(&one);
		sigaddset(&one, number);
		seen = sigtimedwait(&one, NULL, &at_once) == number;
		if (write(0, &seen, sizeof(seen)) < 0)
			break;
	}
	_exit(0);
}

void gt_witness_start(struct gt_witness *witness, pid_t program)
{
	int fds[2];

	*witness = (struct gt_witness){.fd = -1};
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return;
	witness->pid = fork();
	if (witness->pid == 0)
		be_witness(fds[1], program);
	close(fds[1]);
	witness->fd = fds[0];
	if (witness->pid < 0)
		gt_witness_end(witness);
}

/* -1: it does not answer, as it has been stopped or killed. */
static int ask(const struct gt_witness *witness, int number)
{
	struct pollfd answer = {.fd = witness->fd, .events = POLLIN};
	int seen;

	if (send(witness->fd, &number, sizeof(number), MSG_NOSIGNAL) < 0 ||
	    poll(&answer, 1, PATIENCE_MS) <= 0 ||
	    read(witness->fd, &seen, sizeof(seen)) != (ssize_t)sizeof(seen))
		return -1;
	return seen;
}

/* A stop of the group stopped the witness, and only we were continued: its answers come as soon as
 * it is continued too, and tell also of the signal that did that. */
static bool ask_again(struct gt_witness *witness, int number)
{
	int seen = -1, ignored;

	kill(witness->pid, SIGCONT);
	if (read(witness->fd, &seen, sizeof(seen)) != (ssize_t)sizeof(seen))
		return false;
	ignored = number == SIGCONT ? 0 : ask(witness, SIGCONT);
	return seen > 0 && ignored >= 0 && number != SIGCONT;
}

bool gt_witness_saw(struct gt_witness *witness, int number)
{
	int seen, status;

	if (witness->pid <= 0)
		return false;
	seen = ask(witness, number);
	if (seen < 0 && waitpid(witness->pid, &status, WNOHANG) == 0)
		return ask_again(witness, number);
	if (seen < 0)
		witness->pid = 0;
	return seen > 0;
}

void gt_witness_watch(const struct gt_witness *witness)
{
	const int number = WATCH;

	if (witness->pid > 0)
		send(witness->fd, &number, sizeof(number), MSG_NOSIGNAL);
}

void gt_witness_end(struct gt_witness *witness)
{
	int status;

	if (witness->fd >= 0)
		close(witness->fd);
	if (witness->pid > 0) {
		kill(witness->pid, SIGKILL);
		while (waitpid(witness->pid, &status, 0) < 0 && errno == EINTR)
			continue;
	}
	*witness = (struct gt_witness){.fd = -1};
}

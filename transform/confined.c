/* SPDX-License-Identifier: Apache-2.0
 *
 * See confined.h. One thread.
 */
#include "transform/confined.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NS     1000000000ll
#define MEMORY (8ull << 30) /* address space: files are mapped whole */

/* The shadow memory of a sanitizer is more than any limit. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LIMITS_MEMORY false
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define LIMITS_MEMORY false
#endif
#endif
#ifndef LIMITS_MEMORY
#define LIMITS_MEMORY true
#endif

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NS + now.tv_nsec;
}

static void limit(int what, rlim_t most)
{
	struct rlimit limits;

	if (getrlimit(what, &limits))
		return;
	if (limits.rlim_cur > most)
		limits.rlim_cur = most;
	limits.rlim_max = limits.rlim_cur;
	setrlimit(what, &limits);
}

/* What the parent catches or ignores is no matter of the child's. */
static void reset_signals(void)
{
	sigset_t none;

	for (int number = 1; number < 32; number++)
		signal(number, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void confine(unsigned int seconds)
{
	reset_signals();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_CPU, seconds);
	if (LIMITS_MEMORY)
		limit(RLIMIT_AS, MEMORY);
}

int gt_confined_start(struct gt_confined *ret_child, unsigned int seconds,
		      void (*work)(int to, void *data), void *data)
{
	int ends[2];

	*ret_child = (struct gt_confined){.deadline = now_ns() + (int64_t)seconds * NS};
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	ret_child->from = ends[0];
	ret_child->pid = fork();
	if (ret_child->pid == 0) {
		close(ends[0]);
		confine(seconds);
		work(ends[1], data);
		_exit(0);
	}
	close(ends[1]);
	if (ret_child->pid > 0)
		return 0;
	close(ends[0]);
	return -EAGAIN;
}

/* Waits until there is something to read, or the end of the pipe. False: the time is over. */
static bool wait_for_it(struct gt_confined *child)
{
	for (;;) {
		struct pollfd pipe_end = {.fd = child->from, .events = POLLIN};
		int64_t left = child->deadline - now_ns();
		int rc;

		if (left <= 0)
			break;
		rc = poll(&pipe_end, 1, (int)(left / 1000000 + 1));
		if (rc > 0)
			return true;
		if (rc < 0 && errno != EINTR)
			break;
	}
	child->is_late = true;
	return false;
}

bool gt_confined_read(struct gt_confined *child, void *buffer, size_t size)
{
	char *to = buffer;

	while (size) {
		ssize_t got;

		if (!wait_for_it(child))
			return false;
		got = read(child->from, to, size);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		to += got;
		size -= (size_t)got;
	}
	return true;
}

bool gt_confined_end(struct gt_confined *child)
{
	int status = 0;
	char byte;

	/* it ends by itself when it has said all */
	if (!child->is_late && wait_for_it(child) && read(child->from, &byte, 1) == 0)
		child->is_late = false;
	else
		kill(child->pid, SIGKILL);
	close(child->from);
	while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
		;
	/* one that was late may have ended by itself before the signal came */
	return !child->is_late && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

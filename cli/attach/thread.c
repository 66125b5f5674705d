/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. The allocator and the loader map, read files and wait for futexes; they make none
 * of the calls below. FUTEX_WAIT_BITSET is what conditions, semaphores and joins of glibc
 * wait by, FUTEX_WAIT what its locks do.
 */
#include "cli/attach/thread.h"

#include <dirent.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/attach/image.h"

/* What else must be so. */
enum condition {
	ALWAYS,
	WAITS_FOR_PEER, /* the file of the first argument is a pipe, a socket or a terminal */
	IS_NO_LOCK,     /* a futex */
	NO_MASK_3,      /* no signal mask is exchanged: that argument is NULL */
	NO_MASK_4,
	NO_MASK_5, /* of pselect: a pair, whose first half is NULL */
};

/* Rank 1: goes on with the time that is left, if nobody disturbs twice; 2: with all of it. A sleep,
 * a poll or a futex with a time limit that was stopped before (SIGSTOP, strace) is restart_syscall;
 * rank 3, as it ends with EINTR if this command is killed meanwhile. Calls on a socket with
 * SO_RCVTIMEO cannot be told from others here; they go on with all of their time. */
static const struct {
	long number;
	enum condition condition;
	unsigned rank;
	bool ends_with_eintr;
} calls[] = {
	{SYS_read, WAITS_FOR_PEER, 0, true},     {SYS_recvfrom, ALWAYS, 0, true},
	{SYS_recvmsg, ALWAYS, 0, true},          {SYS_accept, ALWAYS, 0, true},
	{SYS_accept4, ALWAYS, 0, true},          {SYS_wait4, ALWAYS, 0, false},
	{SYS_waitid, ALWAYS, 0, false},          {SYS_pause, ALWAYS, 0, false},
	{SYS_futex, IS_NO_LOCK, 0, false},       {SYS_poll, ALWAYS, 1, false},
	{SYS_ppoll, NO_MASK_3, 1, false},        {SYS_select, ALWAYS, 1, false},
	{SYS_pselect6, NO_MASK_5, 1, false},     {SYS_nanosleep, ALWAYS, 1, false},
	{SYS_clock_nanosleep, ALWAYS, 1, false}, {SYS_epoll_wait, ALWAYS, 2, true},
	{SYS_epoll_pwait, NO_MASK_4, 2, true},   {SYS_restart_syscall, ALWAYS, 3, false},
};

static bool is_peer(pid_t pid, uint64_t fd)
{
	static const char *const kinds[] = {"pipe:", "socket:", "anon_inode:", "/dev/pts/",
					    "/dev/tty"};
	char name[64], target[64];
	ssize_t n;

	snprintf(name, sizeof(name), "/proc/%d/fd/%" PRIu64, (int)pid, fd);
	n = readlink(name, target, sizeof(target) - 1);
	if (n <= 0)
		return false;
	target[n] = 0;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strncmp(target, kinds[i], strlen(kinds[i])))
			return true;
	return false;
}

static bool has_no_mask(pid_t pid, uint64_t pair)
{
	uint64_t mask = 1;

	return !pair || (!gt_memory_read(pid, pair, &mask, sizeof(mask)) && !mask);
}

static bool holds(pid_t pid, const struct gt_waiting_thread *waiting, enum condition condition)
{
	const uint64_t *arguments = waiting->arguments;

	switch (condition) {
	case ALWAYS:
		return true;
	case WAITS_FOR_PEER:
		return is_peer(pid, arguments[0]);
	case IS_NO_LOCK:
		return (arguments[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
	case NO_MASK_3:
		return !arguments[3];
	case NO_MASK_4:
		return !arguments[4];
	case NO_MASK_5:
		return has_no_mask(pid, arguments[5]);
	}
	return false;
}

/* False: it runs, or is gone. */
static bool look(pid_t pid, pid_t tid, struct gt_waiting_thread *ret_waiting)
{
	struct gt_waiting_thread waiting = {.tid = tid};
	uint64_t *a = waiting.arguments;
	char name[64], line[256];
	bool read;
	FILE *file;

	snprintf(name, sizeof(name), "/proc/%d/task/%d/syscall", (int)pid, (int)tid);
	file = fopen(name, "re");
	if (!file)
		return false;
	read = fgets(line, sizeof(line), file);
	fclose(file);
	if (!read || sscanf(line,
			    "%ld %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64
			    " %" SCNx64 " %" SCNx64 " %" SCNx64,
			    &waiting.number, &a[0], &a[1], &a[2], &a[3], &a[4], &a[5], &waiting.sp,
			    &waiting.pc) != 9)
		return false;
	*ret_waiting = waiting;
	return true;
}

static bool is_safe(pid_t pid, struct gt_waiting_thread *waiting)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (calls[i].number != waiting->number)
			continue;
		waiting->rank = calls[i].rank;
		return holds(pid, waiting, calls[i].condition);
	}
	return false;
}

static bool is_spared(const struct gt_spared *spared, pid_t tid)
{
	for (size_t i = 0; i < spared->count; i++)
		if (spared->tids[i] == tid)
			return true;
	return false;
}

void gt_waiting_spare(struct gt_spared *spared, pid_t tid)
{
	if (spared->count < GT_SPARED)
		spared->tids[spared->count++] = tid;
}

bool gt_waiting_find(pid_t pid, pid_t tried, const struct gt_spared *spared,
		     struct gt_waiting_thread *ret_waiting)
{
	struct gt_waiting_thread waiting;
	char name[64];
	struct dirent *entry;
	bool found = false;
	DIR *folder;

	snprintf(name, sizeof(name), "/proc/%d/task", (int)pid);
	folder = opendir(name);
	while (folder && (entry = readdir(folder))) {
		pid_t tid = (pid_t)atoi(entry->d_name);

		if (tid <= 0 || tid == tried || is_spared(spared, tid) ||
		    !look(pid, tid, &waiting) || !is_safe(pid, &waiting) ||
		    (found && waiting.rank >= ret_waiting->rank))
			continue;
		*ret_waiting = waiting;
		found = true;
	}
	if (folder)
		closedir(folder);
	return found;
}

bool gt_waiting_ends_with_eintr(long number)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (calls[i].number == number)
			return calls[i].ends_with_eintr;
	return false;
}

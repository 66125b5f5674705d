/* SPDX-License-Identifier: Apache-2.0
 *
 * Which thread of a process may be made to call a function: one that waits in a system call in
 * which it holds no lock of the allocator or the loader. Single thread.
 */
#ifndef GT_CLI_ATTACH_THREAD_H
#define GT_CLI_ATTACH_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define GT_SYSCALL_ARGUMENTS 6

/* Where a thread waits. */
struct gt_waiting_thread {
	pid_t tid;
	long number; /* of the system call; -1: in none */
	uint64_t arguments[GT_SYSCALL_ARGUMENTS];
	uint64_t sp, pc;
	unsigned rank; /* 0: disturbed least */
};

#define GT_SPARED 64u

/* Threads that are not disturbed again: their waiting began again, with all of its time. */
struct gt_spared {
	pid_t tids[GT_SPARED];
	size_t count;
};

/* Adds one; of more than GT_SPARED threads the rest may be disturbed again. */
void gt_waiting_spare(struct gt_spared *spared, pid_t tid);

/* The thread of @pid that is disturbed least, without @tried, a thread that would not do (0:
 * none). False: none waits at such a place now. */
bool gt_waiting_find(pid_t pid, pid_t tried, const struct gt_spared *spared,
		     struct gt_waiting_thread *ret_waiting);

/* Whether a system call that was interrupted with this result is to be begun again by us: the
 * kernel lets it return EINTR instead. */
bool gt_waiting_ends_with_eintr(long number);

#endif

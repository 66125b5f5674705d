/* SPDX-License-Identifier: Apache-2.0
 *
 * One thread of another process, stopped by ptrace, that calls functions of its process. No other
 * thread is stopped. If this program is killed at any point, the thread finishes the function that
 * it is in and then goes on with what it was doing (cli/attach/frame.h). Single thread.
 */
#ifndef GT_CLI_ATTACH_TRACEE_H
#define GT_CLI_ATTACH_TRACEE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/attach/frame.h"
#include "cli/attach/thread.h"

#define GT_CALL_ARGUMENTS 6

/* A stopped thread. */
struct gt_tracee {
	pid_t pid, tid;
	struct gt_way_back way;
	struct gt_context context;     /* what it was doing */
	struct user_regs_struct again; /* the same, with the system call to be begun again */
	bool begins_again;             /* the kernel would not do it */
	bool is_gone;                  /* it has ended, or goes on without us */
};

/* Stops the thread where it waits. -EAGAIN: it went on meanwhile, or will not do for another
 * reason: it is as before. -EINTR: so it is, but its waiting began again: it is not to be disturbed
 * twice. -EPERM, -ESRCH. */
int gt_tracee_stop(pid_t pid, const struct gt_waiting_thread *waiting,
		   const struct gt_way_back *way, struct gt_tracee *ret_tracee);

/*
 * Calls a function on the stack that ends at @top; 0: on the thread's own, where it may use some
 * hundred bytes. What it returns is not known. Signals wait meanwhile.
 * -EBUSY: the lock of the loader, which it asked for before all else, is another thread's: it has
 * not begun, and the thread may be released. -ETIMEDOUT: not over within @limit_ms, it goes on
 * without us; as -ESRCH. -EFAULT: it broke.
 */
int gt_tracee_call(struct gt_tracee *tracee, uint64_t function,
		   const uint64_t arguments[GT_CALL_ARGUMENTS], uint64_t top, unsigned limit_ms);

/* Lets it go on with what it was doing. */
void gt_tracee_release(struct gt_tracee *tracee);

#endif

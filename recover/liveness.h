/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a process lives, is only just dying, or has ended. A process that was killed keeps its
 * number and for a while its files: until the kernel has taken its memory apart, and until its
 * parent asks. Any thread; reads /proc.
 */
#ifndef GT_RECOVER_LIVENESS_H
#define GT_RECOVER_LIVENESS_H

#include <stdbool.h>
#include <stdint.h>

/* The state of a process. */
enum gt_liveness {
	GT_LIVENESS_ENDED, /* gone, or nobody has asked yet how it ended: it has no files any
			    * more */
	GT_LIVENESS_DYING, /* runs no code of its own any more, may have files */
	GT_LIVENESS_ALIVE,
};

/* Process @pid as the folder @proc ("/proc") tells. It lives as long as one of its threads does,
 * which need not be the first. */
enum gt_liveness gt_liveness_of(const char *proc, int64_t pid);

/* Whether a signal or a debugger made @pid stand still. A process stops as a whole, but a thread
 * that has ended, which the first one may, shows nothing of it. */
bool gt_liveness_is_stopped(const char *proc, int64_t pid);

/* Waits while @pid is dying, takes the time from *patience_ms. False when it has ended; true when
 * it lives, which costs no time, and when it is dying still. */
bool gt_liveness_wait(const char *proc, int64_t pid, int *patience_ms);

/* gt_liveness_wait in /proc, with ten seconds for all processes that this one asks about. One
 * thread. */
bool gt_process_is_alive(int64_t pid);

#endif

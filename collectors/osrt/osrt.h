/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of the operating system that blocked, --osrt, in slots that all threads share. A thread
 * takes a free slot and copies its stack into it, as the sampler does; the drain thread unwinds.
 * Nothing here belongs to a thread, so a signal handler that interrupts any of it, or a thread that
 * is cancelled in it, does no harm but for a slot that is never free again.
 */
#ifndef GT_COLLECTORS_OSRT_OSRT_H
#define GT_COLLECTORS_OSRT_OSRT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "collectors/sampler/signal.h"
#include "core/schema/os_call.h"

#define GT_OSRT_SLOTS 128u

/* A call. */
struct gt_osrt_slot {
	struct gt_os_call call;
	uint32_t tid;
	uint32_t mode; /* of the descriptor, as in struct stat; 0: not known */
	uint64_t device, inode;
	char path[GT_OS_PATH];        /* call.path; "": none */
	struct gt_sample_slot sample; /* the stack and Python frames at its end */
};

/* Has libgputrace-osrt.so report calls of @threshold ns or more from now on; in a forked child
 * again. @stacks: copy them. @tally: in the spool, zeroed, lasts; NULL: there is none. -ENOENT: it
 * is not loaded; -ENOMEM. */
int gt_osrt_listen(uint64_t threshold, bool stacks, struct gt_os_tally *tally);

/* Whether calls are taken. Any thread. */
void gt_osrt_set_active(bool active);

/* A call that has been reported, of those from *@cursor on, which it moves; NULL: no more. It is
 * the caller's until gt_osrt_free. Drain thread. */
struct gt_osrt_slot *gt_osrt_next(uint32_t *cursor);
void gt_osrt_free(struct gt_osrt_slot *slot);

/* What was made of the calls that are free is in the file. Drain thread. */
void gt_osrt_settle(void);

/* Calls that found no free slot. Any thread. */
uint64_t gt_osrt_lost(void);

#endif

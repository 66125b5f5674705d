/* SPDX-License-Identifier: Apache-2.0
 *
 * Where one thread is now, for gputrace hang and --watchdog. By the rules of the sampler: a thread
 * that waits is not disturbed, one that runs outside of recorded calls is asked by SIGURG, if the
 * program does not use that. Drain thread.
 */
#ifndef GT_COLLECTORS_SAMPLER_LOOK_H
#define GT_COLLECTORS_SAMPLER_LOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "collectors/sampler/proc.h"

struct gt_call_record;
struct gt_thread;

/* What one look found. */
struct gt_look {
	enum gt_sample_where where;
	bool has_call; /* it waits in this system call */
	uint32_t system_call;
	uint64_t argument; /* its first */
	/* its stack, valid until the next look; Python frames alone where only they could be read;
	 * NULL: none */
	const struct gt_call_record *record;
};

/* Begins looks at several threads; _end restores what the program had for SIGURG. */
void gt_look_begin(void);
void gt_look_end(void);

/* Looks at @thread, at most @frames frames deep, for some milliseconds at most. */
void gt_look_at(struct gt_thread *thread, uint32_t frames, struct gt_look *ret_look);

/* The same of a thread that has never called CUDA: it is not asked, its native stack is read
 * while it waits, and its Python frames if another thread of the interpreter has called CUDA. */
void gt_look_at_other(uint32_t tid, uint32_t frames, struct gt_look *ret_look);

#endif

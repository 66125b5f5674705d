/* SPDX-License-Identifier: Apache-2.0
 *
 * What threads do while they make no CUDA call: a thread of the tracer's looks at each thread that
 * has made one, so many times a second.
 *
 *   A thread that waits in the kernel is not disturbed: /proc/self/task/TID/syscall tells where its
 *   code and its stack are, and both are read from outside. No call of its is interrupted.
 *
 *   A thread that runs gets a SIGURG, whose handler copies its registers and its stack. It is not
 * sent while the thread is in a recorded call, blocks that signal, runs on a stack that is small or
 * not its own, nor at all once the program has a handler for SIGURG.
 *
 * Both come out as records in the ring of the sampler's own thread.
 */
#ifndef GT_COLLECTORS_SAMPLER_SAMPLER_H
#define GT_COLLECTORS_SAMPLER_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

/* Threads that are looked at; the time of others is counted as lost. */
#define GT_SAMPLER_THREADS 64u

/* Counters of the sampler. */
struct gt_sampler_counts {
	uint64_t skipped; /* the thread was in a recorded call, or may not be interrupted */
	uint64_t lost;    /* the stack could not be read, or the thread did not answer */
	bool has_signal;  /* false: the program uses SIGURG, threads that run are not seen */
};

/* Sets the rate, and takes SIGURG if the program does not use it. Once a session, before
 * gt_sampler_run. @frames: most frames of a sample. */
void gt_sampler_configure(uint32_t hz, uint32_t frames);

/* The work of the sampler's thread, which blocks all signals; returns when gt_sampler_stop is
 * called. */
void *gt_sampler_run(void *unused);

/* Gives SIGURG back and waits, at most @timeout_ns, until the thread touches nothing more. */
void gt_sampler_stop(uint64_t timeout_ns);

/* Any thread. */
struct gt_sampler_counts gt_sampler_count(void);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * What threads do between their CUDA calls: a thread of the tracer samples each thread that has
 * made a call, at a fixed rate.
 *
 *   A thread that waits in the kernel is not disturbed: /proc/self/task/TID/syscall has its pc and
 *   sp, and its stack is read from outside. No system call is interrupted.
 *
 *   A running thread gets a SIGURG, whose handler copies its registers and its stack. The signal is
 *   not sent while the thread is in a recorded call, blocks it, or runs on a small or foreign
 * stack, and never if the program has a handler for SIGURG.
 *
 * Both become records in the ring of the sampler's thread.
 */
#ifndef GT_COLLECTORS_SAMPLER_SAMPLER_H
#define GT_COLLECTORS_SAMPLER_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

/* Threads that are sampled; the time of others is counted as lost. */
#define GT_SAMPLER_THREADS 64u

/* Counters of the sampler. What was due and is in no other count is in its ring. */
struct gt_sampler_counts {
	uint64_t due; /* by the rate, of each thread */
	/* the thread was in a recorded call or must not be interrupted, or descriptors are short */
	uint64_t skipped;
	/* the stack could not be read, the thread did not answer, or the ring was full */
	uint64_t lost;
	uint64_t late;   /* the sampler had no processor when it was due */
	bool has_signal; /* false: the program uses SIGURG, running threads are not sampled */
};

/* Sets the rate and installs the SIGURG handler, unless the program uses SIGURG. Once per session,
 * before gt_sampler_run. @frames: most frames of a sample. */
void gt_sampler_configure(uint32_t hz, uint32_t frames);

/* Another rate, at least 1. Any thread. */
void gt_sampler_set_rate(uint32_t hz);

/* Main function of the sampler's thread, which blocks all signals; returns after gt_sampler_stop.
 * The thread gets a descriptor table of its own: it uses no descriptor of the process. */
void *gt_sampler_run(void *unused);

/* Restores SIGURG and waits, at most @timeout_ns, until the thread has stopped. */
void gt_sampler_stop(uint64_t timeout_ns);

/* Whether it samples: the signal is its own then. Any thread, as the counts. */
bool gt_sampler_is_running(void);
struct gt_sampler_counts gt_sampler_count(void);

#endif

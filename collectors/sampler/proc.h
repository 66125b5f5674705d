/* SPDX-License-Identifier: Apache-2.0
 *
 * State of a thread of this process as the kernel reports it. Threads of the tracer.
 *
 * Files of /proc are opened without taking descriptors from the program: the sampler's thread has a
 * table of its own (Linux 5.9). Where the kernel refuses that, and on other threads, one file at a
 * time is open in the program's table, for microseconds, and none when that table is nearly full.
 */
#ifndef GT_COLLECTORS_SAMPLER_PROC_H
#define GT_COLLECTORS_SAMPLER_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GT_SAMPLE_TEXT 256u

/* State of a thread. */
enum gt_sample_where {
	GT_SAMPLE_GONE,          /* the thread has ended */
	GT_SAMPLE_UNKNOWN,       /* not reported by the kernel */
	GT_SAMPLE_NO_DESCRIPTOR, /* the program needs the last ones itself */
	GT_SAMPLE_RUNNING,
	GT_SAMPLE_WAITING, /* pc, sp */
};

/* Gives the calling thread an empty descriptor table, if the kernel can: from now on it can use no
 * descriptor of the process. */
void gt_sample_proc_start(void);

/* @text: the kernel's text, to be compared with a later one: if both are equal, the thread has not
 * run. */
enum gt_sample_where gt_sample_proc_read(uint32_t tid, char text[GT_SAMPLE_TEXT], uint64_t *ret_pc,
					 uint64_t *ret_sp);

/* The system call that a waiting thread is in, and its first argument, from the kernel's text.
 * False: it is in none. */
bool gt_sample_proc_call(const char *text, uint32_t *ret_number, uint64_t *ret_argument);

/* Whether the thread blocks @signal, or has a seccomp filter under which it may not return from its
 * handler; true when unknown. */
bool gt_sample_proc_blocks(uint32_t tid, int signal);

/* Parsers of the kernel's two files; for tests. */
enum gt_sample_where gt_sample_proc_parse(const char *text, uint64_t *ret_pc, uint64_t *ret_sp);
bool gt_sample_proc_parse_mask(const char *text, uint64_t *ret_mask);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * State of a thread of this process as the kernel reports it, through descriptors that are opened
 * once per thread, above the numbers that programs use. The sampler's thread only.
 */
#ifndef GT_COLLECTORS_SAMPLER_PROC_H
#define GT_COLLECTORS_SAMPLER_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/guest/descriptor.h"

#define GT_SAMPLE_TEXT 256u

/* The open files of one thread in /proc. */
struct gt_sample_proc {
	struct gt_descriptor syscall, status;
};

/* State of a thread. */
enum gt_sample_where {
	GT_SAMPLE_GONE,    /* the thread has ended */
	GT_SAMPLE_UNKNOWN, /* not reported by the kernel */
	GT_SAMPLE_RUNNING,
	GT_SAMPLE_WAITING, /* pc, sp */
};

/* False: not available. */
bool gt_sample_proc_open(struct gt_sample_proc *proc, uint32_t tid);

/* Closes the descriptors that are still ours. */
void gt_sample_proc_close(struct gt_sample_proc *proc);

/* @text: the kernel's text, to be compared with a later one: if both are equal, the thread has not
 * run. */
enum gt_sample_where gt_sample_proc_read(const struct gt_sample_proc *proc,
					 char text[GT_SAMPLE_TEXT], uint64_t *ret_pc,
					 uint64_t *ret_sp);

/* Whether the thread blocks @signal, or has a seccomp filter under which it may not return from its
 * handler; true when unknown. */
bool gt_sample_proc_blocks(const struct gt_sample_proc *proc, int signal);

/* Parsers of the kernel's two files; for tests. */
enum gt_sample_where gt_sample_proc_parse(const char *text, uint64_t *ret_pc, uint64_t *ret_sp);
bool gt_sample_proc_parse_mask(const char *text, uint64_t *ret_mask);

#endif

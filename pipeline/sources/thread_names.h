/* SPDX-License-Identifier: Apache-2.0
 *
 * The names of threads, each put into the trace when the first record of its thread is met. Drain
 * thread.
 */
#ifndef GT_PIPELINE_SOURCES_THREAD_NAMES_H
#define GT_PIPELINE_SOURCES_THREAD_NAMES_H

#include <stdint.h>

struct gt_clock;
struct gt_intern;
struct gt_outlet;
struct gt_ranges;
struct gt_string;

#define GT_THREAD_NAMES 1024u

/* Given: the first four; the rest is zero at first. */
struct gt_thread_names {
	const struct gt_clock *clock;
	struct gt_intern *strings;
	struct gt_ranges *ranges; /* know the names that the program gives by NVTX */
	struct gt_outlet *outlet;
	uint32_t written[GT_THREAD_NAMES]; /* threads whose names are in the trace; one that had
					    * to make room is only named again */
};

/* The name that the program has given, or the kernel has. Never NULL. */
const struct gt_string *gt_thread_names_find(struct gt_thread_names *names, uint32_t tid);

/* A record of thread @tid. @time: monotonic. What is recovered later has no time of its own. */
void gt_thread_names_see(struct gt_thread_names *names, uint32_t tid, uint64_t time);

#endif

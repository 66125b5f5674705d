/* SPDX-License-Identifier: Apache-2.0
 *
 * The stack of a recorded call: native frames, and Python frames where there are some. Drain
 * thread, but where the session starts: before there is one.
 */
#ifndef GT_PIPELINE_SOURCES_STACKS_H
#define GT_PIPELINE_SOURCES_STACKS_H

#include <stdint.h>

struct gt_call_record;
struct gt_config;
struct gt_intern;
struct gt_metadata;
struct gt_modules;
struct gt_python_frames;
struct gt_stack;
struct gt_stacks;

/* Given: the first five; the rest is zero at first. */
struct gt_call_stacks {
	const struct gt_config *config;
	struct gt_intern *strings;
	struct gt_modules *modules;
	struct gt_stacks *stacks;        /* where they are kept */
	struct gt_metadata *metadata;    /* which unwinder, which Python */
	uint32_t captured_frames;        /* most addresses that a call delivers; 0: no stacks */
	struct gt_python_frames *python; /* NULL: Python stacks are not wanted */
	uint64_t modules_seen;           /* CLOCK_MONOTONIC ns: what was loaded by then is known */
};

/* NULL: the call has none, or it was lost or refused. */
const struct gt_stack *gt_call_stacks_of_call(struct gt_call_stacks *stacks,
					      const struct gt_call_record *record);

/* The same of a sample, which always carries its frames. */
const struct gt_stack *gt_call_stacks_of_sample(struct gt_call_stacks *stacks,
						const struct gt_call_record *record);

/* The same of a thread that broke, with the frames at its near end that are ours. */
const struct gt_stack *gt_call_stacks_of_crash(struct gt_call_stacks *stacks,
					       const struct gt_call_record *record);

/* How long calls must take to have stacks, by --stack-threshold. Any thread. */
void gt_call_stacks_set_threshold(const struct gt_config *config);

/* Takes note of modules that have come or gone: an interpreter may be among them. */
void gt_call_stacks_refresh(struct gt_call_stacks *stacks);

/* The end of the trace: whether the interpreter turned out to be another one is in the metadata. */
void gt_call_stacks_finish(struct gt_call_stacks *stacks);

/* From now on no call has the loader asked for a module that is not known: in recovery that is
 * another process's, and who is stuck may hold its lock. */
void gt_call_stacks_freeze(struct gt_call_stacks *stacks);

#endif

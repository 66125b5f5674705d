/* SPDX-License-Identifier: Apache-2.0
 *
 * --stack-lane: the stacks of a thread's recorded calls as a flame chart on a track next to the
 * thread, outermost frame first. Calls that follow each other share a slice for as long as they may
 * have come out of one activation of the function: the frames outside it are the same to the line.
 * Slices are handed on when they are over, outer before inner ones. Drain thread.
 */
#ifndef GT_PIPELINE_SOURCES_STACK_LANE_H
#define GT_PIPELINE_SOURCES_STACK_LANE_H

#include <stddef.h>
#include <stdint.h>

#include "core/schema/event.h"

struct gt_stack_lane;

/* Takes a finished slice (GT_EVENT_FRAME). */
typedef void (*gt_stack_lane_emit_fn)(void *context, const struct gt_event *event);

/* Rows of at most @depth frames, with at most @max_bytes of memory. NULL: no memory. */
struct gt_stack_lane *gt_stack_lane_new(uint32_t depth, size_t max_bytes,
					gt_stack_lane_emit_fn emit, void *context);
void gt_stack_lane_free(struct gt_stack_lane *lane);

/* The next call of a thread, an event with tid, start, end and stack; in the order of its ring. */
void gt_stack_lane_call(struct gt_stack_lane *lane, const struct gt_event *call);

/* The thread is gone: its open slices end with its last call. */
void gt_stack_lane_thread_ended(struct gt_stack_lane *lane, uint32_t tid);

/* The same for every thread: the end of the trace. */
void gt_stack_lane_finish(struct gt_stack_lane *lane);

/* Calls with a stack that are in no slice: more threads than there was memory for. */
uint64_t gt_stack_lane_lost(const struct gt_stack_lane *lane);

#endif

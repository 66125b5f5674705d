/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests to this process: the drain thread looks into the mailbox when it wakes, and does what a
 * request asks for (pipeline/verbs.def). It does so while CUPTI's flush hangs, too. Protocol:
 * docs/internals/control.md.
 */
#ifndef GT_PIPELINE_CONTROL_H
#define GT_PIPELINE_CONTROL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct gt_config;
struct gt_metadata;
struct gt_pipeline;

/* Makes the mailbox that --control asks for. Session start. */
void gt_control_start(const struct gt_config *config, const struct gt_metadata *metadata);

/* Whether there is one. */
bool gt_control_is_on(void);

/* Does what is due; reads the mailbox at most every 10 ms, but for a wait that a request has ended.
 * Drain thread, as the rest, which holds the pipeline. @now: CLOCK_MONOTONIC ns. */
void gt_control_turn(struct gt_pipeline *pipeline, uint64_t now);

/* A request waits for its answer: the thread should wake soon. */
bool gt_control_is_busy(void);

/* Sleeps while *word == @value, at most @timeout_ns, and ends early when a request comes. False: it
 * cannot, and has not slept. */
bool gt_control_wait(_Atomic uint32_t *word, uint32_t value, uint64_t timeout_ns);

/* It cannot, and there is a mailbox: somebody must look into it. */
bool gt_control_is_deaf(void);

/* The session ends: a request that waits is refused, and the mailbox is removed. Who ends it. */
void gt_control_end(void);

#endif

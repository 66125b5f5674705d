/* SPDX-License-Identifier: Apache-2.0
 *
 * --flight-recorder: a trace of what is kept, on demand and at the end. What one has is not in the
 * next.
 */
#ifndef GT_PIPELINE_DUMP_H
#define GT_PIPELINE_DUMP_H

#include <stdbool.h>
#include <stdint.h>

struct gt_pipeline;

/* Session start: whether there is a recorder, as the options say; what is wrong with them is said.
 */
void gt_dump_plan(struct gt_pipeline *pipeline);

/* Session start, when there is a spool or none: how much memory the recorder may have. */
void gt_dump_fit(struct gt_pipeline *pipeline);

/* The thread that holds the pipeline is there: @wake wakes it. From now on --dump-signal asks. */
void gt_dump_serve(const struct gt_pipeline *pipeline, void (*wake)(void));

/*
 * Asks for a dump, which the drain thread makes soon: once CUPTI has been asked for what it holds,
 * for half a second at most, as its flush may hang. @reason: a static text, for people. What is
 * asked for meanwhile is the same dump. Without a recorder: nothing. Any thread, also the drain
 * thread; async-signal-safe.
 */
void gt_dump_ask(const char *reason);

/* ---- by who holds the pipeline, or the drain thread before it does ---- */

/* Whether the dump that was asked for is to be made now. @now: CLOCK_MONOTONIC ns. */
bool gt_dump_is_due(struct gt_pipeline *pipeline, uint64_t now);

/* What was delivered until now goes into a file of its own, and the program goes on; its records
 * are read meanwhile. _for: at once, for that reason. Without a recorder: nothing. */
void gt_dump_make(struct gt_pipeline *pipeline);
void gt_dump_make_for(struct gt_pipeline *pipeline, const char *reason);

/* The path of the last dump; empty: there is none, or it could not be written. */
const char *gt_dump_last(void);

/* Dumps so far, also those that could not be written: what was kept stays then. */
uint32_t gt_dump_tries(void);

/* gt_turn_close: the process ends with @status, 0 to 255. With a recorder what is kept is written
 * before, if --dump-at-exit says so or a dump was asked for; else there is no trace of it. */
void gt_dump_close(struct gt_pipeline *pipeline, int status);

#endif

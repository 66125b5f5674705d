/* SPDX-License-Identifier: Apache-2.0
 *
 * What is done to a pipeline as a whole: its start, a round, its end. By the starting thread, then
 * by the drain thread, which holds it, or by who has taken it over.
 */
#ifndef GT_PIPELINE_TURN_H
#define GT_PIPELINE_TURN_H

#include <stdbool.h>
#include <stdint.h>

#include "pipeline/window.h"

struct gt_crash_report;
struct gt_output_end;
struct gt_pipeline;

/* Starts the sources. A negative errno: the caller gives the pipeline up. */
int gt_turn_start(struct gt_pipeline *pipeline);

/* Records in the metadata which system calls are left out by now, and in a note when that changed.
 * Drain thread, or the starting one: then @started is false and there is no note. */
void gt_turn_seccomp(struct gt_pipeline *pipeline, bool started);

/* Compares both clocks when that is due. @now: CLOCK_MONOTONIC ns, as below. */
void gt_turn_clock(struct gt_pipeline *pipeline, uint64_t now);

/* The last of the thread: nobody does so any more. */
void gt_turn_clock_ends(struct gt_pipeline *pipeline);

/* One round: what waits, some tenths of a second's work of it, and what has become final. Returns
 * how much there was. */
uint64_t gt_turn_round(struct gt_pipeline *pipeline);

/* What was delivered until now: threads that go on launching while the file is closed have no
 * end. */
void gt_turn_all(struct gt_pipeline *pipeline);

/* How full the fullest ring was when it was drained, since the last time that this was asked: in
 * thousandths. */
uint32_t gt_turn_fullest(struct gt_pipeline *p);

/* The range of the window has ended at @time: a kill may come before the drain thread sees it. Any
 * thread; one store. */
void gt_turn_range_ended(const struct gt_pipeline *pipeline, uint64_t time);

/* The window, see pipeline/window.h; a file is there when it has begun, also for nothing. Several
 * windows have a file each. */
enum gt_window_step gt_turn_window(const struct gt_pipeline *pipeline, uint64_t now);
uint64_t gt_turn_window_holds(const struct gt_pipeline *pipeline, uint64_t now);
void gt_turn_window_ask(struct gt_pipeline *pipeline, enum gt_window_request request);
bool gt_turn_window_is_warm(const struct gt_pipeline *pipeline);
void gt_turn_window_warms(struct gt_pipeline *pipeline);
bool gt_turn_shuts_down(const struct gt_pipeline *pipeline);
bool gt_turn_window_repeats(const struct gt_pipeline *pipeline);
void gt_turn_window_begun(struct gt_pipeline *pipeline, uint64_t now);
void gt_turn_window_ended(struct gt_pipeline *pipeline, uint64_t now);

/* Windows begin and end as core/window/attached.h says; none is open. */
bool gt_turn_is_attached(const struct gt_pipeline *pipeline);
bool gt_turn_window_waits(const struct gt_pipeline *pipeline);

/* Nothing is recorded, or getting warm. */
bool gt_turn_rests(const struct gt_pipeline *pipeline);

/* Everything that was delivered goes into the file of the window that has ended, and the next
 * window is waited for. */
void gt_turn_close_window(struct gt_pipeline *pipeline);

/* The file that was closed then. */
const struct gt_output_end *gt_turn_ended(const struct gt_pipeline *pipeline);

/* --watchdog. True: nothing has moved for that long, once for each stall. */
bool gt_turn_watch(struct gt_pipeline *pipeline, uint64_t now);

/* The sources are asked with the next turn. Returns what gt_turn_flushes must become: all that
 * is there now is written then. */
uint64_t gt_turn_flush_soon(struct gt_pipeline *pipeline, bool is_under_way);
uint64_t gt_turn_flushes(const struct gt_pipeline *pipeline);

/* GPU operations that are done and that CUPTI has not delivered. */
uint64_t gt_turn_undelivered(const struct gt_pipeline *pipeline);

/* Is it time to ask the sources for what they hold back? Then the next time is set. */
bool gt_turn_flush_is_due(struct gt_pipeline *pipeline, uint64_t now);

/* The same as gt_turn_report every flush period, also while a flush takes long or hangs. */
void gt_turn_tell(struct gt_pipeline *pipeline, uint64_t now);

/* Says in the trace what was lost so far, and writes what is final. */
void gt_turn_report(struct gt_pipeline *pipeline);

/* Writes what is final; @everything: all that there is. */
void gt_turn_write(struct gt_pipeline *pipeline, bool everything);

/* A note where it broke, with its stack. */
void gt_turn_crash(struct gt_pipeline *pipeline, const struct gt_crash_report *crash);

/* A file ends and recording goes on: its notes, and ranges that are open as unfinished ones. */
void gt_turn_cut(struct gt_pipeline *pipeline);

/* What was delivered until now is all that there will be. */
void gt_turn_last(struct gt_pipeline *pipeline);

/* Everything that was delivered goes into the file, and the file is closed. The last turn. */
void gt_turn_close(struct gt_pipeline *pipeline);

#endif

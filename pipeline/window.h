/* SPDX-License-Identifier: Apache-2.0
 *
 * The time in which the program is recorded: --delay, --start-at, --capture-range, --schedule,
 * --duration. There may be several windows, one after the other, each with a file of its own.
 * Session start, then drain thread.
 */
#ifndef GT_PIPELINE_WINDOW_H
#define GT_PIPELINE_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

struct gt_clock;
struct gt_config;
struct gt_metadata;

/* What a command has asked for. */
enum gt_window_request { GT_WINDOW_ASKED_NOTHING, GT_WINDOW_ASKED_BEGIN, GT_WINDOW_ASKED_END };

/* Times are CLOCK_MONOTONIC ns. */
struct gt_window {
	uint64_t begin;  /* 0: from the start of the session on; UINT64_MAX: with its range */
	uint64_t length; /* 0: without end */
	uint64_t began;  /* 0: not yet */
	uint32_t most;   /* windows, 0: without end */
	enum gt_window_request request;
	bool is_controlled; /* commands may begin and end windows */
	bool shuts_down;    /* the program ends with the last one */
	bool is_attached;   /* begins and ends as core/window/attached.h says, again and again */
	bool is_warm;       /* the sources record before it begins */
	bool ended;
};

/* What is to be done now. */
enum gt_window_step { GT_WINDOW_STAYS, GT_WINDOW_WARMS, GT_WINDOW_BEGINS, GT_WINDOW_ENDS };

/* At session start. Given: is_controlled. @loaded: the start of the program; @clock has its first
 * sample. @metadata learns what waits. */
void gt_window_plan(struct gt_window *window, const struct gt_config *config, uint64_t loaded,
		    const struct gt_clock *clock, struct gt_metadata *metadata);

/* The window begins later. */
bool gt_window_waits(const struct gt_window *window);

/* Another window may follow this one. */
bool gt_window_repeats(const struct gt_window *window, const struct gt_metadata *metadata);

/* The program's ranges begin and end the windows: nobody else does. */
bool gt_window_is_of_ranges(void);

/* Begins, or ends, a window with the next step. */
void gt_window_ask(struct gt_window *window, enum gt_window_request request);

/* What is due at @now. */
enum gt_window_step gt_window_step(const struct gt_window *window, uint64_t now);

/* How long the answer of _step holds, in ns. */
uint64_t gt_window_holds(const struct gt_window *window, uint64_t now);

/* The window has begun, has ended: for the metadata. */
void gt_window_begun(struct gt_window *window, uint64_t now, const struct gt_clock *clock,
		     struct gt_metadata *metadata);
void gt_window_ended(struct gt_window *window, uint64_t now, const struct gt_clock *clock,
		     struct gt_metadata *metadata);

/* Since when what came until @to is recorded, if it is kept from @from on (trace ns). */
uint64_t gt_window_from(const struct gt_metadata *metadata, uint64_t from, uint64_t to);

/* The next one is waited for. */
void gt_window_again(struct gt_window *window, struct gt_metadata *metadata);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * One request to all processes that a command line names, "PID..." or "all": what start, stop,
 * status and others have in common. One thread.
 */
#ifndef GT_CLI_CONTROL_TELL_H
#define GT_CLI_CONTROL_TELL_H

#include <stddef.h>

#include "cli/cmdline.h"
#include "cli/control/talk.h"

/* A request. */
struct gt_tell {
	const char *verb, *argument; /* argument: "" without one */
	int patience_ms;             /* for an answer, where --timeout says nothing */
	/* Prints an answer; NULL: "PID: text". May return an exit status other than 0. */
	int (*print)(const struct gt_talk *talk, void *context);
	void *context;
	bool is_long; /* the answer may have several pieces, and is in talk->whole */
};

/* Options that all of them have. */
#define GT_TELL_OPTIONS                                                                            \
	{"control", "FOLDER", NULL,                                                                \
	 "processes that were started with --control=FOLDER "                                      \
	 "(default: GPUTRACE_CONTROL, else those of /dev/shm and XDG_RUNTIME_DIR)"},               \
	{                                                                                          \
		"timeout", "TIME", GT_CMDLINE_TIME,                                                \
			"wait at most this long for an answer: 30s (a bare number: s)"             \
	}

/* Sends it to each of args->inputs behind the first @skip, and prints the answers in that order.
 * What cannot be answered is one line on stderr. An exit status. */
int gt_tell(const struct gt_cmdline *args, size_t skip, const struct gt_tell *tell);

/* The same for processes that are chosen already. */
int gt_tell_boxes(const struct gt_cmdline *args, struct gt_talk *talks, size_t count,
		  const struct gt_tell *tell);

#endif

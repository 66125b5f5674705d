/* SPDX-License-Identifier: Apache-2.0
 *
 * --dump-signal: a signal that asks for a dump. It is taken from nobody: a program that handles or
 * ignores it keeps it, and one that does so later gets it back. What would end the program asks for
 * a dump from its start on: a request before there is a session is answered when there is one.
 */
#ifndef GT_PIPELINE_DUMP_SIGNAL_H
#define GT_PIPELINE_DUMP_SIGNAL_H

#include <stddef.h>

struct gt_config;

/* When the library is loaded. @chosen: a value of --dump-signal. */
void gt_dump_signal_arm(size_t chosen);

/* There is no recorder: the signal is as it was. */
void gt_dump_signal_disarm(void);

/* Session start. @on_signal is called in the handler, on any thread, with the reason of a dump. */
void gt_dump_signal_start(const struct gt_config *config, void (*on_signal)(const char *reason));

/* Says once that the program has taken the signal for itself. Drain thread, now and then; a system
 * call. */
void gt_dump_signal_watch(void);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * --dump-signal: a signal that asks for a dump. It is taken from nobody: a program that handles or
 * ignores it keeps it, and one that does so later gets it back.
 */
#ifndef GT_PIPELINE_DUMP_SIGNAL_H
#define GT_PIPELINE_DUMP_SIGNAL_H

struct gt_config;

/* Session start. @on_signal is called in the handler, on any thread, with the reason of a dump. */
void gt_dump_signal_start(const struct gt_config *config, void (*on_signal)(const char *reason));

/* Says once that the program has taken the signal for itself. Drain thread, now and then; a system
 * call. */
void gt_dump_signal_watch(void);

#endif

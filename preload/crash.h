/* SPDX-License-Identifier: Apache-2.0
 *
 * --on-crash: when a signal says that the program is broken, what was recorded so far is written
 * before the signal does what it would have done: the program's own handler runs with the same
 * arguments, or the process ends by the same signal at the same instruction, with its core. The
 * handler only wakes the drain thread and waits for it, at most --exit-timeout.
 */
#ifndef GT_PRELOAD_CRASH_H
#define GT_PRELOAD_CRASH_H

struct gt_config;

/* Session start: puts the handlers before the program's if the option says so. A signal that is
 * ignored stays so. Handlers that the program sets later come first and need not call ours. */
void gt_crash_start(const struct gt_config *config);

#endif

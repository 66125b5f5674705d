/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages of `gputrace run` on stderr, one line each. Main thread.
 */
#ifndef GT_CLI_RUN_SAY_H
#define GT_CLI_RUN_SAY_H

#include <stdbool.h>

/* Prints nothing from now on. */
void gt_say_nothing(void);

/* Whether lines are printed. */
bool gt_say_is_on(void);

/* Prints "gputrace: ..." in one write, with '?' for control characters. */
void gt_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * One command at a time speaks to a process through its box: two that write options and a wish at
 * once would mix them. Single thread.
 */
#ifndef GT_CLI_ATTACH_TURN_H
#define GT_CLI_ATTACH_TURN_H

#include <stdbool.h>
#include <sys/types.h>

/* Waits @limit_ms for other commands, and keeps them away until this process ends. False: one of
 * them takes longer. True also where there are no sockets to agree by. */
bool gt_attach_turn(pid_t pid, unsigned limit_ms);

#endif

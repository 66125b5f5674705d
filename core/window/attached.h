/* SPDX-License-Identifier: Apache-2.0
 *
 * A process that was attached to while it ran: the drain thread looks here for what `gputrace
 * attach` and `gputrace detach` wish (core/window/attach_box.h), and answers. Each attachment is a
 * window of its own (pipeline/window.h).
 */
#ifndef GT_CORE_WINDOW_ATTACHED_H
#define GT_CORE_WINDOW_ATTACHED_H

#include <stdbool.h>

#include "core/window/attach_box.h"

/* Session start: @box is looked into from now on; without it nobody has attached. */
void gt_attached_serve(struct gt_attach_box *box);

/* The process is recorded because it was attached to. Any thread, as all below. */
bool gt_attached_is_on(void);

/* What is wished now: to record, or to rest. */
bool gt_attached_wants_records(void);

/* A wish that has not been answered. */
bool gt_attached_is_asked(void);

/* Fulfils or refuses the last wish: the state from now on, and the file, or the reason. */
void gt_attached_answer(enum gt_attach_state state, int error, const char *text);

/* Recording has ended, as was wished, or with --duration. @error, @lack: what the file lacks, and
 * why; 0 and "": nothing. */
void gt_attached_rests(int error, const char *lack);

/* Recording is not possible: answers, and wishes that it ends. */
void gt_attached_fails(int error, const char *why);

/* The value of an option of the last wish; NULL: it has none. */
const char *gt_attached_option(const char *variable);

#endif

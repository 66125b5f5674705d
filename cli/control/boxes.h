/* SPDX-License-Identifier: Apache-2.0
 *
 * The mailboxes of this user's traced processes (core/control/mailbox.h): which there are, and
 * whether their processes can be spoken to. What is in them is trusted as little as any file. One
 * thread.
 */
#ifndef GT_CLI_CONTROL_BOXES_H
#define GT_CLI_CONTROL_BOXES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/control/mailbox.h"
#include "readers/vec.h"

/* What became of a mailbox. */
enum gt_box_state {
	GT_BOX_LIVE,      /* its process runs */
	GT_BOX_STOPPED,   /* a signal or a debugger made it stand still */
	GT_BOX_ELSEWHERE, /* its process is in another pid namespace: a container */
	GT_BOX_STRANGE,   /* of another version of the protocol */
	GT_BOX_SQUATTED,  /* another user's file, or none of a mailbox's form; pid from its name */
};

/* A mailbox. */
struct gt_box {
	char path[PATH_MAX];
	enum gt_box_state state;
	int fd;                      /* -1: squatted, strange */
	bool is_its;                 /* its process has it mapped; false: perhaps */
	struct gt_mailbox_head head; /* texts are terminated */
};

/* Those that were found, by pid. */
struct gt_boxes {
	GT_VEC(struct gt_box) list;
};

/* Finds them in the folders that the tracer chooses by itself, or, if it is not NULL, in @folder
 * alone. Removes those whose process is gone, or has begun another program. One process has one:
 * that which it has mapped; if nobody may look, the newest. Copies are neither listed nor removed
 * while it lives. -ENOMEM. */
int gt_boxes_find(struct gt_boxes *ret_boxes, const char *folder);
void gt_boxes_fini(struct gt_boxes *boxes);

/* Only removes those whose process is gone. */
void gt_boxes_clean(const char *folder);

/* Whether @bytes, the first @size of a file, are a mailbox's head. 0; -EBADMSG: not one; -EPROTO:
 * of another version. Terminates its texts. Pure. */
int gt_box_read_head(const void *bytes, size_t size, struct gt_mailbox_head *ret_head);

/* The folder that --control=FOLDER, else GPUTRACE_CONTROL names; NULL: none. */
const char *gt_boxes_folder(const char *option);

#endif

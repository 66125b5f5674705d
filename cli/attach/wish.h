/* SPDX-License-Identifier: Apache-2.0
 *
 * Wishes to the library in a process that was attached to (core/window/attach_box.h), and their
 * answers. Single thread.
 */
#ifndef GT_CLI_ATTACH_WISH_H
#define GT_CLI_ATTACH_WISH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/attach/maps.h"
#include "core/window/attach_box.h"

/* The library in a process. */
struct gt_attached {
	bool is_there;            /* it is mapped */
	uint64_t address;         /* of its box; 0: it is of another build */
	struct gt_attach_box box; /* as it was when it was read last */
};

/* Finds and reads it. A negative errno: its memory cannot be read. */
int gt_attached_find(pid_t pid, const struct gt_maps *maps, struct gt_attached *ret_attached);

/* Writes a wish into the box; the options are those of attached->box. A negative errno. */
int gt_attached_wish(pid_t pid, struct gt_attached *attached, enum gt_attach_wish wish);

/* Reads the box until its last wish is answered. 0: it is, box.error and box.text say how; -ESRCH:
 * the process has ended; -ETIMEDOUT: not within @limit_ms. */
int gt_attached_await(pid_t pid, struct gt_attached *attached, unsigned limit_ms);

#endif

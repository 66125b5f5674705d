/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads libgputrace.so into a running process and has it begin. Single thread.
 */
#ifndef GT_CLI_ATTACH_INJECT_H
#define GT_CLI_ATTACH_INJECT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/attach/maps.h"
#include "core/window/attach_box.h"

/* @library: its path, the same in the process. @box: the first wish. A negative errno with
 * @ret_why: the process is as before, unless that says otherwise; -ESTALE: it runs another program
 * than that of @maps, or one that is only beginning. @ret_us: how long the thread was kept that did
 * it. */
int gt_inject(pid_t pid, const struct gt_maps *maps, const char *library,
	      const struct gt_attach_box *box, uint64_t *ret_us, char *ret_why, size_t size);

/* The address of the box of a library that is mapped there. 0: it has none. */
uint64_t gt_inject_find_box(pid_t pid, const struct gt_mapping *library);

#endif

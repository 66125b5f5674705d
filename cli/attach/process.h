/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a running process can be attached to, and why not. Reads /proc only. Single thread.
 */
#ifndef GT_CLI_ATTACH_PROCESS_H
#define GT_CLI_ATTACH_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "cli/attach/maps.h"

/* False: @ret_why says in one line what prevents it and what to do. @ret_maps: to be freed. */
bool gt_process_inspect(pid_t pid, struct gt_maps *ret_maps, char *ret_why, size_t size);

/* The room of its table of descriptors; 0: not known. */
unsigned gt_process_descriptors(pid_t pid);

/* Why ptrace was refused with @error. */
void gt_process_explain(pid_t pid, int error, char *ret_why, size_t size);

#endif

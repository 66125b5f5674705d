/* SPDX-License-Identifier: Apache-2.0
 *
 * The newest run in gputrace-out/, where `gputrace run` without --output puts them.
 * Single-threaded.
 */
#ifndef GT_CLI_NEWEST_H
#define GT_CLI_NEWEST_H

#include <stddef.h>

/* Fills @ret_path with its folder. -ENOENT: there is no run in the working folder. */
int gt_newest_run(char *ret_path, size_t size);

#endif

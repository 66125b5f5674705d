/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether somebody still writes a trace. Any thread; reads /proc.
 */
#ifndef GT_RECOVER_WRITER_OF_H
#define GT_RECOVER_WRITER_OF_H

#include <stdbool.h>
#include <stdint.h>

/* True when the process that calls itself @pid (in its own container) has @path open. A child that
 * was forked from it has the file open too and never writes it: its number is another. One that is
 * dying is waited for (recover/liveness.h). False also when the process belongs to somebody
 * else. */
bool gt_writer_is_alive(const char *path, int64_t pid);

/* The number of a process that has @path open to write it; 0: none that can be seen. */
int64_t gt_writer_find(const char *path);

/* True when @path was written on another host, or in another container, less than a minute ago:
 * nothing here tells whether it still is. @host: as its header has it, "" when that is not known;
 * its name tells then. */
bool gt_writer_may_be_elsewhere(const char *path, const char *host);

#endif

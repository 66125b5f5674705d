/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether two files hold one trace, as JSON and packed, or as JSON and .pftrace. Reads the
 * beginning of both. Any thread.
 */
#ifndef GT_TRACE_FILE_SAME_H
#define GT_TRACE_FILE_SAME_H

#include <stdbool.h>

/* True if they begin alike, or both name the same process and the same base of their times. A file
 * that cannot be read is no trace of any. */
bool gt_is_same_trace(const char *path, const char *other);

#endif

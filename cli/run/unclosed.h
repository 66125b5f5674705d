/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a trace was closed by its process. Any thread.
 */
#ifndef GT_CLI_RUN_UNCLOSED_H
#define GT_CLI_RUN_UNCLOSED_H

#include <stdbool.h>

/* True when the .pftrace ends with its ledger. */
bool gt_pftrace_has_end(const char *path);

/* True when the trace, in either format, has no end. */
bool gt_trace_is_unclosed(const char *path);

#endif

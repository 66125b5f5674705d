/* SPDX-License-Identifier: Apache-2.0
 *
 * What `gputrace run` says of the ranks of a job: which were traced, and where. Main thread.
 */
#ifndef GT_CLI_RUN_RANKS_H
#define GT_CLI_RUN_RANKS_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/run/traces.h"

/* " of 4 of 8 ranks" for these traces, empty if they are of one process or of no rank. Returns how
 * many ranks. */
size_t gt_ranks_count(const struct gt_traces *traces, char *ret_text, size_t size);

/* " (rank 0 of 8; ...)" where this wrapper is one of several ranks and @traces are its own; else
 * empty. */
void gt_ranks_own(const struct gt_metadata *process, const struct gt_traces *traces, char *ret_text,
		  size_t size);

/* Prints that this wrapper's program was not traced because --ranks leaves its rank out. False: it
 * does not. */
bool gt_ranks_say_left_out(const struct gt_traces_wanted *wanted);

#endif

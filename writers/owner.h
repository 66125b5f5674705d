/* SPDX-License-Identifier: Apache-2.0
 *
 * Which process writes into the output folder itself: one of each rank. Readers treat every .json
 * of a folder as a rank, so data-loader workers and other processes that inherit the rank write
 * into sub-folders. Drain thread only; no stdio.
 */
#ifndef GT_WRITERS_OWNER_H
#define GT_WRITERS_OWNER_H

#include <stdbool.h>

/*
 * 1: this process may write into @folder, because @key ("rank0") is not claimed there, or the
 * claimant's trace is gone. 0: another process may. The claim is a file ".<key>.owner". A negative
 * errno: it cannot be created, and creating the trace will fail for the same reason.
 */
int gt_owner_claim(int folder, const char *key);

/* Whether the claim has a trace of the process that made @trace: its name is the same up to the
 * first dot. */
bool gt_owner_is_of(int folder, const char *key, const char *trace);

/* Removes a claim for which no trace could be created. */
void gt_owner_release(int folder, const char *key);

/* Records the trace of a claim, for later processes. */
void gt_owner_set_trace(int folder, const char *key, const char *trace);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Who writes into the output folder itself: one process of each rank. Readers take every .json of a
 * folder as a rank of its own, so data-loader workers and other processes that inherit the rank
 * write into a sub-folder each. Drain thread only; no stdio.
 */
#ifndef GT_WRITERS_OWNER_H
#define GT_WRITERS_OWNER_H

/*
 * 1: this process may write into @folder, as nobody has claimed @key there ("rank0"), or the trace
 * of whoever did is gone. 0: another one does. The claim is a file ".<key>.owner". A negative
 * errno: none can be made there, and creating the trace will fail with the same reason.
 */
int gt_owner_claim(int folder, const char *key);

/* Takes back a claim for which no trace could be created. */
void gt_owner_release(int folder, const char *key);

/* Tells later processes which trace stands for the claim. */
void gt_owner_set_trace(int folder, const char *key, const char *trace);

#endif

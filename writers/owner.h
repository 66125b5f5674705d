/* SPDX-License-Identifier: Apache-2.0
 *
 * Who writes into the output folder itself: one process of each rank. Readers take every .json of a
 * folder as a rank of its own, so data-loader workers and other processes that inherit the rank
 * write into a sub-folder each. Drain thread only; no stdio.
 */
#ifndef GT_WRITERS_OWNER_H
#define GT_WRITERS_OWNER_H

#include <stdbool.h>

/*
 * True when this process may write into @folder: nobody has claimed @key there ("rank0"), or the
 * trace of whoever did is gone. The claim is a file ".<key>.owner"; when none can be made there the
 * answer is true, and creating the trace will fail with the same reason.
 */
bool gt_owner_claim(int folder, const char *key);

/* Tells later processes which trace stands for the claim. */
void gt_owner_tell(int folder, const char *key, const char *trace);

#endif

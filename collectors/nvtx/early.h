/* SPDX-License-Identifier: Apache-2.0
 *
 * Ranges before the session, that is before the process uses CUDA. A trace begins with the first
 * use of CUDA: ranges and marks that ended by then are only counted; ranges still open wait here
 * for the drain thread, so that the range around the first launch is known.
 *
 * A fixed number of slots for the whole process. Application threads: no lock, no allocation, no
 * system call. gt_nvtx_early_drain: drain thread.
 */
#ifndef GT_COLLECTORS_NVTX_EARLY_H
#define GT_COLLECTORS_NVTX_EARLY_H

#include <stdbool.h>
#include <stdint.h>

#include "collectors/nvtx/record.h"

/* Room for a name; a longer one is cut. */
#define GT_NVTX_EARLY_NAME  176u
#define GT_NVTX_EARLY_SLOTS 512u

/* Maps the slots; a forked child finds them empty. May be called again, even by several threads at
 * once. -ENOMEM. */
int gt_nvtx_early_start(void);

/* Changes in a forked child: state that threads cached is invalid then. */
uint32_t gt_nvtx_early_generation(void);

/* Key under which an open range is found when it is closed; never 0. */
uint64_t gt_nvtx_early_key_of_push(uint32_t tid, uint32_t domain, uint64_t level);
uint64_t gt_nvtx_early_key_of_start(uint64_t id);

/* Stores an open range. False: all slots are in use (counted). */
bool gt_nvtx_early_open(uint64_t key, const struct gt_nvtx_record *record, const char *text);

/* The range has ended: frees its slot and counts it. False: not here. */
bool gt_nvtx_early_close(uint64_t key);

/* Counts a mark, or anything else that ends at once. */
void gt_nvtx_early_count_over(void);

/* True while there may be open ranges: one load. */
bool gt_nvtx_early_is_pending(void);

/* Passes every open range to @found and frees its slot. */
void gt_nvtx_early_drain(void (*found)(void *context, const struct gt_nvtx_record *record),
			 void *context);

/* Ranges before the session, counted. */
struct gt_nvtx_early_counts {
	uint64_t over; /* ranges and marks that ended before the session */
	uint64_t lost; /* open ranges that found no slot */
};

/* The current counts. Any thread. */
struct gt_nvtx_early_counts gt_nvtx_early_count(void);

#endif

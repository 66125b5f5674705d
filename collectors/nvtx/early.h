/* SPDX-License-Identifier: Apache-2.0
 *
 * Ranges before there is a session, that is before the process uses CUDA. A trace begins with the
 * first use of CUDA, so ranges and marks that are over by then are counted only; what is still open
 * waits here until the drain thread takes it, so that the range around the first launch is known.
 *
 * A fixed number of slots for the whole process. Application threads: no lock, no allocation, no
 * system call. gt_nvtx_early_take: drain thread.
 */
#ifndef GT_COLLECTORS_NVTX_EARLY_H
#define GT_COLLECTORS_NVTX_EARLY_H

#include <stdbool.h>
#include <stdint.h>

#include "collectors/nvtx/record.h"

/* Room of a slot for the name; a longer one is cut. */
#define GT_NVTX_EARLY_NAME  176u
#define GT_NVTX_EARLY_SLOTS 512u

/* Maps the slots; a forked child finds them empty. May be called again, by several threads at once.
 * -ENOMEM. */
int gt_nvtx_early_start(void);

/* Changes in a forked child, where what a thread knew of itself no longer holds. */
uint32_t gt_nvtx_early_generation(void);

/* How an open range is found again when it is closed; never 0. */
uint64_t gt_nvtx_early_key_of_push(uint32_t tid, uint32_t domain, uint64_t level);
uint64_t gt_nvtx_early_key_of_start(uint64_t id);

/* Keeps the open range. False: all slots are taken (counted). */
bool gt_nvtx_early_open(uint64_t key, const struct gt_nvtx_record *record, const char *text);

/* The range is over: forgets and counts it. False: it is not here. */
bool gt_nvtx_early_close(uint64_t key);

/* A mark, or anything else that is over at once. */
void gt_nvtx_early_pass(void);

/* True while there may be something to take: one load. */
bool gt_nvtx_early_is_pending(void);

/* Hands every open range to @take and forgets it. */
void gt_nvtx_early_take(void (*take)(void *context, const struct gt_nvtx_record *record),
			void *context);

/* Ranges seen before the session, counted. */
struct gt_nvtx_early_counts {
	uint64_t over; /* ranges and marks that were over before the session */
	uint64_t lost; /* open ranges that found no slot */
};

/* The counts now. Any thread. */
struct gt_nvtx_early_counts gt_nvtx_early_count(void);

#endif

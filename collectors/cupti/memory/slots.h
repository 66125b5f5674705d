/* SPDX-License-Identifier: Apache-2.0
 *
 * The slots of the activity buffers, and what is counted of them, as they lie in the spool: a
 * killed process leaves them to recovery.
 */
#ifndef GT_COLLECTORS_CUPTI_MEMORY_SLOTS_H
#define GT_COLLECTORS_CUPTI_MEMORY_SLOTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/schema/ledger.h"

/* More than CUPTI ever holds plus those waiting to be read: buffers are small only while records
 * come slowly. */
#define GT_CUPTI_BUFFERS_MAX 2048u

/* Who has a slot. */
enum gt_cupti_slot_state {
	GT_CUPTI_SLOT_FREE,
	GT_CUPTI_SLOT_BUSY, /* being set up or freed */
	GT_CUPTI_SLOT_LENT, /* CUPTI is filling it */
	GT_CUPTI_SLOT_FULL, /* completed, waits for the drain thread */
	GT_CUPTI_SLOT_READ, /* read, but not all of its work is in the file: kept for recovery */
};

/* A buffer, with its state. */
struct gt_cupti_slot {
	_Atomic int state;
	uint32_t block;
	uint8_t *_Atomic data;    /* after its guard; any thread compares it */
	size_t bytes;             /* at data */
	_Atomic size_t valid;     /* bytes lent to CUPTI, then bytes filled by it */
	uint64_t lent_at;         /* CLOCK_MONOTONIC ns */
	uint64_t order;           /* of completion */
	_Atomic uint64_t request; /* number of the request that it answered */
	uint64_t read;            /* time when it was read, trace ns */
	uint64_t sampled;         /* the clock that it was read by */
	bool foreign;             /* a copy of another tool's buffer */
};

/* Losses that a killed process must not take with it. */
struct gt_cupti_slot_counts {
	_Atomic uint64_t completed, foreign, discarded, discarded_bytes;
};

/* In the spool if there is one. */
struct gt_cupti_slots {
	struct gt_cupti_slot slots[GT_CUPTI_BUFFERS_MAX];
	struct gt_cupti_slot_counts counts;
};

/* Brings the counts in @ledger up to date. */
void gt_cupti_slot_counts_report(const struct gt_cupti_slot_counts *counts,
				 struct gt_ledger *ledger);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Events that were made for a file and are not in it: how many, why, and since when. Counted by
 * who writes the file, kept in the spool, settled by who repairs the file. One owner at a time.
 */
#ifndef GT_CORE_LOSSES_H
#define GT_CORE_LOSSES_H

#include <stdint.h>

#include "core/schema/ledger.h"

/* Lost events. Zeroed: none. */
struct gt_losses {
	uint64_t disk, memory, early, killed; /* as GT_LEDGER_EVENTS_LOST_* */
	uint64_t kinds[GT_LEDGER_KINDS_];     /* of all these, as gt_ledger_kinds[] lists them */
	uint64_t since;                       /* trace ns of the first one; 0: not known */
	int32_t error;                        /* negative errno that stopped the file */
};

/* The sum of what was lost by any cause. */
static inline uint64_t gt_losses_sum(const struct gt_losses *losses)
{
	return losses->disk + losses->memory + losses->early + losses->killed;
}

/* Counts @n events of the kind that is written under @key, or of none of gt_ledger_kinds[], by
 * kind only: the caller adds them to their cause. */
void gt_losses_add_kind(struct gt_losses *losses, enum gt_ledger_key key, uint64_t n);

/* Adds @more; error and time are those that were known first. */
void gt_losses_add(struct gt_losses *losses, const struct gt_losses *more);

/* What a ledger says, and the reverse: adds them to the ledger. */
struct gt_losses gt_losses_of(const struct gt_ledger *ledger);
void gt_losses_count(const struct gt_losses *losses, struct gt_ledger *ledger);

/* Takes them out of the ledger, all of them. */
void gt_losses_forget(struct gt_ledger *ledger);

/*
 * What is lost for good: some of what @told lists was still in the spool, and is in the file now.
 * Of each kind it is what was received and is not in @ledger as written, at most what was told.
 */
struct gt_losses gt_losses_settle(const struct gt_losses *told, const struct gt_ledger *ledger);

/* What was received and is neither written nor told as lost is lost, too: adds it by kind. Returns
 * how much it is; the caller adds it to its cause. */
uint64_t gt_losses_add_missing(struct gt_losses *losses, const struct gt_ledger *ledger);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * The ledger of a trace that was completed from a spool: what only the process knew (losses, calls
 * seen) from the spool, what is in the file as it is counted there. One thread.
 */
#ifndef GT_RECOVER_JOIN_LEDGER_H
#define GT_RECOVER_JOIN_LEDGER_H

#include "core/losses.h"
#include "core/schema/event.h"
#include "core/schema/ledger.h"
#include "readers/keymap.h"

/* What is counted of the events of one file. */
struct gt_join_count {
	struct gt_ledger ledger;
	struct gt_keymap stacks; /* numbers of the stacks */
};

/* Counts one event. -ENOMEM. */
int gt_join_count(struct gt_join_count *count, const struct gt_event *event);
void gt_join_count_fini(struct gt_join_count *count);

/* Takes off what an earlier file of the process has @reported. */
void gt_join_ledger_take_off(struct gt_ledger *ledger, const struct gt_ledger *reported);

/* What the writer adds to the ledger by itself. */
struct gt_join_written {
	const struct gt_ledger *ledger; /* what it has written */
	struct gt_losses lost;
};

/*
 * The ledger of a file that holds what was counted; @session has what only the process knew, what
 * it had lost before recovery among it. *written: the rest of that, lost for good, is filled in.
 * *ret_rest: what the writer has to be given.
 */
struct gt_ledger gt_join_ledger(const struct gt_ledger *session, const struct gt_join_count *count,
				struct gt_join_written *written, struct gt_ledger *ret_rest);

#endif

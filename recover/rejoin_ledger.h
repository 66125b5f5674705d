/* SPDX-License-Identifier: Apache-2.0
 *
 * The ledger of a trace that was completed from a spool: what only the process knew (losses, calls
 * seen) as the spool has it, what stands in the file as it is counted there. One thread.
 */
#ifndef GT_RECOVER_REJOIN_LEDGER_H
#define GT_RECOVER_REJOIN_LEDGER_H

#include <stdint.h>

#include "core/schema/ledger.h"
#include "readers/chrome/header.h"

/* The ledger that is being made. */
struct gt_rejoin_ledger {
	struct gt_ledger ledger;
	int64_t first_untold; /* number of the first file whose ledger is not taken off yet, from
			       * 1 */
};

/* Takes the ledger out of the recovered part's header. */
void gt_rejoin_ledger_begin(struct gt_rejoin_ledger *totals, const struct gt_header *recovered);

/* @path is an earlier file of the same process: what its ledger says, or, when it has none, the
 * calls that it holds, are not told again. Negative errno: it cannot be read, nothing was taken
 * off. */
int gt_rejoin_ledger_leave(struct gt_rejoin_ledger *totals, const char *path);

/* The same of an earlier file that was counted already. */
void gt_rejoin_ledger_take_off(struct gt_rejoin_ledger *totals, const struct gt_ledger *reported);

/* What was received and seen, from what is written and lost. */
void gt_rejoin_ledger_balance(struct gt_ledger *ledger);

/* Counts @trace. The ledger as JSON text, free(); NULL: it cannot be read, or no memory. */
char *gt_rejoin_ledger_close(struct gt_rejoin_ledger *totals, const char *trace);

#endif

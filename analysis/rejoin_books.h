/* SPDX-License-Identifier: Apache-2.0
 *
 * The ledger of a trace that was completed from a spool: what only the process knew (losses, calls
 * seen) as the spool has it, what stands in the file as it is counted there. One thread.
 */
#ifndef GT_ANALYSIS_REJOIN_BOOKS_H
#define GT_ANALYSIS_REJOIN_BOOKS_H

#include "analysis/header.h"
#include "core/ledger.h"

struct gt_rejoin_books {
	struct gt_ledger ledger;
};

/* Takes the ledger out of the recovered part's header. */
void gt_rejoin_books_begin(struct gt_rejoin_books *books, const struct gt_header *recovered);

/* Counts @trace. The ledger as JSON text, free(); NULL: it cannot be read, or no memory. */
char *gt_rejoin_books_close(struct gt_rejoin_books *books, const char *trace);

#endif

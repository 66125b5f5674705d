/* SPDX-License-Identifier: Apache-2.0
 *
 * Puts what was recovered from a spool (pipeline/replay.h, a trace of its own) behind the events of
 * the trace that its process left. Both may hold the same event: it is kept once. One thread.
 */
#ifndef GT_RECOVER_REJOIN_H
#define GT_RECOVER_REJOIN_H

#include <stdint.h>

/* What was added to a trace. */
struct gt_rejoin {
	uint64_t calls, operations; /* added */
	uint64_t in_flight;         /* launches whose work the process had not been told of */
	uint64_t events;            /* added, of any kind */
	char *ledger;               /* JSON text, the ledger of the whole; free() */
	char error[640];            /* one line, after a failure */
};

/*
 * Appends to @trace, a file of the running form, and leaves it in that form: gt_repair_file closes
 * it. Can be repeated after it was interrupted. 0, -EALREADY: the trace was closed, nothing is
 * missing; or a negative errno with ret_rejoin->error.
 */
int gt_rejoin(const char *trace, const char *recovered, struct gt_rejoin *ret_rejoin);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Puts what was recovered from a spool behind the packets of the .pftrace that its process left:
 * what recover/rejoin.h and recover/repair.h do for JSON. Both files may hold the same event: it is
 * kept once. The file is appended to by the tracer's own writer, so every beginning of it stays a
 * trace, and its ledger comes last: a file that has one is complete. One thread, one file at a
 * time.
 */
#ifndef GT_RECOVER_COMPLETE_H
#define GT_RECOVER_COMPLETE_H

#include <stdbool.h>
#include <stdint.h>

/* What was done to a .pftrace. */
struct gt_complete {
	bool was_closed;            /* it has its ledger: nothing was done */
	bool was_torn;              /* it was cut before its first facts: rebuilt */
	uint64_t events;            /* kept */
	uint64_t cut;               /* bytes behind the last whole event that were given up */
	uint64_t calls, operations; /* added */
	uint64_t in_flight;         /* launches whose work the process had not been told of */
	char error[640];            /* one line, after a failure */
};

/* True for a file in this form, by its first bytes, or by its name when hardly one is there. */
bool gt_complete_is_due(const char *path);

/*
 * The same of a @trace that has no spool: one that was cut before its metadata, while the spool
 * completes the file before it, becomes an empty one with the metadata of that file. Any other is
 * only read: was_closed, events, cut. 0 or a negative errno with ret_complete->error; -ENODATA:
 * nothing is known of it.
 */
int gt_complete_without_spool(const char *trace, struct gt_complete *ret_complete);

/*
 * Completes @trace with @recovered, which the spool at path @spool held. Can be repeated after it
 * was interrupted. 0, or a negative errno with ret_complete->error.
 */
int gt_complete(const char *trace, const char *recovered, const char *spool,
		struct gt_complete *ret_complete);

#endif

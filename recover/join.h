/* SPDX-License-Identifier: Apache-2.0
 *
 * Puts what was recovered from a spool (pipeline/replay.h, a trace of its own) behind the events of
 * the trace that its process left, in either form. Both files may hold the same event: it is kept
 * once. The tracer's own writer appends to the file, so every prefix of it stays a trace that can
 * be joined again, and the ledger comes last: a file that has one is complete. One thread, one file
 * at a time.
 */
#ifndef GT_RECOVER_JOIN_H
#define GT_RECOVER_JOIN_H

#include <stdbool.h>
#include <stdint.h>

#include "recover/pin.h"

/* What was done to a trace. */
struct gt_join {
	bool was_closed;            /* it has its ledger: nothing was done */
	bool was_torn;              /* .pftrace: it was cut before its metadata: rebuilt */
	uint64_t events;            /* kept */
	uint64_t cut;               /* bytes behind the last whole event that were given up */
	uint64_t calls, operations; /* added */
	uint64_t maybe_removed;     /* of these, at most: were in files that --keep removed */
	uint64_t in_flight;         /* launches whose work the process had no record of */
	char error[640];            /* one line, after a failure */
};

/* Whether the file at @path can be read to its end, and its process or a repair closed it. */
bool gt_join_is_closed(const char *path);

/* Whether another file of the process that wrote the one at @path was completed from its spool, so
 * that its ledger has what this one's does not. */
bool gt_join_is_told_beside(const char *path);

/* True for a .pftrace, by its first bytes, or by its @name when hardly one is there. */
bool gt_join_is_pftrace(const char *path, const char *name);

/*
 * Joins @trace, whose first block is whole (recover/torn.h), with @recovered, which the spool at
 * path @spool held, and closes it. Can be repeated after it was interrupted. 0, or a negative errno
 * with ret_join->error: -EBADMSG: one of them holds what is no trace of gputrace's; it is not
 * touched.
 */
int gt_join(const struct gt_pin *trace, const char *recovered, const char *spool,
	    struct gt_join *ret_join);

/*
 * The same of one that has no spool. Where the ledger of another file of the process tells the
 * rest (@is_told), it gets one of what is in it. A .pftrace that was cut before its metadata
 * becomes an empty one with the metadata of the file before it. Any other is only read:
 * was_closed, events, cut. 0 or a negative errno with ret_join->error; -ENODATA: nothing is known
 * of it.
 */
int gt_join_without_spool(const struct gt_pin *trace, bool is_told, struct gt_join *ret_join);

#endif

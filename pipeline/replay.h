/* SPDX-License-Identifier: Apache-2.0
 *
 * Recovery: makes events of what the spool of a dead process holds, with the same code that would
 * have made them there, and writes them as a trace of their own into an empty folder. `gputrace
 * repair` loads the library for this, in a process of its own that may do little else
 * (recover/replay.h), and joins the two files.
 */
#ifndef GT_PIPELINE_REPLAY_H
#define GT_PIPELINE_REPLAY_H

/*
 * Writes what the spool open at @fd holds into @folder. @is_closed: the trace that it names was
 * just being closed (gt_spool_set_closing), and is: what came meanwhile, as a trace of its own. 0:
 * all of it, also when there was nothing; -EBADMSG: not a spool, -ESTALE: of another build of the
 * library, -ENOMEM, -ENOSPC, -EIO: not all of it for want of memory or room, else another negative
 * errno.
 */
__attribute__((visibility("default"))) int gputrace_recover(int fd, const char *folder,
							    int is_closed);

/* The same of @size bytes at @data, aligned to 8; for tests; @folder NULL: counts
 * instead of writing. */
int gt_recover_bytes(const void *data, unsigned long size, const char *folder);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * The spools that killed processes left (core/spool.h): which there are and whose they are. A file
 * is accepted as a spool only in a folder on tmpfs that the tracer chooses by itself or that the
 * user names, and only when it is this user's: what a trace says about its spool chooses nothing.
 * One thread.
 */
#ifndef GT_RECOVER_SPOOLS_H
#define GT_RECOVER_SPOOLS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A spool that a process left. */
struct gt_left_spool {
	char path[PATH_MAX];
	char folder[1024], trace[1024]; /* trace: empty when the process had begun none */
	char build_id[72];              /* of the library that wrote it, hexadecimal */
	int pid;
	bool running;    /* its process lives: not to be touched */
	bool is_closing; /* the trace was being closed: if it is, what came meanwhile is here */
	uint64_t bytes;
	uint64_t refused; /* bytes that the process needed and could not put into it */
};

/* Calls @found for each spool of this user in the folders where the tracer puts them by itself, in
 * that of GPUTRACE_SPOOL, and in @more (NULL: none). */
void gt_spools_each(const char *more,
		    void (*found)(const struct gt_left_spool *spool, void *context), void *context);

/* Whether @path, which a trace names, looks like a spool of this user in a folder that
 * gt_spools_each leaves out. It is not opened. */
bool gt_spools_leave_out(const char *more, const char *path);

/* Opens a spool for reading, close on exec. -1: it is none of this user's any more. */
int gt_spool_open(const struct gt_left_spool *spool);

#endif

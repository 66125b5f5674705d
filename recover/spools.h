/* SPDX-License-Identifier: Apache-2.0
 *
 * The spools that killed processes left (core/spool.h): which there are, whose they are, and
 * getting out of one what its trace is missing. The work is done by the library that wrote the
 * spool, in a process of its own.
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
	int pid;
	bool running; /* its process lives: not to be touched */
	uint64_t bytes;
};

/* Calls @found for each spool of this user, on the places where the tracer puts them by itself. */
void gt_spools_each(void (*found)(const struct gt_left_spool *spool, void *context), void *context);

/* Looks at one file. False: it is not a spool of this user. */
bool gt_spool_inspect(const char *path, struct gt_left_spool *ret_spool);

/*
 * Makes a trace of what the spool holds, in a new folder @ret_folder (PATH_MAX bytes; remove it
 * with gt_spool_forget), and tells its path in @ret_trace, empty when nothing was in it. A
 * negative errno with one phrase in @ret_why: -EBADMSG when the spool can never be read, any other
 * when it may be another time.
 */
int gt_spool_replay(const struct gt_left_spool *spool, char *ret_folder, char *ret_trace,
		    char *ret_why, size_t size);

/* Removes the folder and what is in it. */
void gt_spool_forget(const char *folder);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Gets out of a spool what its trace is missing. The library that belongs to this command reads it
 * (pipeline/replay.h), in a process of its own that may write nothing but the new trace
 * (recover/confine.h). One thread, one spool at a time.
 */
#ifndef GT_RECOVER_REPLAY_H
#define GT_RECOVER_REPLAY_H

#include <stdbool.h>
#include <stddef.h>

struct gt_left_spool;

/*
 * Makes a trace of what the spool holds, in a new folder @ret_folder (PATH_MAX bytes; remove it
 * with gt_replay_forget, also after a failure), and gives its path in @ret_trace, empty when
 * nothing was in it. @is_closed: of what came while its trace, which is closed, was being closed. A
 * negative errno with one phrase in @ret_why: nothing was changed, and it may work another time.
 * -ESTALE: another build of the library wrote the spool.
 */
int gt_replay_spool(const struct gt_left_spool *spool, bool is_closed, char *ret_folder,
		    char *ret_trace, char *ret_why, size_t size);

/* Removes the folder and what is in it. */
void gt_replay_forget(const char *folder);

#endif

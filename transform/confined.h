/* SPDX-License-Identifier: Apache-2.0
 *
 * Work on files that may be damaged, or made to do harm, in a child process: with a limit of memory
 * and processor time, and a deadline, after which it is killed. It tells what it found through a
 * pipe. One thread.
 */
#ifndef GT_TRANSFORM_CONFINED_H
#define GT_TRANSFORM_CONFINED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A child at work. */
struct gt_confined {
	pid_t pid;
	int from;         /* the reading end of the pipe */
	int64_t deadline; /* ns of CLOCK_MONOTONIC */
	bool is_late;
};

/* Starts a child that calls @work with the writing end of the pipe, and exits. @seconds: of time,
 * from now on, and of processor time. 0 or a negative errno. */
int gt_confined_start(struct gt_confined *ret_child, unsigned int seconds,
		      void (*work)(int to, void *data), void *data);

/* Reads @size bytes from the pipe. False: the child has ended before, or was killed at the deadline
 * (is_late). */
bool gt_confined_read(struct gt_confined *child, void *buffer, size_t size);

/* Ends a child that is still there. Whether it had ended by itself, with exit status 0. */
bool gt_confined_end(struct gt_confined *child);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * A trial load of the library in a child process: a library that cannot be loaded must not end the
 * user's program. Main thread.
 */
#ifndef GT_CLI_RUN_LOAD_H
#define GT_CLI_RUN_LOAD_H

#include <stdbool.h>
#include <stddef.h>

/* The path of this program for exec; valid also after its file was replaced. */
const char *gt_own_program(void);

/* The word behind "run" that makes this program gt_load_child(). */
#define GT_LOAD_CHILD "--is-loaded"

/* Starts this program again with the library @path preloaded. False: @ret_why has the reason. */
bool gt_load_try(const char *path, char *ret_why, size_t size);

/* Main function of the child: exit status 0 if the tracer is loaded in it. */
int gt_load_child(void);

#endif

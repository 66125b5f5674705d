/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages between the processes of an MPI job. What goes wrong in MPI ends all of them, as MPI
 * does by default. main only.
 */
#ifndef GT_CLI_REDUCE_LINK_H
#define GT_CLI_REDUCE_LINK_H

#include <stdbool.h>
#include <stddef.h>

/* Joins the job that the launcher has started. False: this build has no MPI. */
bool gt_link_start(void);
/* Leaves it; of no effect before gt_link_start. */
void gt_link_end(void);

/* The number of this process, from 0, and of all. */
size_t gt_link_rank(void);
size_t gt_link_size(void);

/* Sends @size bytes to process @to; waits until they are on the way. */
void gt_link_send(size_t to, const void *bytes, size_t size);

/* Waits for the next bytes of process @from: to be freed. Without memory for them all processes
 * end, after a line: the rest would be taken for the next message. */
void *gt_link_receive(size_t from, size_t *ret_size);

/* Ends all processes, after a line: this one has no memory, and the others would wait for it. */
__attribute__((noreturn)) void gt_link_abort(void);

#endif

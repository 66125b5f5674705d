/* SPDX-License-Identifier: Apache-2.0
 *
 * A process that does nothing but to be in our process group: a signal that it got too was sent to
 * the whole group and has reached the program already, any other was meant for us and is passed on.
 * Nothing else tells the two apart. It also looks after us while we are stopped: a stopped process
 * notices nothing. Main thread; all signals are blocked.
 */
#ifndef GT_CLI_RUN_WITNESS_H
#define GT_CLI_RUN_WITNESS_H

#include <stdbool.h>
#include <sys/types.h>

/* The second child of the wrapper. */
struct gt_witness {
	pid_t pid; /* 0: there is none */
	int fd;
};

/* Starts it, behind the program @program: the kernel signals the youngest of a group first. Without
 * one (no process, no socket) nothing has been seen. It ends with us. */
void gt_witness_start(struct gt_witness *witness, pid_t program);

/* Whether the group got signal @number; forgets that it did. */
bool gt_witness_saw(struct gt_witness *witness, int number);

/* Before we stop because the program was stopped: once the program goes on, or has ended, and we
 * stand still, the witness sends us SIGCONT. Until the next question. */
void gt_witness_watch(const struct gt_witness *witness);

/* Ends the child and collects it. */
void gt_witness_end(struct gt_witness *witness);

#endif

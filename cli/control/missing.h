/* SPDX-License-Identifier: Apache-2.0
 *
 * Which process is missing in the collective that others wait in, from the summaries behind the
 * reports of gputrace hang (core/control/hang_summary.h). One thread.
 */
#ifndef GT_CLI_CONTROL_MISSING_H
#define GT_CLI_CONTROL_MISSING_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "readers/vec.h"

#define GT_MISSING_NAME 40

/* How far a process is in a communicator. */
struct gt_missing_member {
	uint64_t communicator;
	uint32_t pid;
	int32_t rank;                  /* of the job; -1: none */
	unsigned int members, number;  /* of the communicator; 0: not known */
	unsigned long last, last_ms;   /* called */
	unsigned long waits, waits_ms; /* in flight; 0: none */
	unsigned long idle_ms;         /* of the process */
	char last_name[GT_MISSING_NAME], waits_name[GT_MISSING_NAME];
};

/* Of all processes. */
struct gt_missing {
	GT_VEC(struct gt_missing_member) all;
};

/* Takes the lines of one process; what is not of their form is left out. -ENOMEM. Pure. */
int gt_missing_take(struct gt_missing *missing, uint32_t pid, int32_t rank, const char *lines);
void gt_missing_fini(struct gt_missing *missing);

/* Prints each collective that is waited for: who waits, who has not come. True: there is one. */
bool gt_missing_print(struct gt_missing *missing, bool as_json, FILE *out);

#endif

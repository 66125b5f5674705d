/* SPDX-License-Identifier: Apache-2.0
 *
 * Communicators whose handle NCCL writes only later: at the end of the group they are made in, or
 * when the communicator that they are made from, which does not block, is ready again. Until then
 * the program must keep the place where NCCL writes it, and only then it is read. Any thread; no
 * lock, no allocation; a system call for each such handle.
 */
#ifndef GT_PRELOAD_LIBRARIES_UNMADE_H
#define GT_PRELOAD_LIBRARIES_UNMADE_H

#include <stdint.h>

#include "preload/libraries/nccl_abi.h"

/* At one time, in all threads. Others get no id. */
#define NCCL_UNMADE 64u

/* One of them. */
struct nccl_unmade {
	const nccl_comm *place;
	nccl_comm parent; /* NULL: none */
	uint64_t id;
	int ranks, rank; /* 0, -1: not known */
};

/* @thread: in whose group it is made; NULL: in none. */
void nccl_unmade_add(const struct nccl_unmade *unmade, const void *thread);

/* The group of @thread has ended with @result. */
void nccl_unmade_group_ended(const void *thread, int result);

/* The program has learned that @parent is in @state, ncclResult_t. */
void nccl_unmade_parent_is(nccl_comm parent, int state);

#endif

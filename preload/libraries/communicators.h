/* SPDX-License-Identifier: Apache-2.0
 *
 * The communicators of this process: an id that all members work out alike, and how many
 * collectives each has had. Any thread; no lock, no allocation, no system call.
 */
#ifndef GT_PRELOAD_LIBRARIES_COMMUNICATORS_H
#define GT_PRELOAD_LIBRARIES_COMMUNICATORS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/libraries/nccl_abi.h"

/* One of them. The numbers are 0 where they are not known. */
struct nccl_communicator {
	_Atomic(nccl_comm) handle;
	_Atomic uint64_t id;
	_Atomic uint64_t sequence; /* collectives so far */
	_Atomic uint64_t splits;
	_Atomic uint32_t ranks;
	_Atomic uint32_t rank, device; /* plus 1 */
	_Atomic uint32_t asked;        /* NCCL has been asked for what the calls do not tell */
	_Atomic uint64_t shrunk;       /* a bit for each list of excluded ranks that it had */
};

/* Those that live at the same time; of more nothing is known. */
#define NCCL_COMMUNICATORS 4096u

/* @id as the calls tell it; @ranks 0, @rank -1: not known. */
void nccl_communicator_add(nccl_comm handle, uint64_t id, int ranks, int rank);

/* It is about to go: its handle may be given to another one. */
void nccl_communicator_remove(nccl_comm handle);

/* NULL: no room. One that was never added is added, with what NCCL says of it: only in a call of
 * the program that uses it, on its thread. While it is being made nothing is asked. */
struct nccl_communicator *nccl_communicator_find(nccl_comm handle);

/* NULL: it is not known. NCCL is not asked: it may be ended by another thread than uses it. */
struct nccl_communicator *nccl_communicator_known(nccl_comm handle);

/* Pairs of a communicator and a direction to or from a rank; of more nothing is known. */
#define NCCL_MESSAGES 8192u

/* How many messages there have been to or from @peer: the nth that one rank sends to another is the
 * nth that the other receives from it. NULL: no room, or members have no id in common. */
_Atomic uint32_t *nccl_messages(const struct nccl_communicator *communicator, int peer, bool sends);

/* An id of what all members have in common. */
uint64_t nccl_id_of_bytes(const void *data, size_t length);
uint64_t nccl_id_of_split(uint64_t parent, uint64_t number, int color);
/* In any order, as NCCL sorts them. 0: the parent had such a list before. */
uint64_t nccl_id_of_shrink(struct nccl_communicator *parent, const int *excluded, int count);

#endif

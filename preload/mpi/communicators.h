/* SPDX-License-Identifier: Apache-2.0
 *
 * The communicators of this process: an id that all members work out alike, without a word to each
 * other, and how many collectives each has had. Any thread; no lock, no allocation, no system call.
 */
#ifndef GT_PRELOAD_MPI_COMMUNICATORS_H
#define GT_PRELOAD_MPI_COMMUNICATORS_H

#include <stdatomic.h>
#include <stdint.h>

#include "preload/mpi/abi.h"

/* One of them. The numbers are 0 where they are not known. */
struct mpi_communicator {
	_Atomic uintptr_t handle; /* mpi_key() */
	_Atomic uint64_t id;
	_Atomic uint64_t sequence; /* collectives so far */
	_Atomic uint32_t ranks;
	_Atomic uint32_t rank; /* plus 1 */
};

/* Those that live at the same time; of more nothing is known. */
#define MPI_COMMUNICATORS 4096u

/* @handle was made from @parent by a call that all its members have made. */
void mpi_communicator_made(uintptr_t parent, uintptr_t handle);

/* It is about to go: its handle may be given to another one. */
void mpi_communicator_remove(uintptr_t handle);

/* NULL: no room, or none. One that was never made is added, with what MPI says of it. */
struct mpi_communicator *mpi_communicator_find(mpi_handle handle);

#endif

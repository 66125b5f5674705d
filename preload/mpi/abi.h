/* SPDX-License-Identifier: Apache-2.0
 *
 * MPI's own functions, and what differs between the two ABIs: handles are pointers in Open MPI, and
 * ints in MPICH and those that follow its ABI. Any thread; what the first call of a function
 * costs is said in behind.h.
 */
#ifndef GT_PRELOAD_MPI_ABI_H
#define GT_PRELOAD_MPI_ABI_H

#include <stdbool.h>
#include <stdint.h>

#include "core/mpi/mpi_call.h"

/* A handle as the program passes it; the upper half of an int is anything: see mpi_key(). */
typedef uintptr_t mpi_handle;

#define MPI_SUCCESS_   0
#define MPI_ERR_OTHER_ 16

/* Whose handles and constants the program has. */
enum mpi_abi {
	MPI_ABI_UNKNOWN, /* calls pass, and none is recorded */
	MPI_ABI_OPEN_MPI,
	MPI_ABI_MPICH,
};

/* Also called, besides the functions that are interposed: all of them are local to the process. */
enum mpi_helper {
	MPI_HELP_TYPE_SIZE,
	MPI_HELP_COMM_RANK,
	MPI_HELP_COMM_SIZE,
	MPI_HELP_COMM_GROUP,
	MPI_HELP_COMM_TEST_INTER,
	MPI_HELP_GROUP_SIZE,
	MPI_HELP_GROUP_FREE,
	MPI_HELP_TRANSLATE_RANKS,
	MPI_HELPER_COUNT_
};

/* The next MPI_ function in the order of the program, or PMPI_ function (@is_profiling), for the
 * module of @caller. NULL: there is none. errno is kept. */
void *mpi_real_of(enum gt_mpi_function function, bool is_profiling, const void *caller);

/* In a function that takes the place of one of MPI. */
#define mpi_real(function, is_profiling)                                                           \
	mpi_real_of(function, is_profiling, __builtin_return_address(0))

/* Of the library that this thread went on to last. */
void *mpi_helper(enum mpi_helper helper);

/* Looked for once. */
enum mpi_abi mpi_abi(void);

/* What tells a handle from others. */
uintptr_t mpi_key(mpi_handle handle);

/* The handle that @variable points to, as a call returns one; 0: no pointer. */
uintptr_t mpi_stored(const void *variable);

/* Handles that are no objects: nothing may be asked of them. */
bool mpi_is_null_comm(uintptr_t key);
bool mpi_is_null_type(uintptr_t key);

/* MPI_COMM_WORLD. */
mpi_handle mpi_world(void);

/* Is it that? */
bool mpi_is_world(uintptr_t key);

/* MPI_IN_PLACE. */
bool mpi_is_in_place(const void *buffer);

/* MPI_PROC_NULL as a source: MPI_ANY_SOURCE is not it, of which the number differs, too. */
bool mpi_is_no_source(int source);

/* MPI_SOURCE of a status that a call has filled in, plus 1; 0: the program did not want it. */
uint32_t mpi_source_of(const void *status);

/* Bytes of an element; 0: not known. */
uint64_t mpi_size_of(mpi_handle type);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions of MPI that libgputrace-mpi.so (preload/mpi) interposes, by number and by name.
 * Pure functions, any thread.
 */
#ifndef GT_CORE_MPI_MPI_CALL_H
#define GT_CORE_MPI_MPI_CALL_H

#include <stdbool.h>
#include <stddef.h>

/* Those of core/mpi/mpi.def. */
enum gt_mpi_function {
	GT_MPI_NONE,
#define GT_MPI(name, class, when, parameters, arguments, ...) GT_MPI_##name,
#include "core/mpi/mpi.def"
	GT_MPI_FUNCTION_COUNT_
};

/* What a call moves, and between whom. */
enum gt_mpi_class {
	GT_MPI_CLASS_SEND,
	GT_MPI_CLASS_RECV,
	GT_MPI_CLASS_SENDRECV,
	GT_MPI_CLASS_PROBE,
	GT_MPI_CLASS_POLL, /* asks whether something is there, and returns */
	GT_MPI_CLASS_WAIT,
	GT_MPI_CLASS_PUT,
	GT_MPI_CLASS_GET,
	GT_MPI_CLASS_READ,
	GT_MPI_CLASS_WRITE,
	GT_MPI_CLASS_MAKE,       /* a communicator */
	GT_MPI_CLASS_MAKE_LATER, /* the same: it is there when a request is complete */
	GT_MPI_CLASS_FREE,
	GT_MPI_CLASS_OTHER,
	GT_MPI_CLASS_BARRIER, /* from here on: numbered among their communicator's collectives */
	GT_MPI_CLASS_BCAST,
	GT_MPI_CLASS_GATHER,
	GT_MPI_CLASS_GATHERV,
	GT_MPI_CLASS_SCATTER,
	GT_MPI_CLASS_SCATTERV,
	GT_MPI_CLASS_ALLGATHER,
	GT_MPI_CLASS_ALLGATHERV,
	GT_MPI_CLASS_ALLTOALL,
	GT_MPI_CLASS_ALLTOALLV,
	GT_MPI_CLASS_COLLECTIVE, /* whose bytes are not told */
	GT_MPI_CLASS_REDUCE,
	GT_MPI_CLASS_COMBINE, /* all-reduce, scan */
	GT_MPI_CLASS_REDUCE_SCATTER,
	GT_MPI_CLASS_REDUCE_SCATTER_BLOCK,
	GT_MPI_CLASS_COUNT_
};

/* "MPI_Send"; NULL: none. */
const char *gt_mpi_name(unsigned int function);

/* The function of that name; GT_MPI_NONE: none. */
enum gt_mpi_function gt_mpi_find(const char *name, size_t length);

/* GT_MPI_CLASS_OTHER if there is no such function. */
enum gt_mpi_class gt_mpi_class_of(unsigned int function);

/* It returns when what it is for is done, without a request. */
bool gt_mpi_is_now(unsigned int function);

/* It has a number among the collectives of its communicator. */
static inline bool gt_mpi_is_collective(enum gt_mpi_class class)
{
	return class >= GT_MPI_CLASS_BARRIER;
}

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Around each interposed call: what the tracer learns. Application threads, several at a time; no
 * lock, no allocation, no system call once the function and the communicator are known. Nothing of
 * ours is ever sent.
 */
#ifndef GT_PRELOAD_MPI_ENTER_H
#define GT_PRELOAD_MPI_ENTER_H

#include <stdbool.h>
#include <stddef.h>

#include "core/schema/library_call.h"
#include "core/schema/library_sink.h"
#include "preload/mpi/communicators.h"

/* Elements, or those of each member, and their type. */
struct mpi_message {
	int64_t count;
	const int *counts; /* instead of count */
	mpi_handle type;
};

/* A call as the program makes it: scripts/mpi-table writes the initializers. */
struct mpi_operation {
	enum gt_mpi_function function;
	const void *buffer; /* the first one: may be MPI_IN_PLACE */
	struct mpi_message given, gotten;
	int peer, source; /* plus 1; what is not above 0 is none, or any */
	int tag;
	bool has_tag;
	const int *flag;    /* of a poll: above 0, it has found something */
	const void *status; /* that will tell whom it has received from */
	mpi_handle comm;    /* 0: none */
	const void *made;   /* where the handle of a new communicator will be */
	const void *freed;  /* where that of one that goes is */
};

/* A call between its begin and its end; on the stack of its wrapper. */
struct mpi_entry {
	const struct gt_library_sink *sink; /* NULL: nobody has been told */
	struct mpi_communicator *counted;   /* whose sequence it will raise, or NULL */
	uint64_t began;                     /* of a poll: CLOCK_MONOTONIC ns; 0: none */
	uintptr_t parent;                   /* of the communicator that it makes */
	bool is_outermost;                  /* MPI calls some of its functions itself */
};

/* Before MPI is called; the end must follow. */
void mpi_begin(struct mpi_entry *entry, const struct mpi_operation *operation);

/* @result: what MPI returned. */
void mpi_end(struct mpi_entry *entry, const struct mpi_operation *operation, int result);

/* The program calls a function that its MPI does not have. */
int mpi_refuse(enum gt_mpi_function function);

/* Sets the bytes that this process gives and gets; ranks, rank and peer of @call are set. */
void mpi_count(const struct mpi_operation *operation, struct gt_library_call *call);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * How many bytes a call gives and gets, by its class. What only the root gives or gets is not
 * looked at elsewhere: the standard lets it be anything there.
 */
#include "preload/mpi/enter.h"

/* How often the message of one side counts. */
enum times {
	NO,
	ONE,
	ALL,       /* for each member */
	SUM,       /* counts of all members, or as ALL */
	OWN,       /* the count of this member */
	AT_ROOT,   /* ONE, there alone */
	ELSEWHERE, /* ONE, but not there */
	ROOT_ALL,
	ROOT_SUM,
};

static const struct {
	unsigned char given, gotten;
} moves[GT_MPI_CLASS_COUNT_] = {
	[GT_MPI_CLASS_SEND] = {ONE, NO},
	[GT_MPI_CLASS_RECV] = {NO, ONE},
	[GT_MPI_CLASS_SENDRECV] = {ONE, ONE},
	[GT_MPI_CLASS_PUT] = {ONE, NO},
	[GT_MPI_CLASS_GET] = {NO, ONE},
	[GT_MPI_CLASS_READ] = {NO, ONE},
	[GT_MPI_CLASS_WRITE] = {ONE, NO},
	[GT_MPI_CLASS_BCAST] = {AT_ROOT, ELSEWHERE},
	[GT_MPI_CLASS_GATHER] = {ONE, ROOT_ALL},
	[GT_MPI_CLASS_GATHERV] = {ONE, ROOT_SUM},
	[GT_MPI_CLASS_SCATTER] = {ROOT_ALL, ONE},
	[GT_MPI_CLASS_SCATTERV] = {ROOT_SUM, ONE},
	[GT_MPI_CLASS_ALLGATHER] = {ONE, ALL},
	[GT_MPI_CLASS_ALLGATHERV] = {ONE, SUM},
	[GT_MPI_CLASS_ALLTOALL] = {ALL, ALL},
	[GT_MPI_CLASS_ALLTOALLV] = {SUM, SUM},
	[GT_MPI_CLASS_REDUCE] = {ONE, AT_ROOT},
	[GT_MPI_CLASS_COMBINE] = {ONE, ONE},
	[GT_MPI_CLASS_REDUCE_SCATTER] = {SUM, OWN},
	[GT_MPI_CLASS_REDUCE_SCATTER_BLOCK] = {ALL, ONE},
};

static uint64_t sum_of(const struct mpi_message *message, uint32_t ranks)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; message->counts && i < ranks; i++)
		sum += message->counts[i] > 0 ? (uint64_t)message->counts[i] : 0;
	return sum;
}

/* Does the message count at all in this process? */
static bool is_here(enum times times, bool is_root)
{
	if (times == ELSEWHERE)
		return !is_root;
	return is_root || (times != AT_ROOT && times != ROOT_ALL && times != ROOT_SUM);
}

static uint64_t elements_of(const struct mpi_message *message, enum times times,
			    const struct gt_library_call *call)
{
	uint64_t one = message->count > 0 ? (uint64_t)message->count : 0;

	switch (times) {
	case ALL:
	case ROOT_ALL:
		return one * call->ranks;
	case SUM:
	case ROOT_SUM:
		return sum_of(message, call->ranks);
	case OWN:
		return message->counts && call->rank && message->counts[call->rank - 1] > 0
			       ? (uint64_t)message->counts[call->rank - 1]
			       : 0;
	default:
		return one;
	}
}

static uint64_t bytes_of(const struct mpi_message *message, enum times times,
			 const struct gt_library_call *call, bool is_root)
{
	uint64_t elements, bytes;

	if (times == NO || !is_here(times, is_root))
		return 0;
	elements = elements_of(message, times, call);
	if (!elements || __builtin_mul_overflow(elements, mpi_size_of(message->type), &bytes))
		return 0;
	return bytes;
}

/* What is given lies where it is gotten: the other message describes it. */
static enum times in_place(enum times gotten)
{
	if (gotten == SUM || gotten == ROOT_SUM)
		return OWN;
	return gotten == ALL || gotten == ROOT_ALL ? ONE : gotten;
}

static bool is_all_to_all(enum gt_mpi_class class)
{
	return class == GT_MPI_CLASS_ALLTOALL || class == GT_MPI_CLASS_ALLTOALLV;
}

/* A message to MPI_PROC_NULL is none, and so is one from there. What has no peer at all, as a file,
 * has nothing to do with it; a matched receive has no tag and no source. */
static void leave_out_nobody(const struct mpi_operation *operation, enum gt_mpi_class class,
			     struct gt_library_call *call)
{
	bool is_message = class == GT_MPI_CLASS_SEND || class == GT_MPI_CLASS_SENDRECV;
	bool is_put = class == GT_MPI_CLASS_PUT, is_get = class == GT_MPI_CLASS_GET;
	bool takes = class == GT_MPI_CLASS_RECV || class == GT_MPI_CLASS_SENDRECV;

	if ((is_message || is_put) && operation->peer <= 0)
		call->in = 0;
	if ((is_get && operation->peer <= 0) ||
	    (takes && operation->has_tag && mpi_is_no_source(operation->source - 1)))
		call->out = 0;
}

void mpi_count(const struct mpi_operation *operation, struct gt_library_call *call)
{
	enum gt_mpi_class class = gt_mpi_class_of(operation->function);
	enum times given = moves[class].given, gotten = moves[class].gotten;
	const struct mpi_message *from = &operation->given;
	bool is_root = call->peer && call->peer == call->rank;

	/* between two groups the root is named otherwise in each: nothing is claimed */
	if (gt_mpi_is_collective(class) && !call->ranks)
		return;
	call->out = bytes_of(&operation->gotten, gotten, call, is_root);
	if (given != NO && mpi_is_in_place(operation->buffer) && is_all_to_all(class)) {
		call->in = call->out;
		return;
	}
	if (mpi_is_in_place(operation->buffer) &&
	    (class == GT_MPI_CLASS_GATHER || class == GT_MPI_CLASS_GATHERV ||
	     class == GT_MPI_CLASS_ALLGATHER || class == GT_MPI_CLASS_ALLGATHERV)) {
		from = &operation->gotten;
		given = in_place(gotten);
	}
	call->in = bytes_of(from, given, call, is_root);
	leave_out_nobody(operation, class, call);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "pipeline/ranges/collectives.h"

/* That of the communicator; else a free place, or that of the one used longest ago. */
static struct gt_range_collective *find(struct gt_range_collectives *all, uint64_t communicator)
{
	struct gt_range_collective *best = &all->of[0];

	for (uint32_t i = 0; i < GT_RANGE_COLLECTIVES; i++) {
		struct gt_range_collective *one = &all->of[i];

		if (one->call.communicator == communicator)
			return one;
		if (best->call.communicator &&
		    (!one->call.communicator || one->start < best->start))
			best = one;
	}
	return best;
}

static bool ends_communicator(const struct gt_library_call *call)
{
	if (call->is_mpi)
		return gt_mpi_class_of(call->function) == GT_MPI_CLASS_FREE;
	return call->function == GT_NCCL_FINALIZE || call->function == GT_NCCL_DESTROY ||
	       call->function == GT_NCCL_ABORT;
}

void gt_range_collectives_call(struct gt_range_collectives *all, const struct gt_library_call *call,
			       uint64_t start)
{
	struct gt_range_collective *one;

	if (call->is_math || !call->communicator)
		return;
	one = find(all, call->communicator);
	if (ends_communicator(call)) {
		if (one->call.communicator == call->communicator)
			*one = (struct gt_range_collective){0};
	} else if (call->sequence && (one->call.communicator != call->communicator ||
				      call->sequence >= one->call.sequence)) {
		*one = (struct gt_range_collective){*call, start, true};
	}
}

void gt_range_collectives_end(struct gt_range_collectives *all, const struct gt_library_call *call)
{
	struct gt_range_collective *one;

	if (!gt_library_is_collective(call))
		return;
	one = find(all, call->communicator);
	if (one->call.communicator == call->communicator && one->call.sequence == call->sequence)
		one->is_inside = false;
}

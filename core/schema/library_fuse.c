/* SPDX-License-Identifier: Apache-2.0
 *
 * What the operations of one launch have in common, see library_call.h.
 */
#include "core/schema/library_call.h"

#define KEEP_COMMON(member, nothing)                                                               \
	one->member = one->member == other->member ? one->member : (nothing)

static void keep_common(struct gt_library_call *one, const struct gt_library_call *other)
{
	KEEP_COMMON(communicator, 0);
	KEEP_COMMON(rank, 0);
	KEEP_COMMON(ranks, 0);
	KEEP_COMMON(device, 0);
	KEEP_COMMON(function, GT_NCCL_NONE);
	KEEP_COMMON(dtype, 0);
	KEEP_COMMON(reduction, 0);
	KEEP_COMMON(peer, 0);
	KEEP_COMMON(algorithm, 0);
	KEEP_COMMON(protocol, 0);
	KEEP_COMMON(channels, 0);
	one->in = one->out = 0;
}

/* Of a peer the first message counts: those behind it follow in both. */
static void fuse_peer(uint32_t *peer, uint32_t *number, uint32_t other, uint32_t other_number)
{
	if (!*peer) {
		*peer = other;
		*number = other_number;
	} else if (other && *peer != other) {
		*peer = GT_LIBRARY_SEVERAL;
		*number = 0;
	}
}

/* The sequence is that of the first one: the others follow it in all members. */
void gt_library_fuse(struct gt_library_call *call, const struct gt_library_call *other)
{
	uint32_t operations = call->operations + other->operations;

	if (call->is_math || other->is_math)
		return;
	if (!call->operations)
		*call = *other;
	else
		keep_common(call, other);
	if (call->operations && !call->is_mpi) {
		fuse_peer(&call->to, &call->to_number, other->to, other->to_number);
		fuse_peer(&call->from, &call->from_number, other->from, other->from_number);
	}
	if (!call->communicator)
		call->sequence = call->to_number = call->from_number = 0;
	call->operations = operations;
}

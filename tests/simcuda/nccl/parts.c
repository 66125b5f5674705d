/* SPDX-License-Identifier: Apache-2.0
 *
 * Communicators that are made from others. As in NCCL, the handle of a part is NULL until it is
 * whole: at the end of the group, or when the program asks, if the parent does not block.
 */
#include "nccl/sim_nccl.h"

#include <stdio.h>
#include <string.h>

/* How many of the others have this color and come before this rank, or all of it. */
static int count_in(const struct sim_part *part, bool before)
{
	const struct sim_split *all = part->all;
	int count = 0, rank = part->parent->rank;

	for (int i = 0; i < part->parent->ranks; i++) {
		bool first =
			all[i].key < all[rank].key || (all[i].key == all[rank].key && i < rank);

		count += all[i].color == all[rank].color && (!before || first);
	}
	return count;
}

static bool all_asked(struct sim_part *part)
{
	for (int i = 0; part->all && i < part->parent->ranks; i++)
		if (!atomic_load(&part->all[i].ready))
			return false;
	return true;
}

static ncclResult_t attach(struct sim_part *part)
{
	ncclResult_t result;

	if (part->all) {
		part->ranks = count_in(part, false);
		part->rank = count_in(part, true);
	}
	result = sim_comm_attach(&part->made, part->name, part->ranks, part->rank, -1);
	if (!result)
		part->made->blocks = part->blocks;
	return result;
}

ncclResult_t sim_part_go_on(struct sim_part *part, bool waits)
{
	ncclComm_t *place = part->place;
	unsigned int times = 0;
	ncclResult_t result;

	while (!all_asked(part)) {
		if (!waits)
			return ncclInProgress;
		sim_nccl_nap(&times);
	}
	result = part->made ? ncclSuccess : attach(part);
	if (!result && !waits && !sim_comm_is_whole(part->made))
		return ncclInProgress;
	if (!result)
		result = sim_comm_wait_all(part->made);
	part->place = NULL;
	if (!result)
		*place = part->made;
	return result;
}

static ncclResult_t start(struct sim_part *part)
{
	*part->place = NULL;
	if (sim_group_defers_part(part))
		return ncclSuccess;
	if (part->parent->blocks)
		return sim_part_go_on(part, true);
	part->parent->part = *part;
	return ncclInProgress;
}

static ncclResult_t split(ncclComm_t comm, int color, int key, ncclComm_t *place,
			  const ncclConfig_t *config)
{
	struct sim_part part = {.parent = comm, .place = place};
	uint64_t number;

	if (!comm || !place || color < NCCL_SPLIT_NOCOLOR || comm->splits == SIM_SPLITS ||
	    sim_comm_ensure_ready(comm))
		return ncclInvalidArgument;
	number = comm->splits++;
	part.all = comm->shared->splits[number];
	part.all[comm->rank].color = color;
	part.all[comm->rank].key = key;
	part.blocks = sim_comm_blocks(config, comm->blocks);
	snprintf(part.name, sizeof(part.name), "%s.%llu.%d", comm->name, (unsigned long long)number,
		 color);
	atomic_store(&part.all[comm->rank].ready, 1);
	if (color != NCCL_SPLIT_NOCOLOR)
		return start(&part);
	*place = NULL;
	return ncclSuccess;
}

SIM_NCCL_EXPORT ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *place,
					   ncclConfig_t *config)
{
	ncclResult_t result;

	sim_nvtx_begin_call("ncclCommSplit");
	result = sim_group_result(split(comm, color, key, place, config));
	sim_nvtx_end_split(result ? NULL : *place, comm, color, key);
	return result;
}

static ncclResult_t shrink(ncclComm_t comm, const int *excluded, int count, ncclComm_t *place,
			   const ncclConfig_t *config)
{
	struct sim_part part = {.parent = comm, .place = place};
	unsigned long long gone = 0;

	if (!comm || !place || !excluded || count < 1 || sim_comm_ensure_ready(comm))
		return ncclInvalidArgument;
	part.rank = comm->rank;
	part.ranks = comm->ranks - count;
	part.blocks = sim_comm_blocks(config, comm->blocks);
	for (int i = 0; i < count; i++) {
		if (excluded[i] == comm->rank)
			return ncclInvalidArgument;
		part.rank -= excluded[i] < comm->rank;
		gone |= 1ull << (excluded[i] & 63);
	}
	snprintf(part.name, sizeof(part.name), "%s.without.%llx", comm->name, gone);
	return start(&part);
}

SIM_NCCL_EXPORT ncclResult_t ncclCommShrink(ncclComm_t comm, int *excluded, int count,
					    ncclComm_t *place, ncclConfig_t *config, int flags)
{
	ncclResult_t result;

	(void)flags;
	sim_nvtx_begin_call("ncclCommShrink");
	result = sim_group_result(shrink(comm, excluded, count, place, config));
	sim_nvtx_end();
	return result;
}

/* One of the members calls it, and gives it to those who come; the others find it in its memory. */
SIM_NCCL_EXPORT ncclResult_t ncclCommGetUniqueId(ncclComm_t comm, ncclUniqueId *id)
{
	ncclResult_t result = comm ? ncclGetUniqueId(id) : ncclInvalidArgument;

	if (result)
		return result;
	memcpy(comm->shared->grown, id->internal, sizeof(comm->shared->grown));
	atomic_fetch_add(&comm->shared->grows, 1);
	return ncclSuccess;
}

static ncclResult_t grow(ncclComm_t comm, int ranks, const ncclUniqueId *id, int rank,
			 ncclComm_t *whole, const ncclConfig_t *config)
{
	unsigned int times = 0;

	if (!whole || (comm ? rank != -1 || ranks <= comm->ranks : rank < 0 || !id) ||
	    (comm && sim_comm_ensure_ready(comm)))
		return ncclInvalidArgument;
	while (comm && !atomic_load(&comm->shared->grows))
		sim_nccl_nap(&times);
	return sim_comm_join(whole, comm ? comm->shared->grown : id->internal, ranks,
			     comm ? comm->rank : rank,
			     sim_comm_blocks(config, comm ? comm->blocks : true));
}

SIM_NCCL_EXPORT ncclResult_t ncclCommGrow(ncclComm_t comm, int ranks, const ncclUniqueId *id,
					  int rank, ncclComm_t *whole, ncclConfig_t *config)
{
	ncclResult_t result;

	sim_nvtx_begin_call("ncclCommGrow");
	result = sim_group_result(grow(comm, ranks, id, rank, whole, config));
	sim_nvtx_end();
	return result;
}

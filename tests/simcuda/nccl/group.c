/* SPDX-License-Identifier: Apache-2.0
 *
 * Groups: what a thread asks for between ncclGroupStart and ncclGroupEnd is launched at the end, a
 * kernel for each communicator. SIMNCCL_GROUP_END=RESULT: the end of each group fails with that.
 */
#include "nccl/sim_nccl.h"

#include <stdlib.h>
#include <string.h>

#define MOST       1024
#define MOST_PARTS 64

static __thread struct {
	int depth;
	ncclResult_t result;
	struct sim_operation *operations;
	size_t count;
	ncclComm_t made[MOST]; /* their members are waited for */
	size_t made_count;
	struct sim_part *parts;
	size_t part_count;
} group;

bool sim_group_defers(ncclComm_t comm)
{
	if (!group.depth || group.made_count == MOST)
		return false;
	group.made[group.made_count++] = comm;
	return true;
}

bool sim_group_defers_part(const struct sim_part *part)
{
	if (!group.depth)
		return false;
	if (!group.parts)
		group.parts = malloc(MOST_PARTS * sizeof(*group.parts));
	if (!group.parts || group.part_count == MOST_PARTS)
		abort();
	group.parts[group.part_count++] = *part;
	return true;
}

ncclResult_t sim_group_result(ncclResult_t result)
{
	if (group.depth && result && result != ncclInProgress && !group.result)
		group.result = result;
	return result;
}

static ncclResult_t check(const struct sim_operation *op)
{
	if (!op->comm || (unsigned int)op->type >= ncclNumTypes || op->peer >= op->comm->ranks ||
	    op->peer < -1 || op->reduction >= ncclNumOps || op->reduction < -1)
		return ncclInvalidArgument;
	return sim_comm_ensure_ready(op->comm);
}

static ncclResult_t put(const struct sim_operation *op)
{
	if (!group.operations)
		group.operations = malloc(MOST * sizeof(*group.operations));
	if (!group.operations || group.count == MOST)
		return ncclSystemError;
	group.operations[group.count++] = *op;
	return ncclSuccess;
}

ncclResult_t sim_group_take(const struct sim_operation *op)
{
	ncclResult_t result = check(op);

	if (!result)
		result = group.depth ? put(op) : sim_nccl_launch(op, 1);
	return sim_group_result(result);
}

SIM_NCCL_EXPORT ncclResult_t ncclGroupStart(void)
{
	sim_nvtx_begin_call("ncclGroupStart");
	group.depth++;
	sim_nvtx_end();
	return ncclSuccess;
}

/* Launches those of the first one's communicator and keeps the others. */
static ncclResult_t launch_first(void)
{
	struct sim_operation *own = malloc(group.count * sizeof(*own));
	ncclComm_t comm = group.operations[0].comm;
	size_t count = 0, kept = 0;
	ncclResult_t result;

	if (!own)
		return ncclSystemError;
	for (size_t i = 0; i < group.count; i++) {
		struct sim_operation *op = &group.operations[i];

		if (op->comm == comm)
			own[count++] = *op;
		else
			group.operations[kept++] = *op;
	}
	group.count = kept;
	result = sim_nccl_launch(own, count);
	free(own);
	return result;
}

/* What does not block goes on behind the end of the group. */
static ncclResult_t end_made(void)
{
	ncclResult_t result = ncclSuccess;
	bool goes_on = false;

	for (size_t i = 0; i < group.made_count; i++)
		group.made[i]->is_deferred = false;
	for (size_t i = 0; !result && i < group.made_count; i++) {
		goes_on |= !group.made[i]->blocks;
		result = group.made[i]->blocks ? sim_comm_wait_all(group.made[i]) : ncclSuccess;
	}
	for (size_t i = 0; !result && i < group.part_count; i++) {
		ncclComm_t parent = group.parts[i].parent;

		goes_on |= !parent->blocks;
		if (parent->blocks)
			result = sim_part_go_on(&group.parts[i], true);
		else
			parent->part = group.parts[i];
	}
	return !result && goes_on ? ncclInProgress : result;
}

static ncclResult_t end_group(bool launches)
{
	const char *fault = getenv("SIMNCCL_GROUP_END");
	ncclResult_t result = group.result;

	group.result = ncclSuccess;
	if (!result && fault)
		result = (ncclResult_t)atoi(fault);
	if (!result)
		result = end_made();
	while (!result && launches && group.count)
		result = launch_first();
	group.count = group.made_count = group.part_count = 0;
	free(group.operations);
	free(group.parts);
	group.operations = NULL;
	group.parts = NULL;
	return result;
}

static ncclResult_t end(const char *function, bool launches)
{
	ncclResult_t result = ncclSuccess;

	sim_nvtx_begin_call(function);
	if (!group.depth)
		result = ncclInvalidUsage;
	else if (!--group.depth)
		result = end_group(launches);
	sim_nvtx_end();
	return result;
}

SIM_NCCL_EXPORT ncclResult_t ncclGroupEnd(void)
{
	return end("ncclGroupEnd", true);
}

SIM_NCCL_EXPORT ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t *info)
{
	(void)info;
	return end("ncclGroupSimulateEnd", false);
}

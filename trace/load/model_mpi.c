/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "trace/load/model_mpi.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static int64_t bytes_of(uint64_t bytes)
{
	return bytes <= (uint64_t)GT_BUILD_LARGEST_COPY ? (int64_t)bytes : 0;
}

/* All members come to it, and none leaves it without having done its part: a meeting. */
static bool is_meeting(const struct gt_library_call *call)
{
	return gt_library_is_collective(call) && call->ranks > 1 && !call->result &&
	       gt_mpi_is_now(call->function);
}

/* A sum of what a file may claim stays at its highest. */
static void add(uint64_t *sum, uint64_t value)
{
	if (__builtin_add_overflow(*sum, value, sum))
		*sum = UINT64_MAX;
}

void gt_build_network(struct gt_model *model, const struct gt_library_call *library)
{
	struct gt_model_network *network = &model->network;

	if (!library->is_network)
		return;
	network->operations++;
	add(&network->transfers, library->operations);
	add(&network->sent, library->in);
	add(&network->received, library->out);
	for (size_t i = 0; i < GT_NCCL_WAIT_COUNT_; i++)
		add(&network->wait[i], library->wait[i]);
}

int gt_build_mpi_call(struct gt_model *model, const struct gt_model_mpi_call *call,
		      const struct gt_library_call *library, bool unfinished)
{
	struct gt_model_mpi_call taken = *call;
	char group[24];

	if (!library->is_mpi || unfinished || call->dur < 0)
		return 0;
	taken.function = library->function;
	taken.sent = bytes_of(library->in);
	taken.received = bytes_of(library->out);
	taken.communicator = library->communicator;
	taken.rank = library->rank;
	taken.peer = library->peer;
	taken.source = library->source;
	taken.has_failed = library->result != 0;
	if (is_meeting(library)) {
		taken.sequence = library->sequence;
		snprintf(group, sizeof(group), "0x%016" PRIx64, library->communicator);
		taken.comm = gt_build_group_of(model, group, "", library->ranks);
	}
	return gt_vec_push(&model->mpi_calls, taken) ? 0 : -ENOMEM;
}

static int by_start(const void *a, const void *b)
{
	const struct gt_model_mpi_call *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->sequence > y->sequence) - (x->sequence < y->sequence);
}

void gt_build_mpi_calls(struct gt_model *model)
{
	if (model->mpi_calls.count)
		qsort(model->mpi_calls.at, model->mpi_calls.count, sizeof(*model->mpi_calls.at),
		      by_start);
}

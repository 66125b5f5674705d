/* SPDX-License-Identifier: Apache-2.0
 *
 * Where NCCL's communicators come from and go: each gets an id that its members work out alike,
 * from what they all give or know.
 */
#include <time.h>
#include <unistd.h>

#include "core/schema/library_call.h"
#include "preload/libraries/communicators.h"
#include "preload/libraries/enter.h"
#include "preload/libraries/nccl_real.h"

#define EXPORTED __attribute__((visibility("default")))

static bool was_made(int result)
{
	return result == NCCL_SUCCESS || result == NCCL_IN_PROGRESS;
}

/* Between ncclGroupStart and its end older versions fill the handle in later: then it is met
 * without an id. */
static void made(int result, nccl_comm before, const nccl_comm *comm, uint64_t id, int ranks,
		 int rank)
{
	if (was_made(result) && comm && *comm != before)
		nccl_communicator_add(*comm, id, ranks, rank);
}

static nccl_comm handle_in(const nccl_comm *comm)
{
	return comm ? *comm : NULL;
}

EXPORTED int ncclGetUniqueId(struct nccl_unique_id *id);
EXPORTED int ncclCommInitRank(nccl_comm *comm, int ranks, struct nccl_unique_id id, int rank);
EXPORTED int ncclCommInitRankConfig(nccl_comm *comm, int ranks, struct nccl_unique_id id, int rank,
				    void *config);
EXPORTED int ncclCommInitRankScalable(nccl_comm *comm, int ranks, int rank, int count,
				      struct nccl_unique_id *ids, void *config);
EXPORTED int ncclCommInitAll(nccl_comm *comms, int count, const int *devices);
EXPORTED int ncclCommSplit(nccl_comm comm, int color, int key, nccl_comm *part, void *config);
EXPORTED int ncclCommFinalize(nccl_comm comm);
EXPORTED int ncclCommDestroy(nccl_comm comm);
EXPORTED int ncclCommAbort(nccl_comm comm);

int ncclGetUniqueId(struct nccl_unique_id *id)
{
	int (*real)(struct nccl_unique_id *) =
		(int (*)(struct nccl_unique_id *))nccl_real(GT_NCCL_GET_UNIQUE_ID);
	struct library_entry entry;
	int result;

	if (!real)
		return NCCL_INVALID_USAGE;
	library_begin_other(&entry, GT_NCCL_GET_UNIQUE_ID, NULL);
	result = real(id);
	library_end(&entry, result);
	return result;
}

int ncclCommInitRank(nccl_comm *comm, int ranks, struct nccl_unique_id id, int rank)
{
	int (*real)(nccl_comm *, int, struct nccl_unique_id, int) =
		(int (*)(nccl_comm *, int, struct nccl_unique_id, int))nccl_real(GT_NCCL_INIT_RANK);
	nccl_comm before = handle_in(comm);
	struct library_entry entry;
	int result;

	if (!real)
		return NCCL_INVALID_USAGE;
	library_begin_other(&entry, GT_NCCL_INIT_RANK, NULL);
	result = real(comm, ranks, id, rank);
	library_end(&entry, result);
	made(result, before, comm, nccl_id_of_bytes(&id, sizeof(id)), ranks, rank);
	return result;
}

int ncclCommInitRankConfig(nccl_comm *comm, int ranks, struct nccl_unique_id id, int rank,
			   void *config)
{
	int (*real)(nccl_comm *, int, struct nccl_unique_id, int, void *) =
		(int (*)(nccl_comm *, int, struct nccl_unique_id, int, void *))nccl_real(
			GT_NCCL_INIT_RANK_CONFIG);
	nccl_comm before = handle_in(comm);
	struct library_entry entry;
	int result;

	if (!real)
		return NCCL_INVALID_USAGE;
	library_begin_other(&entry, GT_NCCL_INIT_RANK_CONFIG, NULL);
	result = real(comm, ranks, id, rank, config);
	library_end(&entry, result);
	made(result, before, comm, nccl_id_of_bytes(&id, sizeof(id)), ranks, rank);
	return result;
}

int ncclCommInitRankScalable(nccl_comm *comm, int ranks, int rank, int count,
			     struct nccl_unique_id *ids, void *config)
{
	int (*real)(nccl_comm *, int, int, int, struct nccl_unique_id *, void *) =
		(int (*)(nccl_comm *, int, int, int, struct nccl_unique_id *, void *))nccl_real(
			GT_NCCL_INIT_RANK_SCALABLE);
	nccl_comm before = handle_in(comm);
	struct library_entry entry;
	int result;

	if (!real)
		return NCCL_INVALID_USAGE;
	library_begin_other(&entry, GT_NCCL_INIT_RANK_SCALABLE, NULL);
	result = real(comm, ranks, rank, count, ids, config);
	library_end(&entry, result);
	if (was_made(result) && ids && count > 0)
		made(result, before, comm, nccl_id_of_bytes(ids, (size_t)count * sizeof(*ids)),
		     ranks, rank);
	return result;
}

/* All members are in this process. */
static uint64_t id_of_process(void)
{
	static _Atomic uint64_t number;
	struct timespec now;
	uint64_t words[4] = {(uint64_t)getpid(), atomic_fetch_add(&number, 1)};

	clock_gettime(CLOCK_REALTIME, &now);
	words[2] = (uint64_t)now.tv_sec;
	words[3] = (uint64_t)now.tv_nsec;
	return nccl_id_of_bytes(words, sizeof(words));
}

int ncclCommInitAll(nccl_comm *comms, int count, const int *devices)
{
	int (*real)(nccl_comm *, int, const int *) =
		(int (*)(nccl_comm *, int, const int *))nccl_real(GT_NCCL_INIT_ALL);
	uint64_t id = id_of_process();
	struct library_entry entry;
	int result;

	if (!real)
		return NCCL_INVALID_USAGE;
	library_begin_other(&entry, GT_NCCL_INIT_ALL, NULL);
	result = real(comms, count, devices);
	library_end(&entry, result);
	for (int i = 0; was_made(result) && comms && i < count; i++)
		nccl_communicator_add(comms[i], id, count, i);
	return result;
}

int ncclCommSplit(nccl_comm comm, int color, int key, nccl_comm *part, void *config)
{
	int (*real)(nccl_comm, int, int, nccl_comm *, void *) =
		(int (*)(nccl_comm, int, int, nccl_comm *, void *))nccl_real(GT_NCCL_SPLIT);
	nccl_comm before = handle_in(part);
	struct nccl_communicator *parent;
	struct library_entry entry;
	uint64_t number;
	int result;

	if (!real)
		return NCCL_INVALID_USAGE;
	parent = nccl_communicator_find(comm);
	library_begin_other(&entry, GT_NCCL_SPLIT, comm);
	result = real(comm, color, key, part, config);
	library_end(&entry, result);
	if (!parent || !was_made(result))
		return result;
	number = atomic_fetch_add(&parent->splits, 1);
	made(result, before, part, nccl_id_of_split(atomic_load(&parent->id), number, color), 0,
	     -1);
	return result;
}

/* Defines a function of one communicator; @leaves: its handle is free afterwards. */
#define WRAP(name, id, leaves)                                                                     \
	int name(nccl_comm comm)                                                                   \
	{                                                                                          \
		int (*real)(nccl_comm) = (int (*)(nccl_comm))nccl_real(GT_NCCL_##id);              \
		struct library_entry entry;                                                        \
		int result;                                                                        \
                                                                                                   \
		if (!real)                                                                         \
			return NCCL_INVALID_USAGE;                                                 \
		library_begin_other(&entry, GT_NCCL_##id, comm);                                   \
		if (leaves)                                                                        \
			nccl_communicator_remove(comm);                                            \
		result = real(comm);                                                               \
		library_end(&entry, result);                                                       \
		return result;                                                                     \
	}

WRAP(ncclCommFinalize, FINALIZE, false)
WRAP(ncclCommDestroy, DESTROY, true)
WRAP(ncclCommAbort, ABORT, true)

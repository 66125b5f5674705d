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
#include "preload/libraries/unmade.h"

#define EXPORTED __attribute__((visibility("default")))

static bool was_made(int result)
{
	return result == NCCL_SUCCESS || result == NCCL_IN_PROGRESS;
}

/* In a group, or without blocking, the handle of a part is written later, and before 2.14 any. The
 * memory of one that has gone may be given to the next, in the same variable. */
static bool is_written(int result, nccl_comm before, nccl_comm handle, bool is_part)
{
	if (handle != before)
		return true;
	if (library_in_group())
		return false;
	return result == NCCL_SUCCESS || (!is_part && !nccl_communicator_known(handle));
}

static void made(int result, nccl_comm before, const struct nccl_unmade *one)
{
	nccl_comm handle = was_made(result) && one->place ? *one->place : NULL;
	bool in_group = library_in_group();

	if (handle && is_written(result, before, handle, one->parent != NULL))
		nccl_communicator_add(handle, one->id, one->ranks, one->rank);
	else if (was_made(result) && one->place && (in_group || one->parent))
		nccl_unmade_add(one, in_group ? library_thread() : NULL);
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
EXPORTED int ncclCommShrink(nccl_comm comm, int *excluded, int count, nccl_comm *rest, void *config,
			    int flags);
EXPORTED int ncclCommGrow(nccl_comm comm, int ranks, const struct nccl_unique_id *id, int rank,
			  nccl_comm *whole, void *config);
EXPORTED int ncclCommGetAsyncError(nccl_comm comm, int *state);
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
	made(result, before,
	     &(struct nccl_unmade){comm, NULL, nccl_id_of_bytes(&id, sizeof(id)), ranks, rank});
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
	made(result, before,
	     &(struct nccl_unmade){comm, NULL, nccl_id_of_bytes(&id, sizeof(id)), ranks, rank});
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
		made(result, before,
		     &(struct nccl_unmade){comm, NULL,
					   nccl_id_of_bytes(ids, (size_t)count * sizeof(*ids)),
					   ranks, rank});
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
	uint64_t id, number;
	int result;

	if (!real)
		return NCCL_INVALID_USAGE;
	parent = nccl_communicator_find(comm);
	library_begin_other(&entry, GT_NCCL_SPLIT, comm);
	result = real(comm, color, key, part, config);
	library_end(&entry, result);
	if (!parent || !was_made(result))
		return result;
	id = atomic_load(&parent->id);
	number = atomic_fetch_add(&parent->splits, 1);
	if (color != NCCL_SPLIT_NOCOLOR)
		made(result, before,
		     &(struct nccl_unmade){part, comm, nccl_id_of_split(id, number, color), 0, -1});
	return result;
}

int ncclCommShrink(nccl_comm comm, int *excluded, int count, nccl_comm *rest, void *config,
		   int flags)
{
	int (*real)(nccl_comm, int *, int, nccl_comm *, void *, int) =
		(int (*)(nccl_comm, int *, int, nccl_comm *, void *, int))nccl_real(GT_NCCL_SHRINK);
	nccl_comm before = handle_in(rest);
	struct nccl_communicator *parent;
	struct library_entry entry;
	int result;

	if (!real)
		return NCCL_INVALID_USAGE;
	parent = nccl_communicator_known(comm); /* after an error of it NCCL is not asked */
	library_begin_end(&entry, GT_NCCL_SHRINK, comm);
	result = real(comm, excluded, count, rest, config, flags);
	library_end(&entry, result);
	if (parent && was_made(result))
		made(result, before,
		     &(struct nccl_unmade){rest, comm, nccl_id_of_shrink(parent, excluded, count),
					   0, -1});
	return result;
}

/* No id: those who were there have no number in common with those who come. */
int ncclCommGrow(nccl_comm comm, int ranks, const struct nccl_unique_id *id, int rank,
		 nccl_comm *whole, void *config)
{
	int (*real)(nccl_comm, int, const struct nccl_unique_id *, int, nccl_comm *, void *) =
		(int (*)(nccl_comm, int, const struct nccl_unique_id *, int, nccl_comm *,
			 void *))nccl_real(GT_NCCL_GROW);
	nccl_comm before = handle_in(whole);
	struct nccl_communicator *parent;
	struct library_entry entry;
	int result;

	if (!real)
		return NCCL_INVALID_USAGE;
	parent = comm ? nccl_communicator_find(comm) : NULL;
	library_begin_other(&entry, GT_NCCL_GROW, comm);
	result = real(comm, ranks, id, rank, whole, config);
	library_end(&entry, result);
	if (parent) /* they keep their rank */
		rank = (int)atomic_load(&parent->rank) - 1;
	made(result, before, &(struct nccl_unmade){whole, comm, 0, rank < 0 ? 0 : ranks, rank});
	return result;
}

/* Not recorded: programs call it in a loop. */
int ncclCommGetAsyncError(nccl_comm comm, int *state)
{
	int (*real)(nccl_comm, int *) =
		(int (*)(nccl_comm, int *))nccl_real(GT_NCCL_GET_ASYNC_ERROR);
	int result;

	if (!real)
		return NCCL_INVALID_USAGE;
	result = real(comm, state);
	if (result == NCCL_SUCCESS && state)
		nccl_unmade_parent_is(comm, *state);
	return result;
}

static void leave(nccl_comm comm)
{
	nccl_communicator_remove(comm);
	nccl_unmade_parent_is(comm, NCCL_INVALID_USAGE);
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
		library_begin_end(&entry, GT_NCCL_##id, comm);                                     \
		if (leaves)                                                                        \
			leave(comm);                                                               \
		result = real(comm);                                                               \
		library_end(&entry, result);                                                       \
		return result;                                                                     \
	}

WRAP(ncclCommFinalize, FINALIZE, false)
WRAP(ncclCommDestroy, DESTROY, true)
WRAP(ncclCommAbort, ABORT, true)

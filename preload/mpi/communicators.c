/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. An id is made of the parent's, of the members by their ranks in MPI_COMM_WORLD,
 * and of its number among the communicators of these: each member has taken part in all of them.
 * A table with open addressing; a handle that is gone leaves a hole that others may take.
 */
#include "preload/mpi/communicators.h"

#define HOLE       ((uintptr_t)1)
#define FNV_OFFSET 0xcbf29ce484222325u
#define FNV_PRIME  0x100000001b3u
#define SCATTER    0x9e3779b97f4a7c15u
#define WORLD_ID   0x6d70695f776f726cu /* the same in all jobs, whose traces tell the job */
#define AT_ONCE    256                 /* ranks that are translated at once */

typedef int (*ask_fn)(mpi_handle of, int *value);

static struct mpi_communicator table[MPI_COMMUNICATORS];

/* How many communicators of the same members and parent there have been. */
static struct {
	_Atomic uint64_t base; /* 0: free */
	_Atomic uint64_t count;
} repeats[MPI_COMMUNICATORS];

static uint64_t mix(uint64_t value)
{
	value = (value ^ value >> 32) * SCATTER;
	return value ^ value >> 29;
}

static uint64_t join(uint64_t hash, uint64_t word)
{
	hash = (hash ^ mix(word + 1)) * FNV_PRIME;
	return mix(hash);
}

/* ---- the table ---- */

/* NULL: it is not there. */
static struct mpi_communicator *look_up(uintptr_t handle)
{
	for (size_t i = 0, at = mix(handle); i < MPI_COMMUNICATORS; i++) {
		struct mpi_communicator *c = &table[(at + i) % MPI_COMMUNICATORS];
		uintptr_t there = atomic_load_explicit(&c->handle, memory_order_acquire);

		if (there == handle)
			return c;
		if (!there)
			return NULL;
	}
	return NULL;
}

static struct mpi_communicator *take_slot(uintptr_t handle)
{
	for (size_t i = 0, at = mix(handle); i < MPI_COMMUNICATORS; i++) {
		struct mpi_communicator *c = &table[(at + i) % MPI_COMMUNICATORS];
		uintptr_t there = atomic_load_explicit(&c->handle, memory_order_relaxed);

		if ((!there || there == HOLE) &&
		    atomic_compare_exchange_strong(&c->handle, &there, handle))
			return c;
	}
	return NULL;
}

/* ---- what MPI says, without asking another process ---- */

/* -1: it does not say. */
static int ask(enum mpi_helper helper, mpi_handle of)
{
	ask_fn function = (ask_fn)mpi_helper(helper);
	int value = -1;

	return function && function(of, &value) == MPI_SUCCESS_ ? value : -1;
}

static bool get_group(mpi_handle comm, mpi_handle *ret_group)
{
	int (*function)(mpi_handle, mpi_handle *) =
		(int (*)(mpi_handle, mpi_handle *))mpi_helper(MPI_HELP_COMM_GROUP);

	*ret_group = 0;
	return function && function(comm, ret_group) == MPI_SUCCESS_;
}

static void free_group(mpi_handle *group)
{
	int (*function)(mpi_handle *) = (int (*)(mpi_handle *))mpi_helper(MPI_HELP_GROUP_FREE);

	if (function)
		function(group);
}

/* Of the members' ranks in MPI_COMM_WORLD; 0: they are not all in it. */
static uint64_t hash_members(mpi_handle group, mpi_handle world)
{
	int (*translate)(mpi_handle, int, const int *, mpi_handle, int *) =
		(int (*)(mpi_handle, int, const int *, mpi_handle, int *))mpi_helper(
			MPI_HELP_TRANSLATE_RANKS);
	int size = ask(MPI_HELP_GROUP_SIZE, group), from[AT_ONCE], to[AT_ONCE];
	uint64_t hash = FNV_OFFSET;

	for (int first = 0; translate && first < size; first += AT_ONCE) {
		int count = size - first < AT_ONCE ? size - first : AT_ONCE;

		for (int i = 0; i < count; i++)
			from[i] = first + i;
		if (translate(group, count, from, world, to) != MPI_SUCCESS_)
			return 0;
		for (int i = 0; i < count; i++) {
			if (to[i] < 0)
				return 0;
			hash = join(hash, (uint64_t)to[i]);
		}
	}
	return translate && size > 0 ? hash : 0;
}

static uint64_t members_of(mpi_handle comm)
{
	mpi_handle group, world;
	uint64_t hash;

	if (!get_group(comm, &group))
		return 0;
	if (!get_group(mpi_world(), &world)) {
		free_group(&group);
		return 0;
	}
	hash = hash_members(group, world);
	free_group(&world);
	free_group(&group);
	return hash;
}

/* From 1. 0: no room. */
static uint64_t count_of(uint64_t base)
{
	for (size_t i = 0; i < MPI_COMMUNICATORS; i++) {
		size_t at = (base + i) % MPI_COMMUNICATORS;
		uint64_t there = 0;

		if (atomic_compare_exchange_strong(&repeats[at].base, &there, base) ||
		    there == base)
			return atomic_fetch_add(&repeats[at].count, 1) + 1;
	}
	return 0;
}

static uint64_t id_of(uint64_t parent, mpi_handle comm)
{
	uint64_t members = members_of(comm), base, count;

	if (!members)
		return 0;
	base = join(members, parent);
	base = base ? base : 1;
	count = count_of(base);
	return count ? join(base, count) : 0;
}

/* ---- */

/* Of one with two groups nobody numbers the collectives: they are no rounds of all members. */
static struct mpi_communicator *add(uintptr_t handle, uint64_t id)
{
	struct mpi_communicator *c = look_up(handle);
	bool is_inter = ask(MPI_HELP_COMM_TEST_INTER, handle) != 0;
	int ranks = is_inter ? 0 : ask(MPI_HELP_COMM_SIZE, handle);

	c = c ? c : take_slot(handle);
	if (!c)
		return NULL;
	atomic_store(&c->sequence, 0);
	atomic_store(&c->ranks, ranks > 0 ? (uint32_t)ranks : 0);
	atomic_store(&c->rank, (uint32_t)(ask(MPI_HELP_COMM_RANK, handle) + 1));
	atomic_store(&c->id, is_inter ? 0 : id);
	return c;
}

void mpi_communicator_made(uintptr_t parent, uintptr_t handle)
{
	struct mpi_communicator *from = mpi_communicator_find(parent);

	if (mpi_is_null_comm(handle) || handle == HOLE)
		return;
	add(handle, id_of(from ? atomic_load(&from->id) : 0, handle));
}

void mpi_communicator_remove(uintptr_t handle)
{
	struct mpi_communicator *c =
		mpi_is_null_comm(handle) || handle == HOLE ? NULL : look_up(handle);

	if (c)
		atomic_store(&c->handle, HOLE);
}

struct mpi_communicator *mpi_communicator_find(mpi_handle handle)
{
	uintptr_t key = mpi_key(handle);
	struct mpi_communicator *c;

	if (mpi_is_null_comm(key) || key == HOLE)
		return NULL;
	c = look_up(key);
	if (__builtin_expect(!c, 0))
		c = add(key, mpi_is_world(key) ? WORLD_ID : 0);
	return c;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. A table with open addressing; a handle that is gone leaves a hole that others may
 * take.
 */
#include "preload/libraries/communicators.h"

#include "preload/libraries/nccl_real.h"

#define HOLE       ((nccl_comm)1)
#define FNV_OFFSET 0xcbf29ce484222325u
#define FNV_PRIME  0x100000001b3u
#define SCATTER    0x9e3779b97f4a7c15u

typedef int (*ask_fn)(nccl_comm comm, int *value);

static struct nccl_communicator table[NCCL_COMMUNICATORS];

static uint64_t mix(uint64_t value)
{
	value = (value ^ value >> 32) * SCATTER;
	return value ^ value >> 29;
}

uint64_t nccl_id_of_bytes(const void *data, size_t length)
{
	const unsigned char *bytes = data;
	uint64_t hash = FNV_OFFSET;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ bytes[i]) * FNV_PRIME;
	hash = mix(hash);
	return hash ? hash : 1;
}

uint64_t nccl_id_of_split(uint64_t parent, uint64_t number, int color)
{
	const uint64_t words[] = {parent, number, (uint64_t)(int64_t)color};

	return parent ? nccl_id_of_bytes(words, sizeof(words)) : 0;
}

static size_t place_of(nccl_comm handle)
{
	return (size_t)(mix((uintptr_t)handle) % NCCL_COMMUNICATORS);
}

/* NULL: it is not there. */
static struct nccl_communicator *look_up(nccl_comm handle)
{
	for (size_t i = 0, at = place_of(handle); i < NCCL_COMMUNICATORS; i++) {
		struct nccl_communicator *c = &table[(at + i) % NCCL_COMMUNICATORS];
		nccl_comm there = atomic_load_explicit(&c->handle, memory_order_acquire);

		if (there == handle)
			return c;
		if (!there)
			return NULL;
	}
	return NULL;
}

/* Only the thread that makes a communicator, or meets it first, adds it. */
static struct nccl_communicator *take_slot(nccl_comm handle)
{
	for (size_t i = 0, at = place_of(handle); i < NCCL_COMMUNICATORS; i++) {
		struct nccl_communicator *c = &table[(at + i) % NCCL_COMMUNICATORS];
		nccl_comm there = atomic_load_explicit(&c->handle, memory_order_relaxed);

		if ((!there || there == HOLE) &&
		    atomic_compare_exchange_strong(&c->handle, &there, handle))
			return c;
	}
	return NULL;
}

static struct nccl_communicator *add(nccl_comm handle, uint64_t id, int ranks, int rank)
{
	struct nccl_communicator *c = look_up(handle);

	c = c ? c : take_slot(handle);
	if (!c)
		return NULL;
	atomic_store(&c->id, id);
	atomic_store(&c->sequence, 0);
	atomic_store(&c->splits, 0);
	atomic_store(&c->ranks, ranks > 0 ? (uint32_t)ranks : 0);
	atomic_store(&c->rank, (uint32_t)(rank + 1));
	atomic_store(&c->device, 0);
	atomic_store(&c->asked, 0);
	return c;
}

void nccl_communicator_add(nccl_comm handle, uint64_t id, int ranks, int rank)
{
	if (handle && handle != HOLE)
		add(handle, id, ranks, rank);
}

void nccl_communicator_remove(nccl_comm handle)
{
	struct nccl_communicator *c = handle && handle != HOLE ? look_up(handle) : NULL;

	if (c)
		atomic_store(&c->handle, HOLE);
}

/* -1: NCCL does not say, as while a communicator that does not block is being made. */
static int ask(enum nccl_helper helper, nccl_comm handle)
{
	ask_fn function = (ask_fn)nccl_helper(helper);
	int value = -1;

	return function && function(handle, &value) == NCCL_SUCCESS ? value : -1;
}

/* Once, by whoever meets it first. */
static void ask_nccl(struct nccl_communicator *c, nccl_comm handle)
{
	int ranks, rank;

	if (atomic_exchange(&c->asked, 1))
		return;
	atomic_store(&c->device, (uint32_t)(ask(NCCL_COMM_CU_DEVICE, handle) + 1));
	if (atomic_load(&c->ranks))
		return;
	ranks = ask(NCCL_COMM_COUNT, handle);
	rank = ask(NCCL_COMM_USER_RANK, handle);
	atomic_store(&c->ranks, ranks > 0 ? (uint32_t)ranks : 0);
	atomic_store(&c->rank, (uint32_t)(rank + 1));
}

struct nccl_communicator *nccl_communicator_find(nccl_comm handle)
{
	struct nccl_communicator *c;

	if (!handle || handle == HOLE)
		return NULL;
	c = look_up(handle);
	if (__builtin_expect(!c, 0))
		c = add(handle, 0, 0, -1);
	if (c && __builtin_expect(!atomic_load_explicit(&c->asked, memory_order_relaxed), 0))
		ask_nccl(c, handle);
	return c;
}

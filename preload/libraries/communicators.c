/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. A table with open addressing; a handle that is gone leaves a hole that others may
 * take.
 */
#include "preload/libraries/communicators.h"

#include "preload/libraries/nccl_real.h"

#define HOLE       ((nccl_comm)1)
#define NEAR       32u /* places that a pair may have */
#define FNV_OFFSET 0xcbf29ce484222325u
#define FNV_PRIME  0x100000001b3u
#define SCATTER    0x9e3779b97f4a7c15u
#define SHRINKS    0x736872696e6bu /* no color */

typedef int (*ask_fn)(nccl_comm comm, int *value);

static struct nccl_communicator table[NCCL_COMMUNICATORS];

/* Nothing is taken from it: a communicator that is made later has another id. */
static struct {
	_Atomic uint64_t key; /* 0: free */
	_Atomic uint32_t count;
} messages[NCCL_MESSAGES];

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

/* Those who are left out do not count this one, so members do not agree on how many there were. */
uint64_t nccl_id_of_shrink(struct nccl_communicator *parent, const int *excluded, int count)
{
	uint64_t words[] = {atomic_load(&parent->id), atomic_load(&parent->splits), 0, SHRINKS};
	uint64_t bit;

	for (int i = 0; excluded && i < count; i++)
		words[2] += mix((uint64_t)(int64_t)excluded[i] + SCATTER);
	bit = (uint64_t)1 << (mix(words[2]) & 63);
	if (!words[0] || atomic_fetch_or(&parent->shrunk, bit) & bit)
		return 0;
	return nccl_id_of_bytes(words, sizeof(words));
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
	atomic_store(&c->shrunk, 0);
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

struct nccl_communicator *nccl_communicator_known(nccl_comm handle)
{
	return handle && handle != HOLE ? look_up(handle) : NULL;
}

void nccl_communicator_remove(nccl_comm handle)
{
	struct nccl_communicator *c = nccl_communicator_known(handle);

	if (c)
		atomic_store(&c->handle, HOLE);
}

/* -1: NCCL does not say. */
static int ask(enum nccl_helper helper, nccl_comm handle)
{
	ask_fn function = (ask_fn)nccl_helper(helper);
	int value = -1;

	return function && function(handle, &value) == NCCL_SUCCESS ? value : -1;
}

/* Then NCCL takes a question for a mistake of the program, and says so in its log. A version that
 * has no such state has no such function. */
static bool is_in_the_making(nccl_comm handle)
{
	return ask(NCCL_COMM_ASYNC_ERROR, handle) == NCCL_IN_PROGRESS;
}

/* Once, by whoever meets it first. In a group that makes it, it has no members yet. */
static void ask_nccl(struct nccl_communicator *c, nccl_comm handle)
{
	int ranks, rank;

	if (is_in_the_making(handle) || atomic_exchange(&c->asked, 1))
		return;
	ranks = ask(NCCL_COMM_COUNT, handle);
	if (ranks == 0) {
		atomic_store(&c->asked, 0);
		return;
	}
	atomic_store(&c->device, (uint32_t)(ask(NCCL_COMM_CU_DEVICE, handle) + 1));
	if (atomic_load(&c->ranks))
		return;
	rank = ask(NCCL_COMM_USER_RANK, handle);
	atomic_store(&c->rank, (uint32_t)(rank + 1));
	atomic_store(&c->ranks, ranks > 0 ? (uint32_t)ranks : 0);
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

/* Several ranks of one communicator may be in this process. */
static uint64_t key_of(const struct nccl_communicator *c, uint64_t id, int peer, bool sends)
{
	uint64_t key = mix(mix(id + (uintptr_t)c) + (uint64_t)(uint32_t)peer * 2 + sends);

	return key ? key : 1;
}

_Atomic uint32_t *nccl_messages(const struct nccl_communicator *communicator, int peer, bool sends)
{
	uint64_t id =
		communicator ? atomic_load_explicit(&communicator->id, memory_order_relaxed) : 0;
	uint64_t key = key_of(communicator, id, peer, sends);

	for (unsigned int i = 0; id && peer >= 0 && i < NEAR; i++) {
		size_t at = (size_t)(key + i) % NCCL_MESSAGES;
		uint64_t there = atomic_load_explicit(&messages[at].key, memory_order_relaxed);

		if (there == key)
			return &messages[at].count;
		if (!there && atomic_compare_exchange_strong(&messages[at].key, &there, key))
			return &messages[at].count;
		if (there == key)
			return &messages[at].count;
	}
	return NULL;
}

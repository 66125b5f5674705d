/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of registered objects, see the header. Buckets are lists that only grow at their head,
 * by compare-and-swap; an object is complete before it is linked.
 */
#include "collectors/nvtx/registry.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "core/guest/memory.h"
#include "core/hash.h"
#include "core/intern.h"

#define ARENA_BYTES (32u << 20) /* address space; pages are charged and touched at first use */
#define CHARGED     (64u << 10) /* at once */
#define BUCKETS     4096u
#define ALIGNMENT   16u /* unit of the references */

struct registry {
	struct gt_nvtx_object *_Atomic bucket[BUCKETS];
	_Atomic uint64_t refused;
	_Atomic size_t used;
	_Alignas(ALIGNMENT) char arena[];
};

static struct registry *_Atomic registry;

static struct registry *get(void)
{
	return atomic_load_explicit(&registry, memory_order_acquire);
}

int gt_nvtx_registry_start(void)
{
	const size_t size = sizeof(struct registry) + ARENA_BYTES;
	struct registry *expected = NULL;
	struct registry *fresh;

	if (get())
		return 0;
	if (!gt_memory_charge(sizeof(*fresh) + CHARGED))
		return -ENOMEM;
	fresh = gt_memory_reserve(size);
	if (!fresh) {
		gt_memory_uncharge(sizeof(*fresh) + CHARGED);
		return -ENOMEM;
	}
	fresh->used = ALIGNMENT; /* reference 0 is none */
	if (!atomic_compare_exchange_strong(&registry, &expected, fresh)) {
		gt_memory_unreserve(fresh, size); /* another thread was first */
		gt_memory_uncharge(sizeof(*fresh) + CHARGED);
	}
	return 0;
}

/* The first is charged with the table. */
static size_t to_charge(size_t from, size_t to)
{
	return ((to - 1) / CHARGED - (from - 1) / CHARGED) * CHARGED;
}

static bool claims(size_t at, size_t size)
{
	size_t charged;

	if (at + size > ARENA_BYTES)
		return false;
	charged = to_charge(at, at + size);
	return !charged || gt_memory_charge(charged);
}

void *gt_nvtx_registry_room(size_t size)
{
	struct registry *r = get();
	size_t rounded = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
	size_t at;

	if (!r || size > ARENA_BYTES)
		return NULL;
	at = atomic_load_explicit(&r->used, memory_order_relaxed);
	while (claims(at, rounded)) {
		size_t charged = to_charge(at, at + rounded);

		if (atomic_compare_exchange_weak(&r->used, &at, at + rounded))
			return r->arena + at;
		gt_memory_uncharge(charged);
	}
	atomic_fetch_add_explicit(&r->refused, 1, memory_order_relaxed);
	return NULL;
}

static bool is_known_by_text(enum gt_nvtx_kind kind)
{
	return kind == GT_NVTX_DOMAIN || kind == GT_NVTX_STRING;
}

static uint64_t hash_of(const struct gt_nvtx_key *key)
{
	uint64_t parts[3] = {key->kind, key->domain, key->number};

	if (is_known_by_text(key->kind))
		parts[2] = gt_hash_bytes(key->text, key->length);
	return gt_hash_bytes(parts, sizeof(parts));
}

static bool has_key(const struct gt_nvtx_object *object, const struct gt_nvtx_key *key,
		    uint64_t hash)
{
	if (object->hash != hash || object->kind != key->kind || object->domain != key->domain)
		return false;
	if (!is_known_by_text(key->kind))
		return object->number == key->number;
	return object->length == key->length && !memcmp(object->text, key->text, key->length);
}

/* Searches from @object up to, not including, @end. */
static struct gt_nvtx_object *search(struct gt_nvtx_object *object,
				     const struct gt_nvtx_object *end,
				     const struct gt_nvtx_key *key, uint64_t hash)
{
	for (; object != end; object = object->next)
		if (has_key(object, key, hash))
			return object;
	return NULL;
}

static struct gt_nvtx_object *_Atomic *bucket_of(struct registry *r, uint64_t hash)
{
	return &r->bucket[hash % BUCKETS];
}

const struct gt_nvtx_object *gt_nvtx_find(const struct gt_nvtx_key *key)
{
	uint64_t hash = hash_of(key);
	struct registry *r = get();

	if (!r)
		return NULL;
	return search(atomic_load_explicit(bucket_of(r, hash), memory_order_acquire), NULL, key,
		      hash);
}

static struct gt_nvtx_object *make(const struct gt_nvtx_key *key, const void *body, uint64_t hash)
{
	struct gt_nvtx_object *object = gt_nvtx_registry_room(sizeof(*object) + key->length + 1);

	if (!object)
		return NULL;
	object->self = object;
	object->hash = hash;
	object->number = key->number;
	object->body = body;
	object->domain = key->domain;
	object->kind = (uint16_t)key->kind;
	object->length = (uint16_t)key->length;
	memcpy(object->text, key->text, key->length);
	return object;
}

/* @unique: if an equal object was pushed meanwhile, that one is returned. */
static const struct gt_nvtx_object *push(struct registry *r, struct gt_nvtx_object *object,
					 const struct gt_nvtx_key *key, bool unique)
{
	struct gt_nvtx_object *_Atomic *bucket = bucket_of(r, object->hash);
	struct gt_nvtx_object *head = atomic_load_explicit(bucket, memory_order_acquire);
	struct gt_nvtx_object *searched = NULL;

	do {
		struct gt_nvtx_object *equal =
			unique ? search(head, searched, key, object->hash) : NULL;

		if (equal)
			return equal;
		object->next = searched = head;
	} while (!atomic_compare_exchange_weak(bucket, &head, object));
	return object;
}

const struct gt_nvtx_object *gt_nvtx_find_or_add(const struct gt_nvtx_key *key)
{
	const struct gt_nvtx_object *known = gt_nvtx_find(key);
	struct gt_nvtx_object *object;

	if (known)
		return known;
	object = make(key, NULL, hash_of(key));
	return object ? push(get(), object, key, true) : NULL;
}

const struct gt_nvtx_object *gt_nvtx_add(const struct gt_nvtx_key *key, const void *body)
{
	struct gt_nvtx_object *object = make(key, body, hash_of(key));

	return object ? push(get(), object, key, false) : NULL;
}

static bool is_inside(const struct registry *r, const void *pointer)
{
	uintptr_t at = (uintptr_t)pointer, arena = (uintptr_t)r->arena;

	return at >= arena && at - arena <= ARENA_BYTES - sizeof(struct gt_nvtx_object) &&
	       (at - arena) % ALIGNMENT == 0;
}

const struct gt_nvtx_object *gt_nvtx_check(const void *handle, enum gt_nvtx_kind kind)
{
	const struct gt_nvtx_object *object = handle;
	const struct registry *r = get();

	if (!object || !r || !is_inside(r, handle) || object->self != object ||
	    object->kind != kind)
		return NULL;
	return object;
}

uint32_t gt_nvtx_reference(const struct gt_nvtx_object *object)
{
	return object ? (uint32_t)(((uintptr_t)object - (uintptr_t)get()->arena) / ALIGNMENT) : 0;
}

const struct gt_nvtx_object *gt_nvtx_at(uint32_t reference)
{
	struct registry *r = get();
	const struct gt_nvtx_object *object;

	if (!reference || !r || reference >= ARENA_BYTES / ALIGNMENT)
		return NULL;
	object = (const void *)(r->arena + (size_t)reference * ALIGNMENT);
	return is_inside(r, object) && object->self == object ? object : NULL;
}

uint64_t gt_nvtx_registry_refused(void)
{
	struct registry *r = get();

	return r ? atomic_load_explicit(&r->refused, memory_order_relaxed) : 0;
}

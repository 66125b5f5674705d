/* SPDX-License-Identifier: Apache-2.0
 *
 * String interning by open addressing over an arena. Drain thread only.
 */
#include "core/intern.h"

#include <stdbool.h>
#include <string.h>

#include "core/guest/memory.h"
#include "core/hash.h"

#define FIRST_SLOTS 1024u

struct gt_intern {
	struct gt_arena arena;
	struct gt_string **slots; /* power of two, at most half full */
	uint32_t slot_count;
	uint32_t count;
	uint64_t refused;
	const struct gt_string *over_limit;
};

/* Stands for any string when there is no memory at all. */
static const struct {
	struct gt_string head;
	char text[16];
} no_memory = {.head = {.id = 0, .length = 11}, .text = "(no memory)"};

struct gt_intern *gt_intern_new(size_t max_bytes)
{
	struct gt_intern *pool = gt_memory_map(sizeof(*pool));

	if (!pool)
		return NULL;
	gt_arena_init(&pool->arena, max_bytes);
	pool->arena.survives = true;
	pool->slots = gt_memory_map(FIRST_SLOTS * sizeof(*pool->slots));
	if (!pool->slots) {
		gt_memory_unmap(pool, sizeof(*pool));
		return NULL;
	}
	pool->slot_count = FIRST_SLOTS;
	pool->over_limit = gt_intern_cstr(pool, "(strings over the limit)");
	return pool;
}

void gt_intern_free(struct gt_intern *pool)
{
	if (!pool)
		return;
	gt_arena_fini(&pool->arena);
	gt_memory_unmap(pool->slots, pool->slot_count * sizeof(*pool->slots));
	gt_memory_unmap(pool, sizeof(*pool));
}

static struct gt_string **find_slot(struct gt_string **slots, uint32_t slot_count, uint64_t hash,
				    const char *text, size_t length)
{
	uint32_t i = (uint32_t)hash & (slot_count - 1);

	while (slots[i]) {
		const struct gt_string *s = slots[i];

		if (s->hash == hash && s->length == length && !memcmp(s->text, text, length))
			break;
		i = (i + 1) & (slot_count - 1);
	}
	return &slots[i];
}

static bool grow(struct gt_intern *pool)
{
	uint32_t count = pool->slot_count * 2;
	struct gt_string **slots = gt_memory_map(count * sizeof(*slots));

	if (!slots)
		return false;
	for (uint32_t i = 0; i < pool->slot_count; i++) {
		struct gt_string *s = pool->slots[i];

		if (s)
			*find_slot(slots, count, s->hash, s->text, s->length) = s;
	}
	gt_memory_unmap(pool->slots, pool->slot_count * sizeof(*pool->slots));
	pool->slots = slots;
	pool->slot_count = count;
	return true;
}

static const struct gt_string *refuse(struct gt_intern *pool)
{
	pool->refused++;
	return pool->over_limit ? pool->over_limit : &no_memory.head;
}

const struct gt_string *gt_intern_get(struct gt_intern *pool, const char *text, size_t length)
{
	uint64_t hash = gt_hash_bytes(text, length);
	struct gt_string **slot = find_slot(pool->slots, pool->slot_count, hash, text, length);
	struct gt_string *s;

	if (*slot)
		return *slot;
	if (length > UINT32_MAX || (pool->count >= pool->slot_count / 2 && !grow(pool)))
		return refuse(pool);
	s = gt_arena_get(&pool->arena, sizeof(*s) + length + 1);
	if (!s)
		return refuse(pool);
	s->id = ++pool->count;
	s->length = (uint32_t)length;
	s->hash = hash;
	memcpy(s->text, text, length);
	*find_slot(pool->slots, pool->slot_count, hash, text, length) = s;
	return s;
}

const struct gt_string *gt_intern_find(const struct gt_intern *pool, const char *text,
				       size_t length)
{
	return *find_slot(pool->slots, pool->slot_count, gt_hash_bytes(text, length), text, length);
}

const struct gt_string *gt_intern_cstr(struct gt_intern *pool, const char *text)
{
	return gt_intern_get(pool, text, strlen(text));
}

uint64_t gt_intern_refused(const struct gt_intern *pool)
{
	return pool->refused;
}

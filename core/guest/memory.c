/* SPDX-License-Identifier: Apache-2.0
 *
 * mmap-backed memory, see the header. Mappings: any thread; an arena belongs to one thread.
 */
#include "core/guest/memory.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "core/guest/seccomp.h"
#include "core/guest/text.h"

#define ARENA_BLOCK (256u * 1024u)
#define RESERVE     ((size_t)4 << 20) /* a writer with its window takes 3 MiB */

struct gt_arena_block {
	struct gt_arena_block *next;
	size_t size;
};

static struct {
	_Atomic size_t limit, kept, now, peak;
	_Atomic uint64_t refused, failed;
	const char *_Atomic cause; /* of the limit */
} memory;

/* The drain thread's, and its starter's before it. */
static struct {
	void *memory;
	size_t size;
	bool is_wanted;
} space;

static __thread bool uses_kept;
static __thread bool was_refused; /* the last mapping that failed, by the limit */

static _Atomic(const struct gt_memory_survivor *) survivor;

void gt_memory_set_survivor(const struct gt_memory_survivor *source)
{
	atomic_store(&survivor, source);
}

/* Whether it belongs to the source that outlives the process, if there is one. */
static bool survives(const void *mapped)
{
	const struct gt_memory_survivor *source = atomic_load(&survivor);

	return source && source->holds(mapped);
}

static void *map_surviving(size_t size)
{
	const struct gt_memory_survivor *source = atomic_load(&survivor);

	return source ? source->map(size) : gt_memory_map(size);
}

void gt_memory_limit(size_t bytes, const char *cause)
{
	atomic_store(&memory.limit, bytes);
	atomic_store(&memory.cause, cause);
}

const char *gt_memory_limit_cause(void)
{
	const char *cause = atomic_load(&memory.cause);

	return cause ? cause : "--max-rss";
}

void gt_memory_keep_space(void)
{
	space.is_wanted = true;
}

static void give_space(void)
{
	if (space.memory)
		munmap(space.memory, space.size);
	space.memory = NULL;
}

void gt_memory_keep(size_t bytes)
{
	atomic_store(&memory.kept, bytes);
	if (!space.is_wanted)
		return;
	give_space();
	space.size = bytes;
	space.memory = bytes ? gt_memory_reserve_blank(bytes) : NULL;
}

void gt_memory_use_kept(bool uses)
{
	if (uses)
		give_space();
	uses_kept = uses;
}

void gt_memory_why(char *ret_text, size_t size)
{
	const char *cause = gt_memory_limit_cause();

	if (!was_refused)
		gt_text_format(ret_text, size, "the system gives no more, see ulimit -v");
	else if (!strcmp(cause, "--max-rss"))
		gt_text_format(ret_text, size, "%s=%luM", cause,
			       (unsigned long)(atomic_load(&memory.limit) >> 20));
	else
		gt_text_format(ret_text, size, "%s, of which the tracer may take %lu MiB", cause,
			       (unsigned long)(atomic_load(&memory.limit) >> 20));
}

struct gt_memory_counts gt_memory_count(void)
{
	return (struct gt_memory_counts){.now = atomic_load(&memory.now),
					 .peak = atomic_load(&memory.peak),
					 .refused = atomic_load(&memory.refused),
					 .failed = atomic_load(&memory.failed)};
}

bool gt_memory_charge(size_t bytes)
{
	size_t limit = atomic_load(&memory.limit);
	size_t kept = uses_kept ? 0 : atomic_load(&memory.kept);
	size_t now = atomic_fetch_add(&memory.now, bytes) + bytes;
	size_t peak = atomic_load(&memory.peak);

	if (limit && now + kept > limit) {
		atomic_fetch_sub(&memory.now, bytes);
		atomic_fetch_add(&memory.refused, 1);
		was_refused = true;
		return false;
	}
	while (now > peak && !atomic_compare_exchange_weak(&memory.peak, &peak, now))
		continue;
	return true;
}

bool gt_memory_is_ample(size_t bytes)
{
	size_t limit = atomic_load(&memory.limit), kept = atomic_load(&memory.kept);

	return !limit ||
	       atomic_load(&memory.now) + bytes + (kept > RESERVE ? kept : RESERVE) <= limit;
}

void gt_memory_uncharge(size_t bytes)
{
	atomic_fetch_sub(&memory.now, bytes);
}

static void fail(size_t bytes)
{
	gt_memory_uncharge(bytes);
	atomic_fetch_add(&memory.failed, 1);
	was_refused = false;
}

void *gt_memory_reserve(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

void *gt_memory_reserve_blank(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

bool gt_memory_make_writable(void *blank, size_t size)
{
	uintptr_t start = (uintptr_t)blank & ~(uintptr_t)4095;

	return mprotect((void *)start, (uintptr_t)blank + size - start, PROT_READ | PROT_WRITE) ==
	       0;
}

void gt_memory_unreserve(void *reserved, size_t size)
{
	munmap(reserved, size);
}

void *gt_memory_map(size_t size)
{
	void *p;

	if (!gt_memory_charge(size))
		return NULL;
	p = gt_memory_reserve(size);
	if (!p)
		fail(size);
	return p;
}

void gt_memory_unmap(void *mapped, size_t size)
{
	if (!mapped || survives(mapped)) /* surviving memory stays mapped */
		return;
	munmap(mapped, size);
	gt_memory_uncharge(size);
}

static void *remap(void *mapped, size_t old_size, size_t new_size)
{
	void *p = mremap(mapped, old_size, new_size, MREMAP_MAYMOVE);

	return p == MAP_FAILED ? NULL : p;
}

/* ThreadSanitizer does not see mremap: it would take what is mapped where the memory was for it. */
static bool may_remap(void)
{
#ifdef __SANITIZE_THREAD__
	return false;
#else
	return gt_seccomp_permits(GT_SYS_mremap);
#endif
}

static void *move(void *mapped, size_t old_size, size_t new_size)
{
	void *p = gt_memory_reserve(new_size);

	if (p) {
		memcpy(p, mapped, old_size);
		munmap(mapped, old_size);
	}
	return p;
}

void *gt_memory_grow(void *mapped, size_t old_size, size_t new_size)
{
	void *p;

	if (!mapped)
		return gt_memory_map(new_size);
	if (!gt_memory_charge(new_size - old_size))
		return NULL;
	p = may_remap() ? remap(mapped, old_size, new_size) : move(mapped, old_size, new_size);
	if (!p)
		fail(new_size - old_size);
	return p;
}

void gt_arena_init(struct gt_arena *arena, size_t max_bytes)
{
	*arena = (struct gt_arena){.max_bytes = max_bytes};
}

static struct gt_arena_block *add_block(struct gt_arena *arena, size_t need)
{
	size_t size = need + sizeof(struct gt_arena_block);
	struct gt_arena_block *block;

	size = size < ARENA_BLOCK ? ARENA_BLOCK : (size + 4095) & ~(size_t)4095;
	if (arena->max_bytes && arena->total + size > arena->max_bytes)
		return NULL;
	block = arena->survives ? map_surviving(size) : gt_memory_map(size);
	if (!block)
		return NULL;
	block->next = arena->blocks;
	block->size = size;
	arena->blocks = block;
	arena->total += size;
	arena->used = sizeof(*block);
	return block;
}

void *gt_arena_get(struct gt_arena *arena, size_t size)
{
	struct gt_arena_block *block = arena->blocks;
	void *piece;

	size = (size + 7) & ~(size_t)7;
	if (!block || block->size - arena->used < size)
		block = add_block(arena, size);
	if (!block)
		return NULL;
	piece = (char *)block + arena->used;
	arena->used += size;
	return piece;
}

void gt_arena_fini(struct gt_arena *arena)
{
	while (arena->blocks) {
		struct gt_arena_block *next = arena->blocks->next;

		gt_memory_unmap(arena->blocks, arena->blocks->size);
		arena->blocks = next;
	}
	arena->total = arena->used = 0;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * The store of stacks: two maps, from address to frame and from key to stack, over an arena. Drain
 * thread only; memory from mmap, bounded.
 */
#include "core/stack.h"

#include <string.h>

#include "core/elf/libc_path.h"
#include "core/guest/memory.h"
#include "core/hash.h"
#include "core/intern.h"
#include "core/spool_view.h"

#define FIRST_ENTRIES 1024u

struct stack_entry {
	uint64_t key; /* 0: empty */
	const void *value;
};

struct map {
	struct stack_entry *entries;
	uint32_t size; /* power of two, at most half full */
	uint32_t used;
	uint32_t spare_size;
	struct stack_entry *spare; /* previous entries, as the spool cannot free them; NULL: none */
};

struct gt_stacks {
	uint32_t max_frames; /* 0: no limit */
	gt_frame_find_fn find;
	void *context;
	size_t max_bytes;
	struct gt_arena arena;
	struct map frames; /* return address -> struct gt_stack_frame */
	struct map stacks; /* key -> struct gt_stack */
	uint32_t count;
	uint64_t refused;
};

static struct stack_entry *map_slot(const struct map *map, uint64_t key)
{
	uint32_t i = (uint32_t)gt_hash_word(key);

	while (map->entries[i & (map->size - 1)].key != 0 &&
	       map->entries[i & (map->size - 1)].key != key)
		i++;
	return &map->entries[i & (map->size - 1)];
}

static const void *map_find(const struct map *map, uint64_t key)
{
	return map_slot(map, key)->value;
}

/* @size empty entries: the spare ones if the size matches. */
static struct stack_entry *map_places(const struct map *map, uint32_t size)
{
	if (!map->spare || map->spare_size != size)
		return gt_spool_map(size * sizeof(*map->spare));
	memset(map->spare, 0, size * sizeof(*map->spare));
	return map->spare;
}

/* Replaces the map; its old entries become the spare ones. */
static void map_replace(struct map *map, struct map fresh)
{
	if (gt_spool_holds(map->entries)) {
		fresh.spare = map->entries;
		fresh.spare_size = map->size;
	}
	gt_memory_unmap(map->entries, map->size * sizeof(*map->entries));
	*map = fresh;
}

/* Rebuilds the map with room for @size entries, keeping those that @keeps accepts (NULL: all). */
static bool map_rebuild(struct map *map, uint32_t size,
			bool (*keeps)(const struct stack_entry *, const void *),
			const void *context)
{
	struct map fresh = {.size = size};

	fresh.entries = map_places(map, size);
	if (!fresh.entries)
		return false;
	for (uint32_t i = 0; i < map->size; i++) {
		const struct stack_entry *entry = &map->entries[i];

		if (entry->key == 0 || (keeps && !keeps(entry, context)))
			continue;
		*map_slot(&fresh, entry->key) = *entry;
		fresh.used++;
	}
	map_replace(map, fresh);
	return true;
}

static void map_fini(struct map *map)
{
	gt_memory_unmap(map->entries, map->size * sizeof(*map->entries));
}

static size_t bytes_used(const struct gt_stacks *stacks)
{
	return stacks->arena.total +
	       (stacks->frames.size + stacks->stacks.size) * sizeof(struct stack_entry);
}

/* Makes room for one more entry. */
static bool map_reserve(struct gt_stacks *stacks, struct map *map)
{
	size_t more =
		map->size * sizeof(struct stack_entry); /* the doubled map replaces this one */

	if (map->used + 1 <= map->size / 2)
		return true;
	if (bytes_used(stacks) + more > stacks->max_bytes)
		return false;
	return map_rebuild(map, map->size * 2, NULL, NULL);
}

static void map_put(struct map *map, uint64_t key, const void *value)
{
	struct stack_entry *slot = map_slot(map, key);

	map->used += slot->key == 0;
	*slot = (struct stack_entry){.key = key, .value = value};
}

static void *arena_get(struct gt_stacks *stacks, size_t size)
{
	stacks->arena.max_bytes = stacks->max_bytes - (stacks->frames.size + stacks->stacks.size) *
							      sizeof(struct stack_entry);
	return gt_arena_get(&stacks->arena, size);
}

struct gt_stacks *gt_stacks_new(gt_frame_find_fn find, void *context, size_t max_bytes)
{
	size_t least = 2 * FIRST_ENTRIES * sizeof(struct stack_entry);
	struct gt_stacks *stacks = gt_spool_map(sizeof(*stacks));

	if (!stacks)
		return NULL;
	stacks->find = find;
	stacks->context = context;
	stacks->max_bytes = max_bytes > least ? max_bytes : least + 1;
	gt_arena_init(&stacks->arena, stacks->max_bytes);
	stacks->arena.survives = true;
	gt_spool_set_root(GT_SPOOL_STACKS, stacks);
	if (!map_rebuild(&stacks->frames, FIRST_ENTRIES, NULL, NULL) ||
	    !map_rebuild(&stacks->stacks, FIRST_ENTRIES, NULL, NULL)) {
		gt_stacks_free(stacks);
		return NULL;
	}
	return stacks;
}

void gt_stacks_limit(struct gt_stacks *stacks, uint32_t max_frames)
{
	stacks->max_frames = max_frames;
}

void gt_stacks_free(struct gt_stacks *stacks)
{
	if (!stacks)
		return;
	map_fini(&stacks->frames);
	map_fini(&stacks->stacks);
	gt_arena_fini(&stacks->arena);
	gt_memory_unmap(stacks, sizeof(*stacks));
}

const struct gt_stack_frame *gt_stacks_find_frame(struct gt_stacks *stacks, uint64_t pc)
{
	const struct gt_stack_frame *frame = map_find(&stacks->frames, pc);

	if (frame || !map_reserve(stacks, &stacks->frames))
		return frame;
	frame = stacks->find(stacks->context, pc);
	if (frame)
		map_put(&stacks->frames, pc, frame);
	return frame;
}

/* Is it ours, of a module whose name begins so? */
static bool is_ours_of(const struct gt_stack_frame *frame, const char *prefix)
{
	const char *slash;

	if (!frame->ours || !frame->module)
		return false;
	slash = strrchr(frame->module->text, '/');
	return slash && !strncmp(slash + 1, prefix, strlen(prefix));
}

bool gt_stack_frame_is_interposed(const struct gt_stack_frame *frame)
{
	return is_ours_of(frame, "libgputrace-");
}

static void drop_interposed(struct gt_stack *stack)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < stack->count; i++)
		if (!gt_stack_frame_is_interposed(stack->frames[i]))
			stack->frames[kept++] = stack->frames[i];
	stack->count = kept ? kept : stack->count;
}

/* How many of the near frames are the tracer's and CUPTI's. */
static uint32_t count_tracer(const struct gt_stack *stack)
{
	uint32_t count = 0;

	while (count < stack->count && (is_ours_of(stack->frames[count], "libgputrace") ||
					is_ours_of(stack->frames[count], "libcupti")))
		count++;
	return count;
}

/* Of a stack with only frames of the tracer and CUDA those of CUDA are kept, if it has none all:
 * better than none. */
static void cut_ours(struct gt_stack *stack)
{
	uint32_t ours = 0;

	drop_interposed(stack);

	while (ours < stack->count && stack->frames[ours]->ours)
		ours++;
	if (ours == stack->count)
		ours = count_tracer(stack);
	if (ours == stack->count)
		return;
	stack->count -= ours;
	for (uint32_t i = 0; i < stack->count; i++)
		stack->frames[i] = stack->frames[i + ours];
}

static struct gt_stack *new_stack(struct gt_stacks *stacks, uint32_t count)
{
	struct gt_stack *stack;

	stack = arena_get(stacks, sizeof(*stack) + count * sizeof(stack->frames[0]));
	if (stack)
		*stack = (struct gt_stack){.count = count};
	return stack;
}

static bool find_frames(struct gt_stacks *stacks, const uint64_t *pcs, struct gt_stack *stack)
{
	for (uint32_t i = 0; i < stack->count; i++) {
		stack->frames[i] = gt_stacks_find_frame(stacks, pcs[i]);
		if (!stack->frames[i])
			return false;
	}
	return true;
}

static const struct gt_stack *keep_stack(struct gt_stacks *stacks, uint64_t key,
					 struct gt_stack *stack)
{
	cut_ours(stack);
	if (stacks->max_frames && stack->count > stacks->max_frames)
		stack->count = stacks->max_frames;
	stack->id = ++stacks->count;
	map_put(&stacks->stacks, key, stack);
	return stack;
}

const struct gt_stack *gt_stacks_last(const struct gt_stacks *stacks, uint64_t key)
{
	return map_find(&stacks->stacks, key);
}

const struct gt_stack *gt_stacks_find(const struct gt_stacks *stacks, uint64_t key)
{
	const struct gt_stack *stack = gt_stacks_last(stacks, key);

	return stack && !stack->gone ? stack : NULL;
}

const struct gt_stack *gt_stacks_get(struct gt_stacks *stacks, uint64_t key, const uint64_t *pcs,
				     uint32_t count)
{
	const struct gt_stack *known = gt_stacks_last(stacks, key);
	struct gt_stack *stack = NULL;

	if (known && (!pcs || !known->gone))
		return known;
	if (pcs && count && map_reserve(stacks, &stacks->stacks))
		stack = new_stack(stacks, count);
	if (stack && find_frames(stacks, pcs, stack))
		return keep_stack(stacks, key, stack);
	stacks->refused++;
	return NULL;
}

const struct gt_stack *gt_stacks_put(struct gt_stacks *stacks, uint64_t key,
				     const struct gt_stack_frame *const *frames, uint32_t count)
{
	struct gt_stack *stack = NULL;

	if (count && map_reserve(stacks, &stacks->stacks))
		stack = new_stack(stacks, count);
	if (!stack) {
		stacks->refused++;
		return NULL;
	}
	for (uint32_t i = 0; i < count; i++)
		stack->frames[i] = frames[i];
	return keep_stack(stacks, key, stack);
}

struct gone {
	uint64_t start, end;
};

static bool is_unloaded(const struct gone *gone, uint64_t pc)
{
	return pc > gone->start && pc <= gone->end; /* the instruction is at pc - 1 */
}

static bool frame_stays(const struct stack_entry *entry, const void *context)
{
	return !is_unloaded(context, entry->key);
}

static bool passes_through(const struct gt_stack *stack, const struct gt_string *module)
{
	for (uint32_t i = 0; i < stack->count; i++)
		if (stack->frames[i]->module == module)
			return true;
	return false;
}

/* All frames of the range belong to one module, whose name identifies the stacks. */
void gt_stacks_forget(struct gt_stacks *stacks, uint64_t start, uint64_t end)
{
	const struct gone gone = {.start = start, .end = end};
	const struct gt_stack_frame *frame = NULL;

	for (uint32_t i = 0; i < stacks->frames.size && !frame; i++)
		if (stacks->frames.entries[i].key &&
		    is_unloaded(&gone, stacks->frames.entries[i].key))
			frame = stacks->frames.entries[i].value;
	if (!frame)
		return;
	map_rebuild(&stacks->frames, stacks->frames.size, frame_stays, &gone);
	for (uint32_t i = 0; i < stacks->stacks.size; i++) {
		struct gt_stack *stack = (struct gt_stack *)stacks->stacks.entries[i].value;

		if (stack && passes_through(stack, frame->module))
			stack->gone = true;
	}
}

uint64_t gt_stacks_refused(const struct gt_stacks *stacks)
{
	return stacks->refused;
}

uint32_t gt_stacks_count(const struct gt_stacks *stacks)
{
	return stacks->count;
}

const struct gt_stack_frame *gt_stack_best_frame(const struct gt_stack *stack)
{
	const struct gt_stack_frame *native = NULL;

	for (uint32_t i = 0; i < stack->count; i++) {
		const struct gt_stack_frame *frame = stack->frames[i];

		if (frame->kind == GT_FRAME_PYTHON)
			return frame;
		if (!native && (!frame->module || !gt_path_is_libc(frame->module->text)))
			native = frame;
	}
	return native || !stack->count ? native : stack->frames[0];
}

const struct gt_stack *gt_stacks_restore(struct gt_stacks *stacks, uint64_t key, uint32_t id,
					 const struct gt_stack_frame *const *frames, uint32_t count)
{
	uint32_t made = stacks->count;
	const struct gt_stack *stack;

	if (!id || gt_stacks_find(stacks, key))
		return NULL;
	stacks->count = id - 1;
	stack = gt_stacks_put(stacks, key, frames, count);
	if (made > stacks->count || !stack)
		stacks->count = made;
	return stack;
}

void gt_stacks_each(const struct gt_spool_view *view,
		    void (*found)(void *context, uint64_t key, const struct gt_stack *stack),
		    void *context)
{
	const struct gt_stacks *stacks = gt_spool_view_root(view, GT_SPOOL_STACKS, sizeof(*stacks));
	const struct map *map = stacks ? &stacks->stacks : NULL;
	const struct stack_entry *entries =
		map ? gt_spool_view_at(view, gt_spool_address(map->entries),
				       (uint64_t)map->size * sizeof(*entries))
		    : NULL;

	for (uint32_t i = 0; entries && i < map->size; i++) {
		uint64_t address = gt_spool_address(entries[i].value);
		const struct gt_stack *stack = gt_spool_view_at(view, address, sizeof(*stack));

		if (entries[i].key && stack &&
		    gt_spool_view_at(view, address,
				     sizeof(*stack) + (uint64_t)stack->count * sizeof(void *)))
			found(context, entries[i].key, stack);
	}
}

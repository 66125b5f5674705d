/* SPDX-License-Identifier: Apache-2.0
 *
 * The calls of a process, replayed in the order of time; see memory.h.
 */
#include "analysis/memory/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/key.h"
#include "analysis/memory/place.h"
#include "core/hash.h"
#include "readers/pairmap.h"

#define NO_BLOCK UINT32_MAX

/* A block that is known by its address: where it is, and what holds it. */
struct known {
	size_t use;
	uint32_t block; /* NO_BLOCK: freed */
	uint32_t holders;
	uint32_t context;
	bool is_node; /* of a graph */
};

struct mapping {
	uint64_t bytes, handle;
};

/* An allocation in a context. */
struct context_link {
	size_t known;
	size_t next; /* + 1 */
};

/* The replay of one model. */
struct replay {
	struct gt_memory *memory;
	const struct gt_model *model;
	struct gt_pairmap devices;  /* device -> its use + 1 */
	struct gt_pairmap contexts; /* context -> the newest of links + 1 */
	GT_VEC(struct context_link) links;
	struct gt_pairmap blocks; /* address -> index in known + 1 */
	GT_VEC(struct known) known;
	struct gt_pairmap mapped; /* address -> index in mappings + 1 */
	GT_VEC(struct mapping) mappings;
	uint64_t *place_of; /* of each stack, 0: not yet asked for; NULL: by stack */
	const struct gt_model_block *now;
};

/* Frames that people read as one are one: offsets in a module differ. */
static uint64_t place_of(struct replay *r, uint32_t stack)
{
	char text[4096];

	if (!r->place_of || stack >= r->model->stacks.count)
		return stack;
	if (!r->place_of[stack]) {
		gt_memory_place(r->model, stack, text, sizeof(text));
		r->place_of[stack] = gt_hash_bytes(text, strlen(text)) | 1;
	}
	return r->place_of[stack];
}

static uint32_t device_of(const struct gt_block *block)
{
	if (block->kind == GT_BLOCK_TENSOR)
		return block->device | GT_MEMORY_TORCH;
	return block->kind == GT_BLOCK_PINNED ? GT_MEMORY_HOST : block->device;
}

/* The place of a use in the list, made when new; SIZE_MAX: no memory. */
static size_t use_of(struct replay *r, uint32_t device)
{
	struct gt_memory_use use = {.model = r->model, .device = device};
	int64_t *number = gt_pairmap_get(&r->devices, device, 0);

	if (!number || (!*number && !gt_vec_push(&r->memory->uses, use)))
		return SIZE_MAX;
	if (!*number)
		*number = (int64_t)r->memory->uses.count;
	return (size_t)*number - 1;
}

/* A block of PyTorch's may begin where the driver's does. */
static int64_t layer_of(const struct replay *r)
{
	return r->now->block.kind == GT_BLOCK_TENSOR;
}

static struct known *find(struct replay *r, uint64_t address)
{
	const int64_t *number = gt_pairmap_find(&r->blocks, (int64_t)address, layer_of(r));

	return number && *number ? &r->known.at[*number - 1] : NULL;
}

static int change(struct gt_memory_use *use, int64_t ts, uint32_t block, bool came)
{
	struct gt_memory_change next = {
		.ts = ts,
		.in_use = gt_memory_in_use(use, use->changes.count - 1),
		.block = block,
		.came = came,
	};
	uint64_t bytes = use->blocks.at[block].bytes;

	next.in_use = came ? next.in_use + bytes : next.in_use - bytes;
	if (!gt_vec_push(&use->changes, next))
		return -ENOMEM;
	if (next.in_use > gt_memory_in_use(use, use->peak))
		use->peak = use->changes.count - 1;
	return 0;
}

uint64_t gt_memory_in_use(const struct gt_memory_use *use, size_t at)
{
	return at < use->changes.count ? use->changes.at[at].in_use : 0;
}

static int end_block(struct replay *r, struct known *known, bool was_reset)
{
	struct gt_memory_use *use = &r->memory->uses.at[known->use];
	struct gt_memory_block *block = &use->blocks.at[known->block];
	uint32_t number = known->block;

	block->until = use->changes.count;
	block->was_reset = was_reset;
	known->block = NO_BLOCK;
	return change(use, r->now->ts, number, false);
}

static int add_block(struct replay *r, struct known *known)
{
	const struct gt_model_block *now = r->now;
	struct gt_memory_use *use = &r->memory->uses.at[known->use];
	struct gt_memory_block block = {.address = now->block.address,
					.bytes = now->block.bytes,
					.from = use->changes.count,
					.until = GT_MEMORY_ALIVE,
					.place = place_of(r, now->stack),
					.stack = now->stack,
					.name = now->name,
					.kind = now->block.kind};

	if (use->blocks.count >= NO_BLOCK - 1 || !gt_vec_push(&use->blocks, block))
		return -ENOMEM;
	known->block = (uint32_t)(use->blocks.count - 1);
	use->allocated += block.bytes;
	return change(use, now->ts, known->block, true);
}

/* So that a reset finds it. */
static int link_to_context(struct replay *r, size_t known)
{
	int64_t *newest = gt_pairmap_get(&r->contexts, r->now->block.context, 0);
	struct context_link link = {.known = known, .next = newest ? (size_t)*newest : 0};

	if (!newest || !gt_vec_push(&r->links, link))
		return -ENOMEM;
	*newest = (int64_t)r->links.count;
	return 0;
}

/* At an address that was not seen to become free, the old block has gone unseen. */
static int allocate(struct replay *r)
{
	size_t use = use_of(r, device_of(&r->now->block));
	int64_t *number = gt_pairmap_get(&r->blocks, (int64_t)r->now->block.address, layer_of(r));
	struct known fresh = {.block = NO_BLOCK}, *known;
	int rc = 0;

	if (use == SIZE_MAX || !number || (!*number && !gt_vec_push(&r->known, fresh)))
		return -ENOMEM;
	if (!*number)
		*number = (int64_t)r->known.count;
	known = &r->known.at[*number - 1];
	if (known->block != NO_BLOCK)
		rc = end_block(r, known, false);
	*known = (struct known){
		.use = use, .block = NO_BLOCK, .holders = 1, .context = r->now->block.context};
	if (!rc)
		rc = add_block(r, known);
	return rc ? rc : link_to_context(r, (size_t)(known - r->known.at));
}

static int let_go(struct replay *r, struct known *known)
{
	if (!known || known->block == NO_BLOCK || --known->holders)
		return 0;
	return end_block(r, known, false);
}

static int release(struct replay *r)
{
	struct known *known = find(r, r->now->block.address);
	size_t use;

	if (known && known->block != NO_BLOCK)
		return let_go(r, known);
	if (known && known->is_node)
		return 0;
	use = use_of(r, device_of(&r->now->block));
	if (use == SIZE_MAX)
		return -ENOMEM;
	r->memory->uses.at[use].freed_before++;
	return 0;
}

static int map(struct replay *r)
{
	const struct gt_block *block = &r->now->block;
	struct mapping mapping = {block->bytes, block->handle};
	int64_t *number = gt_pairmap_get(&r->mapped, (int64_t)block->address, 0);
	struct known *known = find(r, block->handle);

	if (!number || !gt_vec_push(&r->mappings, mapping))
		return -ENOMEM;
	*number = (int64_t)r->mappings.count;
	if (known && known->block != NO_BLOCK)
		known->holders++;
	return 0;
}

/* One range may have several mappings, one behind the other. */
static int unmap(struct replay *r)
{
	uint64_t at = r->now->block.address, end;
	int rc = 0;

	if (__builtin_add_overflow(at, r->now->block.bytes, &end))
		return 0;
	while (!rc && at < end) {
		int64_t *number = gt_pairmap_find(&r->mapped, (int64_t)at, 0);
		struct mapping mapping;

		if (!number || !*number)
			return 0;
		mapping = r->mappings.at[*number - 1];
		*number = 0;
		rc = let_go(r, find(r, mapping.handle));
		if (!mapping.bytes || __builtin_add_overflow(at, mapping.bytes, &at))
			return rc;
	}
	return rc;
}

static int retain(struct replay *r)
{
	struct known *known = find(r, r->now->block.handle);

	if (known && known->block != NO_BLOCK)
		known->holders++;
	return 0;
}

/* Physical memory belongs to no context. */
static int reset(struct replay *r)
{
	uint32_t context = r->now->block.context;
	int64_t *newest = gt_pairmap_find(&r->contexts, context, 0);
	size_t at = newest && context ? (size_t)*newest : 0;
	int rc = 0;

	if (newest)
		*newest = 0;
	for (; !rc && at; at = r->links.at[at - 1].next) {
		struct known *known = &r->known.at[r->links.at[at - 1].known];

		if (known->block != NO_BLOCK && known->context == context &&
		    r->memory->uses.at[known->use].blocks.at[known->block].kind !=
			    GT_BLOCK_PHYSICAL)
			rc = end_block(r, known, true);
	}
	return rc;
}

/* Its address is known before its memory is there; who frees it behind a launch frees no block. */
static int add_node(struct replay *r)
{
	size_t use = use_of(r, device_of(&r->now->block));
	int64_t *number = gt_pairmap_get(&r->blocks, (int64_t)r->now->block.address, layer_of(r));
	struct known node = {.use = use, .block = NO_BLOCK, .is_node = true};

	if (use == SIZE_MAX || !number || (!*number && !gt_vec_push(&r->known, node)))
		return -ENOMEM;
	if (!*number)
		*number = (int64_t)r->known.count;
	r->memory->uses.at[use].nodes++;
	r->memory->uses.at[use].node_bytes += r->now->block.bytes;
	return 0;
}

static int (*const steps[GT_BLOCK_OP_COUNT_])(struct replay *r) = {
	[GT_BLOCK_ALLOCATE] = allocate, [GT_BLOCK_RELEASE] = release, [GT_BLOCK_MAP] = map,
	[GT_BLOCK_UNMAP] = unmap,       [GT_BLOCK_RETAIN] = retain,   [GT_BLOCK_RESET] = reset,
	[GT_BLOCK_NODE] = add_node,
};

/* Frees of what is there fail, too: after an earlier error of a kernel. They are neither. */
static int note_failure(struct replay *r)
{
	const struct gt_block *block = &r->now->block;
	struct known *known = find(r, block->address);
	size_t use;

	if (block->op != GT_BLOCK_ALLOCATE && block->op != GT_BLOCK_RELEASE)
		return 0;
	use = use_of(r, block->op == GT_BLOCK_ALLOCATE ? device_of(block) : block->device);
	if (use == SIZE_MAX)
		return -ENOMEM;
	if (block->op == GT_BLOCK_ALLOCATE)
		r->memory->uses.at[use].failed++;
	else if (!known)
		r->memory->uses.at[use].unknown_frees++;
	else if (known->block == NO_BLOCK)
		r->memory->uses.at[use].double_frees++;
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct gt_model_block *x = *(const struct gt_model_block *const *)a;
	const struct gt_model_block *y = *(const struct gt_model_block *const *)b;

	if (x->ts != y->ts)
		return x->ts < y->ts ? -1 : 1;
	return x < y ? -1 : x > y;
}

static int by_device(const void *a, const void *b)
{
	const struct gt_memory_use *x = a, *y = b;

	return x->device < y->device ? -1 : x->device > y->device;
}

static int replay_all(struct replay *r, const struct gt_model_block **sorted)
{
	size_t count = r->model->blocks.count;
	int rc = 0;

	for (size_t i = 0; i < count; i++)
		sorted[i] = &r->model->blocks.at[i];
	qsort(sorted, count, sizeof(sorted[0]), by_time);
	for (size_t i = 0; !rc && i < count; i++) {
		r->now = sorted[i];
		if (r->now->block.op < GT_BLOCK_OP_COUNT_ && steps[r->now->block.op])
			rc = r->now->failed ? note_failure(r) : steps[r->now->block.op](r);
	}
	return rc;
}

static int build_model(struct gt_memory *memory, const struct gt_model *model, bool by_stack)
{
	struct replay r = {.memory = memory, .model = model};
	size_t first = memory->uses.count;
	const struct gt_model_block **sorted = calloc(model->blocks.count + 1, sizeof(*sorted));
	int rc = -ENOMEM;

	r.place_of = by_stack ? NULL : calloc(model->stacks.count + 1, sizeof(*r.place_of));
	if (sorted && (by_stack || r.place_of))
		rc = replay_all(&r, sorted);
	free(sorted);
	free(r.place_of);
	gt_pairmap_fini(&r.blocks);
	gt_pairmap_fini(&r.devices);
	gt_pairmap_fini(&r.contexts);
	gt_vec_free(&r.links);
	gt_pairmap_fini(&r.mapped);
	gt_vec_free(&r.known);
	gt_vec_free(&r.mappings);
	if (!rc)
		rc = gt_memory_take_counters(memory, first, model);
	if (memory->uses.count > first)
		qsort(memory->uses.at + first, memory->uses.count - first,
		      sizeof(memory->uses.at[0]), by_device);
	return rc;
}

int gt_memory_build(const struct gt_job *job, bool by_stack, struct gt_memory *ret_memory)
{
	int rc = 0;

	*ret_memory = (struct gt_memory){0};
	for (size_t i = 0; !rc && i < job->count; i++)
		rc = build_model(ret_memory, &job->models[i], by_stack);
	return rc;
}

void gt_memory_fini(struct gt_memory *memory)
{
	for (size_t i = 0; i < memory->uses.count; i++) {
		gt_vec_free(&memory->uses.at[i].blocks);
		gt_vec_free(&memory->uses.at[i].changes);
	}
	gt_vec_free(&memory->uses);
}

void gt_memory_label(const struct gt_memory_use *use, char *out, size_t size)
{
	char torch[48];

	if (use->device == GT_MEMORY_HOST)
		gt_key_of_place(use->model, " host", out, size);
	else if (use->device == GT_BLOCK_NO_DEVICE)
		gt_key_of_place(use->model, " unknown GPU", out, size);
	else if (use->device & GT_MEMORY_TORCH) {
		snprintf(torch, sizeof(torch), " GPU %u PyTorch", use->device & ~GT_MEMORY_TORCH);
		gt_key_of_place(use->model, torch, out, size);
	} else
		gt_key_of_device(use->model, use->device, out, size);
}

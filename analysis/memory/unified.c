/* SPDX-License-Identifier: Apache-2.0
 *
 * What happened to unified memory, by what allocated it; see memory.h. Records of it name neither
 * an allocation nor a kernel: the one is found by the address, the other by the time.
 */
#include "analysis/memory/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/key.h"
#include "analysis/memory/place.h"
#include "readers/pairmap.h"

#define TEXT     4096
#define NO_BLOCK SIZE_MAX
#define LOOKED   256 /* kernels before a moment that may still run then */

static const struct gt_column columns[] = {
	{"where", "Where", "where", GT_COLUMN_TEXT},
	{"htod", "To GPU (B)", "to GPU", GT_COLUMN_COUNT},
	{"dtoh", "To CPU (B)", "to CPU", GT_COLUMN_COUNT},
	{"dtod", "Between GPUs (B)", NULL, GT_COLUMN_COUNT},
	{"moves", "Migrations", "migrations", GT_COLUMN_COUNT},
	{"time", "Migrating (ns)", "migrating", GT_COLUMN_TIME},
	{"gpu", "GPU Faults", "GPU faults", GT_COLUMN_COUNT},
	{"cpu", "CPU Faults", "CPU faults", GT_COLUMN_COUNT},
	{"thrashing", "Thrashing", "thrashing", GT_COLUMN_COUNT},
	{"throttled", "Throttled (ns)", "throttled", GT_COLUMN_TIME},
	{"mapped", "Remote Mappings", NULL, GT_COLUMN_COUNT},
	{"evicted", "Evicted (B)", NULL, GT_COLUMN_COUNT},
	{"place", "Allocated By", "allocated by", GT_COLUMN_CODE},
	{"kernel", "Kernel", "kernels then", GT_COLUMN_CODE},
	{"kernels", "Kernels", NULL, GT_COLUMN_COUNT},
	{"call", "Call", NULL, GT_COLUMN_TEXT},
};

/* A block and when it was there. */
struct life {
	uint64_t address, end, reach; /* reach: of this and the ones before */
	int64_t from, until;
	const struct gt_memory_block *block;
};

struct row {
	const struct gt_memory_block *block; /* the first; NULL: of none that is known */
	uint64_t bytes[GT_UNIFIED_KIND_COUNT_], count[GT_UNIFIED_KIND_COUNT_];
	uint64_t faults, evicted;
	int64_t migrating, throttled, most; /* ns; of the kernel */
	uint32_t kernel, kernels;           /* the one that ran longest then; how many names */
};

struct overlap {
	size_t row;
	uint32_t name;
	int64_t ns;
};

/* Of one model. */
struct unified {
	const struct gt_model *model;
	GT_VEC(struct life) lives;
	GT_VEC(struct row) rows;
	struct gt_pairmap row_of; /* place, call -> row + 1 */
	GT_VEC(struct overlap) overlaps;
	struct gt_pairmap overlap_of; /* row, kernel -> overlap + 1 */
};

/* ---- which block ---- */

static int by_address(const void *a, const void *b)
{
	const struct life *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

static int take_use(struct unified *u, const struct gt_memory_use *use)
{
	for (size_t i = 0; i < use->blocks.count; i++) {
		const struct gt_memory_block *block = &use->blocks.at[i];
		struct life life = {.address = block->address, .until = INT64_MAX, .block = block};

		if (block->kind != GT_BLOCK_MANAGED ||
		    __builtin_add_overflow(block->address, block->bytes, &life.end))
			continue;
		life.from = use->changes.at[block->from].ts;
		if (block->until != GT_MEMORY_ALIVE)
			life.until = use->changes.at[block->until].ts;
		if (!gt_vec_push(&u->lives, life))
			return -ENOMEM;
	}
	return 0;
}

static int take_blocks(struct unified *u, const struct gt_memory *memory)
{
	uint64_t reach = 0;
	int rc = 0;

	for (size_t i = 0; !rc && i < memory->uses.count; i++)
		if (memory->uses.at[i].model == u->model)
			rc = take_use(u, &memory->uses.at[i]);
	if (rc || !u->lives.count)
		return rc;
	qsort(u->lives.at, u->lives.count, sizeof(u->lives.at[0]), by_address);
	for (size_t i = 0; i < u->lives.count; i++) {
		struct life *life = &u->lives.at[i];

		reach = life->end > reach ? life->end : reach;
		life->reach = reach;
	}
	return 0;
}

/* How far from its life a moment is: the clocks of the host and the GPU differ a little. */
static int64_t distance(const struct life *life, int64_t ts)
{
	if (ts < life->from)
		return life->from - ts;
	return ts > life->until ? ts - life->until : 0;
}

/* The block that an address was in; of several at different times the nearest. NULL: none. */
static const struct gt_memory_block *block_at(const struct unified *u, uint64_t address, int64_t ts)
{
	size_t low = 0, high = u->lives.count;
	const struct life *best = NULL;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (u->lives.at[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = low; i-- && u->lives.at[i].reach > address;) {
		const struct life *life = &u->lives.at[i];

		if (life->end > address && (!best || distance(life, ts) < distance(best, ts)))
			best = life;
		if (best && !distance(best, ts))
			break;
	}
	return best ? best->block : NULL;
}

static struct row *row_for(struct unified *u, const struct gt_memory_block *block)
{
	struct row row = {.block = block};
	int64_t *number = gt_pairmap_get(&u->row_of, block ? (int64_t)block->place : -1,
					 block ? (int64_t)block->name : -1);

	if (!number || (!*number && !gt_vec_push(&u->rows, row)))
		return NULL;
	if (!*number)
		*number = (int64_t)u->rows.count;
	return &u->rows.at[*number - 1];
}

/* ---- which kernels ---- */

static int note_kernel(struct unified *u, struct row *row, const struct gt_op *op, int64_t ns)
{
	struct overlap fresh = {.row = (size_t)(row - u->rows.at), .name = op->name}, *overlap;
	int64_t *number = gt_pairmap_get(&u->overlap_of, (int64_t)fresh.row, fresh.name);

	if (!number || (!*number && !gt_vec_push(&u->overlaps, fresh)))
		return -ENOMEM;
	if (!*number) {
		*number = (int64_t)u->overlaps.count;
		row->kernels++;
	}
	overlap = &u->overlaps.at[*number - 1];
	overlap->ns += ns;
	if (overlap->ns > row->most || !row->most) {
		row->most = overlap->ns;
		row->kernel = overlap->name;
	}
	return 0;
}

/* Kernels of the device that run in @from to @until. */
static int note_kernels(struct unified *u, struct row *row, const struct gt_device_track *device,
			int64_t from, int64_t until)
{
	uint32_t low = 0, high = device->count;
	int rc = 0;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (u->model->ops.at[gt_model_op_of(u->model, device, middle)].start <= until)
			low = middle + 1;
		else
			high = middle;
	}
	for (uint32_t i = low; !rc && i-- && low - i <= LOOKED;) {
		const struct gt_op *op = gt_model_device_op(u->model, device, i);
		int64_t end = op->start + op->dur;
		int64_t begin = op->start > from ? op->start : from;

		if (op->kind == GT_OP_KERNEL && end >= from)
			rc = note_kernel(u, row, op, 1 + (end < until ? end : until) - begin);
	}
	return rc;
}

static int look_at_kernels(struct unified *u, struct row *row, const struct gt_model_pages *pages)
{
	uint32_t number = gt_unified_row(&pages->facts);
	const struct gt_model *model = u->model;

	for (size_t i = 0; number && i < model->devices.count; i++)
		if (model->devices.at[i].device == number - 1)
			return note_kernels(u, row, &model->devices.at[i], pages->start,
					    pages->start + pages->dur);
	return 0;
}

/* ---- the table ---- */

static int take_pages(struct unified *u, const struct gt_model_pages *pages)
{
	const struct gt_unified_facts *facts = &pages->facts;
	struct row *row = row_for(u, block_at(u, facts->address, pages->start));

	if (!row)
		return -ENOMEM;
	row->count[facts->kind]++;
	row->bytes[facts->kind] += facts->value;
	if (gt_unified_is_migration(facts->kind))
		row->migrating += pages->dur;
	if (gt_unified_is_migration(facts->kind) && facts->why == GT_UNIFIED_EVICTION)
		row->evicted += facts->value;
	if (facts->kind == GT_UNIFIED_THROTTLING)
		row->throttled += pages->dur;
	return look_at_kernels(u, row, pages);
}

static bool put_bytes(struct gt_table *t, uint64_t bytes)
{
	char text[64];

	return gt_table_word(t, (double)bytes, gt_table_bytes((double)bytes, text, sizeof(text)));
}

static uint64_t moved(const struct row *row)
{
	return row->bytes[GT_UNIFIED_HTOD] + row->bytes[GT_UNIFIED_DTOH] +
	       row->bytes[GT_UNIFIED_DTOD];
}

static int by_bytes(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (moved(x) != moved(y))
		return moved(x) > moved(y) ? -1 : 1;
	return x->block < y->block ? -1 : x->block > y->block;
}

static bool put_place(struct gt_table *t, const struct unified *u, const struct row *row)
{
	const struct gt_model *model = u->model;
	char text[TEXT] = "(not allocated in the trace)";

	if (row->block)
		gt_memory_place(model, row->block->stack, text, sizeof(text));
	return gt_table_text(t, text) &&
	       gt_table_text(t, row->kernels ? gt_model_name(model, row->kernel) : "-") &&
	       gt_table_number(t, row->kernels) &&
	       gt_table_text(t, row->block ? gt_model_name(model, row->block->name) : "-");
}

static bool put_row(struct gt_table *t, const struct unified *u, const struct row *row)
{
	const uint64_t *count = row->count, *bytes = row->bytes;
	char label[128];

	gt_key_of_place(u->model, "", label, sizeof(label));
	return gt_table_text(t, label) && put_bytes(t, bytes[GT_UNIFIED_HTOD]) &&
	       put_bytes(t, bytes[GT_UNIFIED_DTOH]) && put_bytes(t, bytes[GT_UNIFIED_DTOD]) &&
	       gt_table_number(t, (double)(count[GT_UNIFIED_HTOD] + count[GT_UNIFIED_DTOH] +
					   count[GT_UNIFIED_DTOD])) &&
	       gt_table_number(t, (double)row->migrating) &&
	       gt_table_number(t, (double)bytes[GT_UNIFIED_GPU_FAULT]) &&
	       gt_table_number(t, (double)count[GT_UNIFIED_CPU_FAULT]) &&
	       gt_table_number(t, (double)count[GT_UNIFIED_THRASHING]) &&
	       gt_table_number(t, (double)row->throttled) &&
	       gt_table_number(t, (double)count[GT_UNIFIED_REMOTE_MAP]) &&
	       put_bytes(t, row->evicted) && put_place(t, u, row);
}

static int build(const struct gt_memory *memory, struct unified *u, struct gt_table *t)
{
	int rc = take_blocks(u, memory);

	for (size_t i = 0; !rc && i < u->model->pages.count; i++)
		rc = take_pages(u, &u->model->pages.at[i]);
	if (!rc && u->rows.count)
		qsort(u->rows.at, u->rows.count, sizeof(u->rows.at[0]), by_bytes);
	for (size_t i = 0; !rc && i < u->rows.count; i++)
		rc = put_row(t, u, &u->rows.at[i]) ? 0 : -ENOMEM;
	return rc;
}

int gt_memory_unified(const struct gt_memory *memory, const struct gt_job *job, struct gt_table *t)
{
	int rc = 0;

	gt_table_init(t, "memory_unified", "Unified memory", columns,
		      sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; !rc && i < job->count; i++) {
		struct unified u = {.model = &job->models[i]};

		if (u.model->pages.count)
			rc = build(memory, &u, t);
		gt_vec_free(&u.lives);
		gt_vec_free(&u.rows);
		gt_vec_free(&u.overlaps);
		gt_pairmap_fini(&u.row_of);
		gt_pairmap_fini(&u.overlap_of);
	}
	return rc;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * How the segments of PyTorch's allocator are filled, see memory.h: a segment is memory of the
 * driver in which blocks of it begin. Pure over constant models; one thread per table.
 */
#include <errno.h>
#include <stdlib.h>

#include "analysis/memory/memory.h"

static const struct gt_column columns[] = {
	{"where", "Where", "where", GT_COLUMN_TEXT},
	{"when", "When", "when", GT_COLUMN_TEXT},
	{"time", "Time (ns)", "time", GT_COLUMN_TIME},
	{"segments", "Segments", "segments", GT_COLUMN_COUNT},
	{"reserved", "Reserved (B)", "reserved", GT_COLUMN_COUNT},
	{"blocks", "In Blocks (B)", "in blocks", GT_COLUMN_COUNT},
	{"free", "Free (B)", "free", GT_COLUMN_COUNT},
	{"hole", "Largest Hole (B)", "largest hole", GT_COLUMN_COUNT},
	{"fragmentation", "Fragmentation (%)", "fragmentation", GT_COLUMN_PERCENT},
};

/* Both layers of a device, each by address. */
struct layers {
	const struct gt_memory_use *driver, *torch;
	const struct gt_memory_block **segments, **blocks;
	size_t segment_count, block_count;
};

/* All segments at one moment, bytes. */
struct filling {
	uint64_t count, reserved, used, largest;
};

static int by_address(const void *a, const void *b)
{
	const struct gt_memory_block *x = *(const struct gt_memory_block *const *)a;
	const struct gt_memory_block *y = *(const struct gt_memory_block *const *)b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

static bool is_there(const struct gt_memory_use *use, const struct gt_memory_block *block,
		     int64_t ts)
{
	return use->changes.at[block->from].ts <= ts &&
	       (block->until == GT_MEMORY_ALIVE || use->changes.at[block->until].ts > ts);
}

/* The first of the blocks at or above an address. */
static size_t first_block(const struct layers *l, uint64_t address)
{
	size_t low = 0, high = l->block_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (l->blocks[middle]->address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool begins_in(const struct gt_memory_block *block, const struct gt_memory_block *segment)
{
	return block->address >= segment->address &&
	       block->address - segment->address < segment->bytes;
}

static bool has_blocks(const struct layers *l, const struct gt_memory_block *segment)
{
	size_t first = first_block(l, segment->address);

	return first < l->block_count && begins_in(l->blocks[first], segment);
}

static const struct gt_memory_block **sorted(const struct gt_memory_use *use)
{
	const struct gt_memory_block **list = calloc(use->blocks.count + 1, sizeof(*list));

	for (size_t i = 0; list && i < use->blocks.count; i++)
		list[i] = &use->blocks.at[i];
	if (list)
		qsort(list, use->blocks.count, sizeof(*list), by_address);
	return list;
}

/* Keeps the driver's blocks that are segments. */
static void choose_segments(struct layers *l)
{
	size_t kept = 0;

	for (size_t i = 0; i < l->driver->blocks.count; i++)
		if (l->segments[i]->kind == GT_BLOCK_DEVICE && has_blocks(l, l->segments[i]))
			l->segments[kept++] = l->segments[i];
	l->segment_count = kept;
}

static void note_hole(struct filling *f, uint64_t from, uint64_t until)
{
	if (until > from && until - from > f->largest)
		f->largest = until - from;
}

/* What lies in a segment at @ts. A broken trace may have blocks that overlap. */
static void fill(const struct layers *l, const struct gt_memory_block *segment, int64_t ts,
		 struct filling *f)
{
	uint64_t at = segment->address, end = segment->address + segment->bytes;

	f->count++;
	f->reserved += segment->bytes;
	for (size_t i = first_block(l, at); i < l->block_count; i++) {
		const struct gt_memory_block *block = l->blocks[i];
		uint64_t until = block->address + block->bytes;

		if (!begins_in(block, segment))
			break;
		if (!is_there(l->torch, block, ts) || block->address < at)
			continue;
		note_hole(f, at, block->address);
		at = until < end && until > at ? until : end;
		f->used += at - block->address;
	}
	note_hole(f, at, end);
}

static bool put_bytes(struct gt_table *t, uint64_t bytes)
{
	char text[64];

	return gt_table_word(t, (double)bytes, gt_table_bytes((double)bytes, text, sizeof(text)));
}

static bool put_moment(struct gt_table *t, const struct layers *l, const char *when, int64_t ts)
{
	struct filling f = {0};
	uint64_t unused;
	char label[128];

	for (size_t i = 0; i < l->segment_count; i++)
		if (is_there(l->driver, l->segments[i], ts))
			fill(l, l->segments[i], ts, &f);
	if (!f.count)
		return true;
	unused = f.reserved - f.used;
	gt_memory_label(l->torch, label, sizeof(label));
	return gt_table_text(t, label) && gt_table_text(t, when) &&
	       gt_table_number(t, (double)ts - (double)l->torch->model->origin) &&
	       gt_table_number(t, (double)f.count) && put_bytes(t, f.reserved) &&
	       put_bytes(t, f.used) && put_bytes(t, unused) && put_bytes(t, f.largest) &&
	       gt_table_number(t, unused ? 100 - (double)f.largest * 100 / (double)unused : 0);
}

#define MOST_FAILURES 32 /* of a device, the first ones */

static bool put_failures(struct gt_table *t, const struct layers *l)
{
	const struct gt_model *model = l->driver->model;
	size_t shown = 0;

	for (size_t i = 0; i < model->blocks.count && shown < MOST_FAILURES; i++) {
		const struct gt_model_block *call = &model->blocks.at[i];

		if (!call->failed || call->block.op != GT_BLOCK_ALLOCATE ||
		    call->block.kind != GT_BLOCK_DEVICE || call->block.device != l->driver->device)
			continue;
		shown++;
		if (!put_moment(t, l, "allocation failed", call->ts))
			return false;
	}
	return true;
}

static bool put_moments(struct gt_table *t, const struct layers *l)
{
	const struct gt_memory_use *torch = l->torch;

	return put_moment(t, l, "peak of blocks", torch->changes.at[torch->peak].ts) &&
	       put_failures(t, l) &&
	       put_moment(t, l, "end", torch->changes.at[torch->changes.count - 1].ts);
}

static int put_device(struct gt_table *t, const struct gt_memory_use *driver,
		      const struct gt_memory_use *torch)
{
	struct layers l = {.driver = driver,
			   .torch = torch,
			   .segments = sorted(driver),
			   .blocks = sorted(torch),
			   .block_count = torch->blocks.count};
	bool ok = l.segments && l.blocks;

	if (ok && torch->changes.count && driver->changes.count) {
		choose_segments(&l);
		ok = put_moments(t, &l);
	}
	free(l.segments);
	free(l.blocks);
	return ok ? 0 : -ENOMEM;
}

int gt_memory_segments(const struct gt_memory *memory, struct gt_table *t)
{
	int rc = 0;

	gt_table_init(t, "memory_segments", "Segments of PyTorch's allocator", columns,
		      sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < memory->uses.count; i++) {
		const struct gt_memory_use *torch = &memory->uses.at[i];

		for (size_t d = 0; !rc && d < memory->uses.count; d++) {
			const struct gt_memory_use *driver = &memory->uses.at[d];

			if (driver->model == torch->model && driver->device < GT_MEMORY_TORCH &&
			    torch->device == (driver->device | GT_MEMORY_TORCH))
				rc = put_device(t, driver, torch);
		}
	}
	return rc;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * The tables of `gputrace memory`, see memory.h. Pure over constant models; one thread per table.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/key.h"
#include "analysis/memory/memory.h"
#include "analysis/memory/place.h"
#include "core/schema/cuda_api.h"
#include "core/schema/event_names.h"

#define TEXT            4096

/* Columns that their tables are about, as bits. */
#define GROWTH_AND_PEAK 0x30
#define ASKED_FOR       0x4

static const struct gt_column summary_columns[] = {
	{"where", "Where", "where", GT_COLUMN_TEXT},
	{"peak", "Peak (B)", "peak", GT_COLUMN_COUNT},
	{"at", "Peak At (ns)", "at", GT_COLUMN_TIME},
	{"end", "At End (B)", "at end", GT_COLUMN_COUNT},
	{"allocations", "Allocations", "allocations", GT_COLUMN_COUNT},
	{"allocated", "Allocated (B)", "allocated", GT_COLUMN_COUNT},
	{"never", "Never Freed", "never freed", GT_COLUMN_COUNT},
	{"failed", "Failed", "failed", GT_COLUMN_COUNT},
	{"double", "Double Frees", "double frees", GT_COLUMN_COUNT},
	{"unknown", "Unknown Frees", "unknown frees", GT_COLUMN_COUNT},
	{"before", "Allocated Before", NULL, GT_COLUMN_COUNT},
	{"nodes", "Graph Nodes", NULL, GT_COLUMN_COUNT},
	{"node_bytes", "Graph Nodes (B)", NULL, GT_COLUMN_COUNT},
	{"counter_peak", "Counter Peak (B)", NULL, GT_COLUMN_COUNT},
	{"counter_end", "Counter At End (B)", NULL, GT_COLUMN_COUNT},
	{"missing", "Calls Not In Files", NULL, GT_COLUMN_COUNT},
};

static const struct gt_column place_columns[] = {
	{"where", "Where", "where", GT_COLUMN_TEXT},
	{"bytes", "Bytes (B)", "bytes", GT_COLUMN_COUNT},
	{"share", "Share (%)", "share", GT_COLUMN_PERCENT},
	{"blocks", "Blocks", "blocks", GT_COLUMN_COUNT},
	{"kind", "Kind", "kind", GT_COLUMN_TEXT},
	{"place", "Allocated By", "allocated by", GT_COLUMN_CODE},
	{"call", "Call", NULL, GT_COLUMN_TEXT},
	{"stack", "Stack", NULL, GT_COLUMN_CODE},
};

static const struct gt_column step_columns[] = {
	{"step", "Step", "step", GT_COLUMN_TEXT},
	{"where", "Where", "where", GT_COLUMN_TEXT},
	{"begin", "At Begin (B)", "at begin", GT_COLUMN_COUNT},
	{"end", "At End (B)", "at end", GT_COLUMN_COUNT},
	{"growth", "Growth (B)", "growth", GT_COLUMN_COUNT},
	{"peak", "Peak (B)", "peak", GT_COLUMN_COUNT},
};

static const struct gt_column failed_columns[] = {
	{"where", "Where", "where", GT_COLUMN_TEXT},
	{"time", "Time (ns)", "time", GT_COLUMN_TIME},
	{"bytes", "Asked For (B)", "asked for", GT_COLUMN_COUNT},
	{"use", "In Use (B)", "in use", GT_COLUMN_COUNT},
	{"call", "Call", "call", GT_COLUMN_TEXT},
	{"result", "Result", "result", GT_COLUMN_TEXT},
	{"place", "By", "by", GT_COLUMN_CODE},
};

static const struct gt_column time_columns[] = {
	{"where", "Where", "where", GT_COLUMN_TEXT},
	{"from", "From (ns)", "from", GT_COLUMN_TIME},
	{"peak", "Peak (B)", "peak", GT_COLUMN_COUNT},
	{"end", "At End (B)", "at end", GT_COLUMN_COUNT},
};

#define INIT(table, name, title, columns)                                                          \
	gt_table_init(table, name, title, columns, sizeof(columns) / sizeof(columns[0]))

/* Whole bytes for programs. */
static bool put_bytes(struct gt_table *t, double bytes)
{
	char text[64];

	return gt_table_word(t, bytes, gt_table_bytes(bytes, text, sizeof(text)));
}

/* Behind the first slice of the job, as all times of tables. */
static double time_of(const struct gt_memory_use *use, int64_t ts)
{
	return (double)ts - (double)use->model->origin;
}

static uint64_t at_end(const struct gt_memory_use *use)
{
	return gt_memory_in_use(use, use->changes.count - 1);
}

static bool is_never_freed(const struct gt_memory_block *block)
{
	return block->until == GT_MEMORY_ALIVE;
}

/* ---- summary ---- */

static bool put_counted(struct gt_table *t, const struct gt_memory_use *use)
{
	if (!use->counted.values)
		return gt_table_absent(t, "-") && gt_table_absent(t, "-");
	return put_bytes(t, (double)use->counted.peak) && put_bytes(t, (double)use->counted.end);
}

/* Of a device of which there is only a counter, nothing is known by its calls. */
static bool put_known(struct gt_table *t, const struct gt_memory_use *use, uint64_t bytes)
{
	return gt_memory_has_calls(use) ? put_bytes(t, (double)bytes) : gt_table_absent(t, "-");
}

static bool put_summary(struct gt_table *t, const struct gt_memory_use *use)
{
	char label[128];
	size_t never = 0;
	bool ok;

	for (size_t i = 0; i < use->blocks.count; i++)
		never += is_never_freed(&use->blocks.at[i]);
	gt_memory_label(use, label, sizeof(label));
	ok = gt_table_text(t, label) && put_known(t, use, gt_memory_in_use(use, use->peak));
	ok = ok &&
	     (use->changes.count ? gt_table_number(t, time_of(use, use->changes.at[use->peak].ts))
				 : gt_table_absent(t, "-"));
	return ok && put_known(t, use, at_end(use)) &&
	       gt_table_number(t, (double)use->blocks.count) &&
	       put_bytes(t, (double)use->allocated) && gt_table_number(t, (double)never) &&
	       gt_table_number(t, (double)use->failed) &&
	       gt_table_number(t, (double)use->double_frees) &&
	       gt_table_number(t, (double)use->unknown_frees) &&
	       gt_table_number(t, (double)use->freed_before) &&
	       gt_table_number(t, (double)use->nodes) && put_bytes(t, (double)use->node_bytes) &&
	       put_counted(t, use) && gt_table_number(t, (double)gt_memory_missing(use->model));
}

bool gt_memory_nodes(const struct gt_memory *memory, char *ret_text, size_t size)
{
	uint64_t nodes = 0, bytes = 0;
	char text[64];

	for (size_t i = 0; i < memory->uses.count; i++) {
		nodes += memory->uses.at[i].nodes;
		bytes += memory->uses.at[i].node_bytes;
	}
	snprintf(ret_text, size,
		 "%" PRIu64 " memory node%s of graphs (%s) %s not counted: the memory comes and "
		 "goes with launches of the graph.",
		 nodes, nodes == 1 ? "" : "s", gt_table_bytes((double)bytes, text, sizeof(text)),
		 nodes == 1 ? "is" : "are");
	return nodes;
}

int gt_memory_summary(const struct gt_memory *memory, struct gt_table *t)
{
	INIT(t, "memory_summary", "Memory", summary_columns);
	for (size_t i = 0; i < memory->uses.count; i++)
		if (!put_summary(t, &memory->uses.at[i]))
			return -ENOMEM;
	return 0;
}

/* ---- by place ---- */

static bool put_place(struct gt_table *t, const struct gt_memory_use *use,
		      const struct gt_memory_place *place, uint64_t whole)
{
	const struct gt_model *model = use->model;
	char label[128], text[TEXT];

	gt_memory_label(use, label, sizeof(label));
	gt_memory_place(model, place->first->stack, text, sizeof(text));
	if (!gt_table_text(t, label) || !put_bytes(t, (double)place->bytes) ||
	    !gt_table_number(t, whole ? (double)place->bytes * 100 / (double)whole : 0) ||
	    !gt_table_number(t, (double)place->blocks) ||
	    !gt_table_text(t, gt_event_name_block_kind(place->first->kind)) ||
	    !gt_table_text(t, text) || !gt_table_text(t, gt_model_name(model, place->first->name)))
		return false;
	*text = 0;
	if (place->is_one_stack)
		gt_key_stack(model, place->first->stack, false, " < ", text, sizeof(text));
	return gt_table_text(t, text);
}

static int put_use(struct gt_table *t, const struct gt_memory_use *use, bool at_peak)
{
	uint64_t whole = at_peak ? gt_memory_in_use(use, use->peak) : at_end(use);
	struct gt_memory_place *places;
	size_t count;
	int rc = gt_memory_places(use, at_peak, &places, &count);

	for (size_t i = 0; !rc && i < count; i++)
		if (!put_place(t, use, &places[i], whole))
			rc = -ENOMEM;
	free(places);
	return rc;
}

static int put_uses(struct gt_table *t, const struct gt_memory *memory, bool at_peak)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < memory->uses.count; i++)
		rc = put_use(t, &memory->uses.at[i], at_peak);
	return rc;
}

int gt_memory_at_peak(const struct gt_memory *memory, struct gt_table *t)
{
	INIT(t, "memory_at_peak", "In use at the peak", place_columns);
	return put_uses(t, memory, true);
}

int gt_memory_never_freed(const struct gt_memory *memory, struct gt_table *t)
{
	INIT(t, "memory_never_freed", "Never freed", place_columns);
	return put_uses(t, memory, false);
}

/* ---- by time ---- */

/* The last change at or before @ts, + 1; 0: none. */
static size_t changes_until(const struct gt_memory_use *use, int64_t ts)
{
	size_t low = 0, high = use->changes.count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (use->changes.at[middle].ts <= ts)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static uint64_t most_between(const struct gt_memory_use *use, size_t from, size_t until)
{
	uint64_t most = gt_memory_in_use(use, from - 1);

	for (size_t i = from; i < until; i++)
		if (use->changes.at[i].in_use > most)
			most = use->changes.at[i].in_use;
	return most;
}

static bool put_step(struct gt_table *t, const struct gt_memory_use *use,
		     const struct gt_model_range *range)
{
	size_t from = changes_until(use, range->start);
	size_t until = changes_until(use, range->start + range->dur);
	uint64_t begin = gt_memory_in_use(use, from - 1), end = gt_memory_in_use(use, until - 1);
	uint64_t most = most_between(use, from, until);
	char label[128];

	if (!most) /* nothing was there */
		return true;
	gt_memory_label(use, label, sizeof(label));
	return gt_table_text(t, gt_model_name(use->model, range->name)) &&
	       gt_table_text(t, label) && put_bytes(t, (double)begin) &&
	       put_bytes(t, (double)end) && put_bytes(t, (double)end - (double)begin) &&
	       put_bytes(t, (double)most);
}

int gt_memory_steps(const struct gt_memory *memory, struct gt_table *t)
{
	INIT(t, "memory_steps", "Growth by step", step_columns);
	t->major = GROWTH_AND_PEAK;
	for (size_t i = 0; i < memory->uses.count; i++) {
		const struct gt_memory_use *use = &memory->uses.at[i];
		const struct gt_model *model = use->model;

		for (size_t s = 0; s < model->steps.count; s++) {
			const struct gt_step_from *step = &model->steps.at[s];

			/* where a step goes on behind one inside it, it is in the table already */
			if (step->range != GT_NONE &&
			    step->from == model->ranges.at[step->range].start &&
			    !put_step(t, use, &model->ranges.at[step->range]))
				return -ENOMEM;
		}
	}
	return 0;
}

/* From the first to the last slice of all traces, behind the job's first one. */
static void find_extent(const struct gt_memory *memory, int64_t extent[2])
{
	extent[0] = INT64_MAX;
	extent[1] = INT64_MIN;
	for (size_t i = 0; i < memory->uses.count; i++) {
		const struct gt_memory_use *use = &memory->uses.at[i];
		int64_t first = use->model->first, last = use->model->last;

		if (use->changes.count && use->changes.at[0].ts < first)
			first = use->changes.at[0].ts;
		if (use->changes.count && use->changes.at[use->changes.count - 1].ts > last)
			last = use->changes.at[use->changes.count - 1].ts;
		first -= use->model->origin;
		last -= use->model->origin;
		extent[0] = first < extent[0] ? first : extent[0];
		extent[1] = last > extent[1] ? last : extent[1];
	}
}

static int64_t part_end(const int64_t extent[2], size_t part, size_t parts)
{
	double length = (double)extent[1] - (double)extent[0];

	return part == parts ? extent[1]
			     : extent[0] + (int64_t)(length * (double)part / (double)parts);
}

static bool put_parts(struct gt_table *t, const struct gt_memory_use *use, const int64_t extent[2],
		      size_t parts)
{
	char label[128];
	size_t from = 0;
	bool ok = true;

	gt_memory_label(use, label, sizeof(label));
	for (size_t part = 0; ok && use->changes.count && part < parts; part++) {
		int64_t end = part_end(extent, part + 1, parts) + use->model->origin;
		size_t until = changes_until(use, end);

		ok = gt_table_text(t, label) &&
		     gt_table_number(t, (double)part_end(extent, part, parts)) &&
		     put_bytes(t, (double)most_between(use, from, until)) &&
		     put_bytes(t, (double)gt_memory_in_use(use, until - 1));
		from = until;
	}
	return ok;
}

int gt_memory_timeline(const struct gt_memory *memory, size_t parts, struct gt_table *t)
{
	int64_t extent[2];

	INIT(t, "memory_timeline", "Over time", time_columns);
	find_extent(memory, extent);
	for (size_t i = 0; i < memory->uses.count; i++)
		if (!put_parts(t, &memory->uses.at[i], extent, parts))
			return -ENOMEM;
	return 0;
}

/* ---- failures ---- */

static const struct gt_memory_use *use_of(const struct gt_memory *memory,
					  const struct gt_model *model,
					  const struct gt_block *block)
{
	uint32_t device = block->kind == GT_BLOCK_PINNED ? GT_MEMORY_HOST : block->device;

	for (size_t i = 0; i < memory->uses.count; i++)
		if (memory->uses.at[i].model == model && memory->uses.at[i].device == device)
			return &memory->uses.at[i];
	return NULL;
}

/* Not all that fail lack memory: PyTorch tries for a kind of handle that is not permitted. */
static bool put_result(struct gt_table *t, int32_t result)
{
	const char *words = gt_cuda_result_words(result);
	char text[32];

	snprintf(text, sizeof(text), "%" PRId32, result);
	return gt_table_text(t, words ? words : text);
}

static bool put_asked(struct gt_table *t, uint64_t bytes, const char *call)
{
	return !bytes && gt_cuda_asks_by_extents(call) ? gt_table_absent(t, "-")
						       : put_bytes(t, (double)bytes);
}

static bool put_failure(struct gt_table *t, const struct gt_memory_use *use,
			const struct gt_model_block *call)
{
	char label[128], text[TEXT];
	size_t until = changes_until(use, call->ts);
	const char *name = gt_model_name(use->model, call->name);

	gt_memory_label(use, label, sizeof(label));
	gt_memory_place(use->model, call->stack, text, sizeof(text));
	return gt_table_text(t, label) && gt_table_number(t, time_of(use, call->ts)) &&
	       put_asked(t, call->block.bytes, name) &&
	       put_bytes(t, (double)gt_memory_in_use(use, until - 1)) && gt_table_text(t, name) &&
	       put_result(t, call->failed) && gt_table_text(t, text);
}

int gt_memory_failed(const struct gt_memory *memory, const struct gt_job *job, struct gt_table *t)
{
	INIT(t, "memory_failed", "Allocations that failed", failed_columns);
	t->major = ASKED_FOR;
	for (size_t m = 0; m < job->count; m++) {
		const struct gt_model *model = &job->models[m];

		for (size_t i = 0; i < model->blocks.count; i++) {
			const struct gt_model_block *call = &model->blocks.at[i];
			const struct gt_memory_use *use =
				call->failed && call->block.op == GT_BLOCK_ALLOCATE
					? use_of(memory, model, &call->block)
					: NULL;

			if (use && !put_failure(t, use, call))
				return -ENOMEM;
		}
	}
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * What the counters in a trace have of memory in use, and what of the calls is not in its files,
 * see memory.h. Pure over constant models; one thread per use.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "analysis/memory/memory.h"
#include "analysis/table/table.h"
#include "core/schema/ledger.h"
#include "core/schema/metadata.h"
#include "readers/show.h"

/* A cause for which calls are missing. */
struct cause {
	const char *section, *key, *unit, *words;
	bool is_oldest; /* what is missing came before all that is there */
};

#define CAUSES 8

/* No constant table: the keys are those of other ones. */
static void list_causes(struct cause causes[CAUSES])
{
	static const struct {
		enum gt_ledger_key key;
		const char *unit, *words;
		bool is_oldest;
	} rows[CAUSES - 1] = {
		{GT_LEDGER_CALLS_OLDER, "call", "older than what --flight-recorder keeps", true},
		{GT_LEDGER_EVENTS_LOST_EARLY, "event", "before there was a file", true},
		{GT_LEDGER_CALLS_LOST_RING, "call", "the ring of their thread was full", false},
		{GT_LEDGER_CALLS_LOST_THREAD, "call", "no memory for the ring of their thread",
		 false},
		{GT_LEDGER_EVENTS_LOST_DISK, "event", "disk full, or size limit", false},
		{GT_LEDGER_EVENTS_LOST_MEMORY, "event", "out of memory", false},
		{GT_LEDGER_EVENTS_LOST_KILLED, "event", "the process was killed", false},
	};

	causes[0] = (struct cause){"segment", gt_segment_names[GT_SEGMENT_CALLS_REMOVED], "call",
				   "removed by --keep", true};
	for (size_t i = 0; i < CAUSES - 1; i++)
		causes[i + 1] = (struct cause){"ledger", gt_ledger_rows[rows[i].key].json,
					       rows[i].unit, rows[i].words, rows[i].is_oldest};
}

static uint64_t count_of(const struct gt_model *model, const struct cause *cause)
{
	int64_t count = 0;

	gt_header_int(&model->reading.header, cause->section, cause->key, &count);
	return count > 0 ? (uint64_t)count : 0;
}

uint64_t gt_memory_missing(const struct gt_model *model)
{
	struct cause causes[CAUSES];
	uint64_t sum = 0;

	list_causes(causes);
	for (size_t i = 0; i < CAUSES; i++)
		sum += count_of(model, &causes[i]);
	return sum;
}

static bool is_gpu(const struct gt_memory_point *point)
{
	return !point->of_allocator && point->device < GT_MEMORY_TORCH && point->bytes >= 0;
}

/* A device of which all calls are missing has a row, too. */
static struct gt_memory_use *use_of(struct gt_memory *memory, size_t first,
				    const struct gt_model *model, uint32_t device)
{
	struct gt_memory_use use = {.model = model, .device = device};

	for (size_t i = first; i < memory->uses.count; i++)
		if (memory->uses.at[i].device == device)
			return &memory->uses.at[i];
	return gt_vec_push(&memory->uses, use) ? &memory->uses.at[memory->uses.count - 1] : NULL;
}

/* After a kill the spool gave back the calls, but not what the counter had after them. */
static bool is_cut(const struct gt_model *model)
{
	int64_t calls = 0;

	gt_header_int(&model->reading.header, "repaired", "recovered_calls", &calls);
	return calls > 0;
}

int gt_memory_take_counters(struct gt_memory *memory, size_t first, const struct gt_model *model)
{
	size_t count = is_cut(model) ? 0 : model->memory.count;

	for (size_t i = 0; i < count; i++) {
		const struct gt_memory_point *point = &model->memory.at[i];
		struct gt_memory_use *use;

		if (!is_gpu(point))
			continue;
		use = use_of(memory, first, model, point->device);
		if (!use)
			return -ENOMEM;
		if (!use->counted.values++ || (uint64_t)point->bytes > use->counted.peak)
			use->counted.peak = (uint64_t)point->bytes;
		if (use->counted.values == 1 || point->ts >= use->counted.last) {
			use->counted.last = point->ts;
			use->counted.end = (uint64_t)point->bytes;
		}
	}
	return 0;
}

/* "rank 0: 5440 calls (removed by --keep) are not in the files: ...". */
static void print_causes(const struct gt_memory_use *use, FILE *out)
{
	struct cause causes[CAUSES];
	bool is_oldest = true;
	const char *comma = "";

	list_causes(causes);
	for (size_t i = 0; i < CAUSES; i++) {
		uint64_t count = count_of(use->model, &causes[i]);

		if (!count)
			continue;
		fprintf(out, "%s%" PRIu64 " %s%s (%s)", comma, count, causes[i].unit,
			gt_plural(count), causes[i].words);
		comma = ", ";
		is_oldest &= causes[i].is_oldest;
	}
	fprintf(out,
		" %s not in the files, so the peak, what is in use at the end and what was "
		"never freed %s.",
		*comma ? "are" : "Calls are",
		is_oldest ? "are lower bounds" : "may be too low, or too high");
}

size_t gt_memory_print_missing(const struct gt_memory *memory, FILE *out)
{
	char label[128], peak[64], end[64];
	size_t lines = 0;

	for (size_t i = 0; i < memory->uses.count; i++) {
		const struct gt_memory_use *use = &memory->uses.at[i];

		if (use->device == GT_MEMORY_HOST || !gt_memory_missing(use->model))
			continue;
		gt_memory_label(use, label, sizeof(label));
		fputs(lines++ ? "" : "\n", out);
		gt_show(label, out);
		fputs(": ", out);
		print_causes(use, out);
		if (use->counted.values)
			fprintf(out, " The counter in the trace: %s at its peak, %s at the end.",
				gt_table_bytes((double)use->counted.peak, peak, sizeof(peak)),
				gt_table_bytes((double)use->counted.end, end, sizeof(end)));
		fputc('\n', out);
	}
	return lines;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of the ledger's keys; the counting is inline in the header.
 */
#include "core/schema/ledger.h"

#include <string.h>

const struct gt_ledger_row gt_ledger_rows[GT_LEDGER_COUNT_] = {
#define GT_LEDGER(id, key, kind, text)                                                             \
	[GT_LEDGER_##id] = {.json = key, .help = text, .sort = GT_LEDGER_##kind},
#include "core/schema/ledger.def"
#undef GT_LEDGER
};

const struct gt_ledger_kind gt_ledger_kinds[GT_LEDGER_KINDS_] = {
	{GT_LEDGER_CALLS_RECEIVED,
	 GT_LEDGER_CALLS_WRITTEN,
	 GT_LEDGER_COUNT_,
	 GT_LEDGER_CALLS_LOST_FILE,
	 {GT_LEDGER_CALLS_OUTSIDE, GT_LEDGER_CALLS_FILTERED_LATER, GT_LEDGER_CALLS_GOVERNED_LATER,
	  GT_LEDGER_CALLS_THINNED_LATER, GT_LEDGER_CALLS_OLDER}},
	{GT_LEDGER_RECORDS_KERNEL,
	 GT_LEDGER_KERNELS_WRITTEN,
	 GT_LEDGER_KERNELS_UNTIMED,
	 GT_LEDGER_KERNELS_LOST_FILE,
	 {GT_LEDGER_KERNELS_OUTSIDE, GT_LEDGER_KERNELS_FILTERED, GT_LEDGER_KERNELS_GOVERNED,
	  GT_LEDGER_COUNT_, GT_LEDGER_KERNELS_OLDER}},
	{GT_LEDGER_RECORDS_MEMCPY,
	 GT_LEDGER_MEMCPYS_WRITTEN,
	 GT_LEDGER_MEMCPYS_UNTIMED,
	 GT_LEDGER_MEMCPYS_LOST_FILE,
	 {GT_LEDGER_MEMCPYS_OUTSIDE, GT_LEDGER_MEMCPYS_FILTERED, GT_LEDGER_MEMCPYS_GOVERNED,
	  GT_LEDGER_COUNT_, GT_LEDGER_MEMCPYS_OLDER}},
	{GT_LEDGER_RECORDS_MEMSET,
	 GT_LEDGER_MEMSETS_WRITTEN,
	 GT_LEDGER_MEMSETS_UNTIMED,
	 GT_LEDGER_MEMSETS_LOST_FILE,
	 {GT_LEDGER_MEMSETS_OUTSIDE, GT_LEDGER_MEMSETS_FILTERED, GT_LEDGER_MEMSETS_GOVERNED,
	  GT_LEDGER_COUNT_, GT_LEDGER_MEMSETS_OLDER}},
	{GT_LEDGER_SAMPLES_RECEIVED,
	 GT_LEDGER_SAMPLES_WRITTEN,
	 GT_LEDGER_COUNT_,
	 GT_LEDGER_SAMPLES_LOST_FILE,
	 {GT_LEDGER_SAMPLES_OUTSIDE, GT_LEDGER_COUNT_, GT_LEDGER_COUNT_, GT_LEDGER_COUNT_,
	  GT_LEDGER_SAMPLES_OLDER}},
	{GT_LEDGER_RECORDS_GRAPH,
	 GT_LEDGER_GRAPHS_WRITTEN,
	 GT_LEDGER_GRAPHS_UNTIMED,
	 GT_LEDGER_GRAPHS_LOST_FILE,
	 {GT_LEDGER_GRAPHS_LEFT_OUT, GT_LEDGER_GRAPHS_FILTERED, GT_LEDGER_GRAPHS_GOVERNED,
	  GT_LEDGER_COUNT_, GT_LEDGER_GRAPHS_OLDER}},
};

const enum gt_ledger_key gt_ledger_call_ends[GT_LEDGER_CALL_ENDS_] = {
	GT_LEDGER_CALLS_RECEIVED,    GT_LEDGER_CALLS_NESTED,   GT_LEDGER_CALLS_LOST_RING,
	GT_LEDGER_CALLS_LOST_THREAD, GT_LEDGER_CALLS_LATE,     GT_LEDGER_CALLS_PASSED,
	GT_LEDGER_CALLS_FILTERED,    GT_LEDGER_CALLS_GOVERNED, GT_LEDGER_CALLS_THINNED,
};

uint64_t gt_ledger_ended_calls(const struct gt_ledger *ledger)
{
	uint64_t sum = 0;

	for (int i = 0; i < GT_LEDGER_CALL_ENDS_; i++)
		sum += ledger->count[gt_ledger_call_ends[i]];
	return sum;
}

uint64_t gt_ledger_left_out(const struct gt_ledger *ledger, const struct gt_ledger_kind *kind)
{
	uint64_t sum = 0;

	for (int i = 0; i < GT_LEDGER_LEFT_OUT_; i++)
		if (kind->left_out[i] != GT_LEDGER_COUNT_)
			sum += ledger->count[kind->left_out[i]];
	return sum;
}

uint64_t gt_ledger_settled(const struct gt_ledger *ledger, const struct gt_ledger_kind *kind)
{
	uint64_t settled = ledger->count[kind->written];

	if (kind->untimed != GT_LEDGER_COUNT_)
		settled += ledger->count[kind->untimed];
	return settled + gt_ledger_left_out(ledger, kind);
}

uint64_t gt_ledger_missing(const struct gt_ledger *ledger, const struct gt_ledger_kind *kind)
{
	uint64_t there = gt_ledger_settled(ledger, kind);

	return ledger->count[kind->received] > there ? ledger->count[kind->received] - there : 0;
}

static const struct {
	const char *note;
	enum gt_ledger_key received;
} untimed[] = {
	{"kernel (untimed)", GT_LEDGER_RECORDS_KERNEL},
	{"memcpy (untimed)", GT_LEDGER_RECORDS_MEMCPY},
	{"memset (untimed)", GT_LEDGER_RECORDS_MEMSET},
	{"graph (untimed)", GT_LEDGER_RECORDS_GRAPH},
};

static const struct gt_ledger_kind *kind_of(enum gt_ledger_key received)
{
	const struct gt_ledger_kind *kind = gt_ledger_kinds;

	while (kind->received != received)
		kind++;
	return kind;
}

const struct gt_ledger_kind *gt_ledger_untimed_kind(const struct gt_event *event)
{
	if (event->kind != GT_EVENT_NOTE || !event->note.name)
		return NULL;
	for (size_t i = 0; i < sizeof(untimed) / sizeof(untimed[0]); i++)
		if (!strcmp(event->note.name, untimed[i].note))
			return kind_of(untimed[i].received);
	return NULL;
}

/* Contexts, streams and names are no events of a file. */
static const enum gt_ledger_key keys[GT_EVENT_COUNT_] = {
	[GT_EVENT_API] = GT_LEDGER_CALLS_WRITTEN,
	[GT_EVENT_KERNEL] = GT_LEDGER_KERNELS_WRITTEN,
	[GT_EVENT_MEMCPY] = GT_LEDGER_MEMCPYS_WRITTEN,
	[GT_EVENT_MEMSET] = GT_LEDGER_MEMSETS_WRITTEN,
	[GT_EVENT_SYNC] = GT_LEDGER_SYNCS_WRITTEN,
	[GT_EVENT_OVERHEAD] = GT_LEDGER_OVERHEADS_WRITTEN,
	[GT_EVENT_RANGE] = GT_LEDGER_RANGES_WRITTEN,
	[GT_EVENT_MARK] = GT_LEDGER_RANGES_WRITTEN,
	[GT_EVENT_FRAME] = GT_LEDGER_FRAMES_WRITTEN,
	[GT_EVENT_SAMPLE] = GT_LEDGER_SAMPLES_WRITTEN,
	[GT_EVENT_COUNTER] = GT_LEDGER_COUNTERS_WRITTEN,
	[GT_EVENT_DEVICE] = GT_LEDGER_COUNT_,
	[GT_EVENT_CONTEXT] = GT_LEDGER_COUNT_,
	[GT_EVENT_STREAM] = GT_LEDGER_COUNT_,
	[GT_EVENT_THREAD] = GT_LEDGER_COUNT_,
	[GT_EVENT_NOTE] = GT_LEDGER_NOTES_WRITTEN,
	[GT_EVENT_GRAPH] = GT_LEDGER_GRAPHS_WRITTEN,
	[GT_EVENT_TENSOR] = GT_LEDGER_TENSORS_WRITTEN,
};

enum gt_ledger_key gt_ledger_key_of(const struct gt_event *event)
{
	if (event->kind == GT_EVENT_RANGE && event->range.on_gpu)
		return GT_LEDGER_SHADOWS_WRITTEN;
	return keys[event->kind];
}

void gt_ledger_settle_older(struct gt_ledger *ledger)
{
	for (int i = 0; i < GT_LEDGER_KINDS_; i++) {
		const struct gt_ledger_kind *kind = &gt_ledger_kinds[i];
		uint64_t *older = &ledger->count[kind->left_out[GT_LEDGER_LEFT_OUT_ - 1]];
		uint64_t there = gt_ledger_settled(ledger, kind);
		uint64_t received = ledger->count[kind->received];
		uint64_t twice = there > received ? there - received : 0;

		*older -= twice < *older ? twice : *older;
	}
}

struct gt_ledger gt_ledger_losses(const struct gt_ledger *ledger)
{
	struct gt_ledger losses = {0};
	uint64_t *count = losses.count;

	for (int i = 0; i < GT_LEDGER_COUNT_; i++)
		if (gt_ledger_rows[i].sort == GT_LEDGER_LOSS)
			count[i] += ledger->count[i];
	count[GT_LEDGER_RECORDS_UNFINISHED] += ledger->count[GT_LEDGER_RECORDS_UNFINISHED];
	for (int i = 0; i < GT_LEDGER_KINDS_; i++) {
		const struct gt_ledger_kind *kind = &gt_ledger_kinds[i];

		if (kind->untimed != GT_LEDGER_COUNT_)
			count[kind->received] += ledger->count[kind->untimed];
		count[kind->received] += gt_ledger_left_out(ledger, kind);
		if (kind->received == GT_LEDGER_CALLS_RECEIVED)
			count[GT_LEDGER_CALLS_SEEN] += gt_ledger_left_out(ledger, kind);
		for (int k = 0; k < GT_LEDGER_LEFT_OUT_; k++)
			if (kind->left_out[k] != GT_LEDGER_COUNT_)
				count[kind->left_out[k]] += ledger->count[kind->left_out[k]];
	}
	return losses;
}

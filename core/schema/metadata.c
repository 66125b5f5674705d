/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of the segment keys, and what the header says of removed files.
 */
#include "core/schema/metadata.h"

const char *const gt_segment_names[GT_SEGMENT_COUNT_] = {
#define GT_SEGMENT(id, json, help) [GT_SEGMENT_##id] = json,
#include "core/schema/segment.def"
#undef GT_SEGMENT
};

/* How a removed file's ledger is summed up, by kind. */
static const struct {
	enum gt_ledger_key from;
	enum gt_segment_key to;
} kinds[] = {
	{GT_LEDGER_CALLS_WRITTEN, GT_SEGMENT_CALLS_REMOVED},
	{GT_LEDGER_KERNELS_WRITTEN, GT_SEGMENT_KERNELS_REMOVED},
	{GT_LEDGER_MEMCPYS_WRITTEN, GT_SEGMENT_MEMCPYS_REMOVED},
	{GT_LEDGER_MEMSETS_WRITTEN, GT_SEGMENT_MEMSETS_REMOVED},
	{GT_LEDGER_GRAPHS_WRITTEN, GT_SEGMENT_GRAPHS_REMOVED},
	{GT_LEDGER_SYNCS_WRITTEN, GT_SEGMENT_SYNCS_REMOVED},
	{GT_LEDGER_RANGES_WRITTEN, GT_SEGMENT_RANGES_REMOVED},
	{GT_LEDGER_OVERHEADS_WRITTEN, GT_SEGMENT_OTHERS_REMOVED},
	{GT_LEDGER_FRAMES_WRITTEN, GT_SEGMENT_OTHERS_REMOVED},
	{GT_LEDGER_SHADOWS_WRITTEN, GT_SEGMENT_OTHERS_REMOVED},
};

uint64_t gt_segment_remove(uint64_t *segment, const struct gt_ledger *ledger)
{
	uint64_t events = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		segment[kinds[i].to] += ledger->count[kinds[i].from];
		events += ledger->count[kinds[i].from];
	}
	segment[GT_SEGMENT_FILES_REMOVED]++;
	return events;
}

static void take_off(uint64_t *count, uint64_t n)
{
	*count -= n < *count ? n : *count;
}

void gt_segment_put_back(uint64_t *segment, const struct gt_ledger *ledger)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		take_off(&segment[kinds[i].to], ledger->count[kinds[i].from]);
	take_off(&segment[GT_SEGMENT_FILES_REMOVED], 1);
}

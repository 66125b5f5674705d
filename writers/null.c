/* SPDX-License-Identifier: Apache-2.0
 *
 * The writer that writes nothing: what tracing costs without the file. It counts as the others do,
 * so the ledger of such a run balances. Drain thread only.
 */
#include "writers/writer.h"

static int null_open(struct gt_writer *w, struct gt_sink *sink, const struct gt_metadata *metadata,
		     const struct gt_writer_options *options)
{
	return 0;
}

static int null_event(struct gt_writer *w, const struct gt_event *event)
{
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
		[GT_EVENT_NOTE] = GT_LEDGER_NOTES_WRITTEN,
	};

	if (keys[event->kind])
		gt_ledger_add(&w->ledger, keys[event->kind], 1);
	return 0;
}

static int null_metadata(struct gt_writer *w, const struct gt_metadata *metadata)
{
	return 0;
}

static int null_flush(struct gt_writer *w, uint64_t settled)
{
	return 0;
}

static int null_close(struct gt_writer *w, const struct gt_metadata *metadata,
		      struct gt_ledger *ledger)
{
	for (int i = 0; i < GT_LEDGER_COUNT_; i++)
		ledger->count[i] += w->ledger.count[i];
	return 0;
}

static void null_fini(struct gt_writer *w)
{
}

const struct gt_writer_ops gt_null_writer = {
	.name = "null",
	.suffix = NULL, /* no file */
	.open = null_open,
	.event = null_event,
	.metadata = null_metadata,
	.flush = null_flush,
	.close = null_close,
	.fini = null_fini,
};

/* SPDX-License-Identifier: Apache-2.0
 *
 * The writer that writes nothing: shows the cost of tracing without the file. It counts like the
 * others, so its ledger balances. Drain thread only.
 */
#include "writers/writer.h"

static int null_open(struct gt_writer *w, struct gt_sink *sink, const struct gt_metadata *metadata,
		     const struct gt_writer_options *options)
{
	return 0;
}

static int null_event(struct gt_writer *w, const struct gt_event *event)
{
	enum gt_ledger_key key = gt_ledger_key_of(event);

	if (key < GT_LEDGER_COUNT_)
		gt_ledger_add(&w->ledger, key, 1);
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

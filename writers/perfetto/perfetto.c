/* SPDX-License-Identifier: Apache-2.0
 *
 * The Perfetto writer (docs/FORMAT.md, "The .pftrace form"): accepts events in any order and writes
 * them at once, packet by packet. Drain thread only.
 */
#include "writers/perfetto/perfetto.h"

#include <errno.h>
#include <string.h>

typedef void (*print_event)(struct gt_perfetto *pf, const struct gt_event *event);

/* Contexts and streams alone draw nothing. */
static const print_event printers[GT_EVENT_COUNT_] = {
	[GT_EVENT_API] = gt_perfetto_put_api,
	[GT_EVENT_KERNEL] = gt_perfetto_put_gpu,
	[GT_EVENT_MEMCPY] = gt_perfetto_put_gpu,
	[GT_EVENT_MEMSET] = gt_perfetto_put_gpu,
	[GT_EVENT_SYNC] = gt_perfetto_put_gpu,
	[GT_EVENT_OVERHEAD] = gt_perfetto_put_overhead,
	[GT_EVENT_RANGE] = gt_perfetto_put_range,
	[GT_EVENT_FRAME] = gt_perfetto_put_frame,
	[GT_EVENT_SAMPLE] = gt_perfetto_put_sample,
	[GT_EVENT_MARK] = gt_perfetto_put_mark,
	[GT_EVENT_COUNTER] = gt_perfetto_put_counter,
	[GT_EVENT_NOTE] = gt_perfetto_put_annotation,
	[GT_EVENT_GRAPH] = gt_perfetto_put_gpu,
	[GT_EVENT_TENSOR] = gt_perfetto_put_tensor,
};

static print_event printer_of(const struct gt_event *event)
{
	if (event->kind == GT_EVENT_RANGE && event->range.on_gpu)
		return gt_perfetto_put_gpu;
	if (event->kind == GT_EVENT_RANGE && event->range.is_unified)
		return gt_perfetto_put_unified;
	return printers[event->kind];
}

static int perfetto_event(struct gt_writer *w, const struct gt_event *event)
{
	struct gt_perfetto *pf = w->priv;
	print_event put = printer_of(event);
	enum gt_ledger_key key;

	if (event->kind == GT_EVENT_THREAD && !pf->file.output.error) {
		gt_perfetto_rename_thread(pf, event->tid, event->thread.name);
		return gt_perfetto_file_commit(&pf->file, GT_LEDGER_COUNT_, 0);
	}
	if (!put || (event->kind == GT_EVENT_SYNC && !pf->options.sync_tracks))
		return 0;
	key = gt_ledger_key_of(event);
	if (pf->file.output.error) {
		gt_file_lose(&pf->file.output, key, pf->file.output.error);
		return pf->file.output.error;
	}
	gt_file_see(&pf->file.output, event);
	put(pf, event);
	return gt_perfetto_file_commit(&pf->file, key, 1);
}

static void begin(struct gt_perfetto *pf)
{
	struct gt_file *file = &pf->file.output;

	gt_perfetto_put_start(pf);
	gt_perfetto_file_flush(&pf->file);
	gt_file_begun(file, file->written.offset, 0);
}

static int perfetto_open(struct gt_writer *w, struct gt_sink *sink,
			 const struct gt_metadata *metadata,
			 const struct gt_writer_options *options)
{
	struct gt_perfetto *pf = w->priv;

	pf->metadata = *metadata;
	pf->options = *options;
	pf->file.output.newest = metadata->start;
	pf->file.output.sink = sink;
	pf->file.output.has_next = options->has_next;
	pf->tracks = gt_tracks_new();
	if (!pf->tracks || gt_perfetto_kernels_init(&pf->kernels) < 0 ||
	    gt_perfetto_names_init(&pf->names) < 0 ||
	    gt_proto_init(&pf->file.batch, 2 * GT_FILE_BATCH) < 0)
		return -ENOMEM;
	if (!options->resumes)
		begin(pf);
	return pf->file.output.error;
}

/* Names and stacks are interned again: only counts and time are kept. */
static void perfetto_recall(struct gt_writer *w, const struct gt_event *event, uint32_t tid)
{
	struct gt_perfetto *pf = w->priv;

	(void)tid;
	gt_file_see(&pf->file.output, event);
	gt_file_recall(&pf->file.output,
		       &(struct gt_file_tally){.key = gt_ledger_key_of(event),
					       .events = 1,
					       .flows = gt_perfetto_begins_flow(pf, event)});
}

static void recall_tracks(struct gt_perfetto_names *names, const struct gt_writer_past *past)
{
	for (size_t i = 0; i < past->track_count; i++) {
		const struct gt_perfetto_entry *track = &past->tracks[i];
		uint32_t last = track->number - 1;
		bool fresh;

		gt_perfetto_number(names, track->kind, track->a, track->b, &last, &fresh);
		if (names->tracks < track->number)
			names->tracks = track->number;
	}
}

static int perfetto_resume(struct gt_writer *w, struct gt_sink *sink,
			   const struct gt_metadata *metadata, const struct gt_writer_past *past)
{
	struct gt_perfetto *pf = w->priv;
	int error = gt_sink_truncate(sink, past->offset);

	pf->metadata = *metadata;
	pf->gpus_written = past->gpus_written;
	recall_tracks(&pf->names, past);
	gt_file_resume(&pf->file.output, sink, past->offset);
	if (!error)
		begin(pf);
	return error ? error : pf->file.output.error;
}

static void perfetto_follow(struct gt_writer *w, struct gt_writer *before)
{
	struct gt_perfetto *pf = w->priv, *full = before->priv;
	struct gt_tracks *tracks = pf->tracks;

	pf->tracks = full->tracks;
	full->tracks = tracks;
	gt_tracks_forget_names(pf->tracks);
	gt_file_follow(&pf->file.output, &full->file.output);
}

static bool perfetto_is_full(const struct gt_writer *w)
{
	const struct gt_perfetto *pf = w->priv;

	return gt_file_is_full(&pf->file.output, pf->file.batch.length);
}

static struct gt_file *perfetto_ledger(struct gt_writer *w)
{
	return &((struct gt_perfetto *)w->priv)->file.output;
}

static int perfetto_metadata(struct gt_writer *w, const struct gt_metadata *metadata)
{
	struct gt_perfetto *pf = w->priv;

	pf->metadata = *metadata;
	if (pf->file.output.error)
		return pf->file.output.error;
	gt_perfetto_put_metadata(pf);
	return gt_perfetto_file_commit(&pf->file, GT_LEDGER_COUNT_, 0);
}

static int perfetto_flush(struct gt_writer *w, uint64_t settled)
{
	struct gt_perfetto *pf = w->priv;

	return gt_perfetto_file_flush(&pf->file);
}

static int perfetto_close(struct gt_writer *w, const struct gt_metadata *metadata,
			  struct gt_ledger *ledger)
{
	struct gt_perfetto *pf = w->priv;
	int error;

	perfetto_metadata(w, metadata);
	error = gt_perfetto_file_close(pf, ledger);
	w->ledger = *ledger;
	return error;
}

static void perfetto_fini(struct gt_writer *w)
{
	struct gt_perfetto *pf = w->priv;

	gt_proto_fini(&pf->file.batch);
	gt_perfetto_names_fini(&pf->names);
	gt_perfetto_kernels_fini(&pf->kernels);
	gt_tracks_free(pf->tracks);
}

const struct gt_writer_ops gt_perfetto_writer = {
	.name = "perfetto",
	.suffix = ".pftrace",
	.private_size = sizeof(struct gt_perfetto),
	.open_bytes = (size_t)5 << 20,
	.open = perfetto_open,
	.recall = perfetto_recall,
	.resume = perfetto_resume,
	.event = perfetto_event,
	.follow = perfetto_follow,
	.is_full = perfetto_is_full,
	.file = perfetto_ledger,
	.metadata = perfetto_metadata,
	.flush = perfetto_flush,
	.close = perfetto_close,
	.fini = perfetto_fini,
};

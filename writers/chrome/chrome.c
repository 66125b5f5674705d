/* SPDX-License-Identifier: Apache-2.0
 *
 * The Chrome JSON writer (docs/FORMAT.md): accepts events in any order, holds GPU work back until
 * it is in order, calls the printer of each kind. Drain thread only.
 */
#include "writers/chrome/chrome.h"

#include <errno.h>
#include <string.h>

#define WHOLE_STEP ((size_t)1024) /* bytes of it, at most */

static bool is_full(const struct gt_chrome *chrome)
{
	return gt_file_is_full(&chrome->file.output, chrome->file.batch.length);
}

typedef void (*print_event)(struct gt_chrome *chrome, const struct gt_event *event);

/* Contexts and streams alone draw nothing. */
static const print_event printers[GT_EVENT_COUNT_] = {
	[GT_EVENT_API] = gt_chrome_put_api,         [GT_EVENT_KERNEL] = gt_chrome_put_gpu,
	[GT_EVENT_MEMCPY] = gt_chrome_put_gpu,      [GT_EVENT_MEMSET] = gt_chrome_put_gpu,
	[GT_EVENT_SYNC] = gt_chrome_put_gpu,        [GT_EVENT_OVERHEAD] = gt_chrome_put_overhead,
	[GT_EVENT_RANGE] = gt_chrome_put_range,     [GT_EVENT_MARK] = gt_chrome_put_mark,
	[GT_EVENT_COUNTER] = gt_chrome_put_counter, [GT_EVENT_NOTE] = gt_chrome_put_note,
	[GT_EVENT_FRAME] = gt_chrome_put_frame,     [GT_EVENT_SAMPLE] = gt_chrome_put_sample,
	[GT_EVENT_GRAPH] = gt_chrome_put_gpu,       [GT_EVENT_TENSOR] = gt_chrome_put_tensor,
};

static print_event printer_of(const struct gt_event *event)
{
	if (event->kind == GT_EVENT_RANGE && event->range.on_gpu)
		return gt_chrome_put_gpu_range;
	if (event->kind == GT_EVENT_RANGE && event->range.is_unified)
		return gt_chrome_put_unified;
	return printers[event->kind];
}

static void see(struct gt_chrome *chrome, const struct gt_event *event)
{
	gt_file_see(&chrome->file.output, event);
	if (event->start < chrome->oldest && event->start < event->end)
		chrome->oldest = event->start;
}

static int print(struct gt_chrome *chrome, const struct gt_event *event)
{
	struct gt_chrome_file *file = &chrome->file;
	size_t begin = file->batch.length;

	if (file->output.error) {
		gt_file_lose(&file->output, gt_ledger_key_of(event), file->output.error);
		return file->output.error;
	}
	see(chrome, event);
	chrome->tally = (struct gt_file_tally){.key = gt_ledger_key_of(event), .events = 1};
	printer_of(event)(chrome, event);
	return gt_chrome_file_commit(file, begin, &chrome->tally);
}

/* GPU work waits in the window; when it is full, the earliest is printed. */
static int hold_back(struct gt_chrome *chrome, const struct gt_event *event)
{
	const struct gt_event *earliest;
	int error = 0;

	if (event->kind == GT_EVENT_SYNC && !chrome->options.sync_tracks)
		return 0;
	if (gt_reorder_full(chrome->window)) {
		earliest = gt_reorder_pop(chrome->window, UINT64_MAX);
		error = print(chrome, earliest);
	}
	gt_reorder_push(chrome->window, event);
	return error;
}

static int release(struct gt_chrome *chrome, uint64_t settled)
{
	const struct gt_event *event;
	int error = 0, failed;

	while (!is_full(chrome) && (event = gt_reorder_pop(chrome->window, settled))) {
		failed = print(chrome, event);
		error = failed ? failed : error;
	}
	return error;
}

/* A name that comes after its track was printed is metadata, not an event of the ledger. */
static int set_name(struct gt_chrome *chrome, const struct gt_event *event)
{
	struct gt_chrome_file *file = &chrome->file;
	size_t begin = file->batch.length;
	bool printed;

	chrome->tally = (struct gt_file_tally){.key = GT_LEDGER_COUNT_};
	if (event->kind == GT_EVENT_THREAD)
		printed = gt_chrome_rename_thread(chrome, event->tid, event->thread.name);
	else
		printed = gt_chrome_rename_device(chrome, &event->device);
	if (!printed || file->output.error) {
		gt_json_cut(&file->batch, begin);
		return file->output.error;
	}
	return gt_chrome_file_commit(file, begin, &chrome->tally);
}

/* A shadow shares the track of its work, which is printed first. */
static int put_shadow(struct gt_chrome *chrome, const struct gt_event *event)
{
	int error = release(chrome, event->end);
	int failed = print(chrome, event);

	return failed ? failed : error;
}

static int chrome_event(struct gt_writer *w, const struct gt_event *event)
{
	struct gt_chrome *chrome = w->priv;

	if (gt_event_is_gpu(event->kind) ||
	    (event->kind == GT_EVENT_RANGE && event->range.is_unified))
		return hold_back(chrome, event);
	if (event->kind == GT_EVENT_RANGE && event->range.on_gpu)
		return put_shadow(chrome, event);
	if (event->kind == GT_EVENT_THREAD || event->kind == GT_EVENT_DEVICE)
		return set_name(chrome, event);
	if (event->kind == GT_EVENT_STREAM && event->stream.name)
		gt_chrome_rename_stream(chrome, event);
	return printers[event->kind] ? print(chrome, event) : 0;
}

static void set_metadata(struct gt_chrome *chrome, const struct gt_metadata *metadata)
{
	chrome->metadata = *metadata;
	chrome->metadata.schema = 0;
	chrome->has_gpu_work = metadata->mode && strcmp(metadata->mode, "cupti") == 0;
}

static int chrome_open(struct gt_writer *w, struct gt_sink *sink,
		       const struct gt_metadata *metadata, const struct gt_writer_options *options)
{
	struct gt_chrome *chrome = w->priv;
	int error;

	set_metadata(chrome, metadata);
	chrome->options = *options;
	chrome->file.output.newest = metadata->start;
	chrome->oldest = UINT64_MAX;
	chrome->window = gt_reorder_new(GT_CHROME_WINDOW);
	chrome->tracks = gt_tracks_new();
	chrome->flows = gt_memory_map(GT_CHROME_FLOWS * sizeof(*chrome->flows));
	chrome->parts = gt_chrome_parts_new();
	if (!chrome->window || !chrome->tracks || !chrome->flows || !chrome->parts ||
	    gt_chrome_texts_init(&chrome->texts) < 0 || gt_chrome_names_init(&chrome->names) < 0)
		return -ENOMEM;
	if (gt_chrome_file_init(&chrome->file) < 0)
		return -ENOMEM;
	chrome->file.output.has_next = options->has_next;
	error = options->resumes ? 0 : gt_chrome_file_open(chrome, sink);
	chrome->file.batch.tight = options->few_details;
	chrome->texts.tight = options->few_details || options->brief;
	chrome->texts.line =
		options->few_details || options->brief ? &gt_line_short : &gt_line_long;
	chrome->tally = (struct gt_file_tally){.key = GT_LEDGER_COUNT_};
	if (!error && !options->resumes)
		gt_chrome_name_process(chrome);
	return error;
}

/* Prints the event again and discards the text, to restore names, stacks, flows and counts. */
static void chrome_recall(struct gt_writer *w, const struct gt_event *event, uint32_t tid)
{
	struct gt_chrome *chrome = w->priv;
	print_event put = printer_of(event);

	chrome->tally = (struct gt_file_tally){.key = gt_ledger_key_of(event), .events = 1};
	chrome->is_recalling = true;
	chrome->recalled_tid = tid;
	see(chrome, event);
	if (event->kind == GT_EVENT_THREAD)
		gt_chrome_rename_thread(chrome, event->tid, event->thread.name);
	else if (event->kind == GT_EVENT_STREAM)
		gt_chrome_rename_stream(chrome, event);
	else if (put)
		put(chrome, event);
	chrome->is_recalling = false;
	gt_json_cut(&chrome->file.batch, 0);
	gt_file_recall(&chrome->file.output, &chrome->tally);
}

/* The previous line may be incomplete. */
static int chrome_resume(struct gt_writer *w, struct gt_sink *sink,
			 const struct gt_metadata *metadata, const struct gt_writer_past *past)
{
	struct gt_chrome *chrome = w->priv;
	struct gt_file *file = &chrome->file.output;
	int error = gt_sink_truncate(sink, past->offset);

	set_metadata(chrome, metadata);
	chrome->has_steps |= past->has_whole_step;
	if (!error)
		error = gt_sink_write(sink, past->offset, "\n]\n", 3);
	file->written.ledger.count[GT_LEDGER_NAMES_WRITTEN] = past->names;
	file->written.ledger.count[GT_LEDGER_FLOWS_WRITTEN] = past->flows;
	gt_file_resume(file, sink, past->offset + 1);
	return error;
}

static void chrome_follow(struct gt_writer *w, struct gt_writer *before)
{
	struct gt_chrome *chrome = w->priv, *full = before->priv;
	struct gt_reorder *window = chrome->window;
	struct gt_tracks *tracks = chrome->tracks;

	chrome->window = full->window;
	full->window = window;
	chrome->tracks = full->tracks;
	full->tracks = tracks;
	gt_tracks_forget_names(chrome->tracks);
	gt_file_follow(&chrome->file.output, &full->file.output);
}

static bool chrome_is_full(const struct gt_writer *w)
{
	return is_full(w->priv);
}

static struct gt_file *chrome_ledger(struct gt_writer *w)
{
	return &((struct gt_chrome *)w->priv)->file.output;
}

static int chrome_metadata(struct gt_writer *w, const struct gt_metadata *metadata)
{
	struct gt_chrome *chrome = w->priv;

	set_metadata(chrome, metadata);
	return gt_chrome_file_metadata(chrome);
}

static int chrome_flush(struct gt_writer *w, uint64_t settled)
{
	struct gt_chrome *chrome = w->priv;

	release(chrome, settled);
	return gt_chrome_file_flush(&chrome->file);
}

/* No event is lost for it. */
static void add_step(struct gt_chrome *chrome)
{
	struct gt_file *output = &chrome->file.output;

	if (chrome->has_steps || chrome->oldest == UINT64_MAX ||
	    gt_chrome_file_flush(&chrome->file) || output->error ||
	    gt_sink_room(output->sink, output->written.offset) < GT_FILE_TAIL + WHOLE_STEP)
		return;
	gt_chrome_put_whole_step(chrome);
}

static int chrome_close(struct gt_writer *w, const struct gt_metadata *metadata,
			struct gt_ledger *ledger)
{
	struct gt_chrome *chrome = w->priv;
	int error;

	set_metadata(chrome, metadata);
	release(chrome, UINT64_MAX);
	add_step(chrome);
	error = gt_chrome_file_close(chrome, ledger);
	w->ledger = *ledger;
	return error;
}

static void chrome_fini(struct gt_writer *w)
{
	struct gt_chrome *chrome = w->priv;

	gt_chrome_file_fini(&chrome->file);
	gt_chrome_texts_fini(&chrome->texts);
	gt_chrome_names_fini(&chrome->names);
	gt_memory_unmap(chrome->flows, GT_CHROME_FLOWS * sizeof(*chrome->flows));
	gt_chrome_parts_free(chrome->parts);
	gt_reorder_free(chrome->window);
	gt_tracks_free(chrome->tracks);
}

const struct gt_writer_ops gt_chrome_writer = {
	.name = "chrome",
	.suffix = ".pt.trace.json",
	.private_size = sizeof(struct gt_chrome),
	.open_bytes = (size_t)4 << 20,
	.open = chrome_open,
	.recall = chrome_recall,
	.resume = chrome_resume,
	.event = chrome_event,
	.follow = chrome_follow,
	.is_full = chrome_is_full,
	.file = chrome_ledger,
	.metadata = chrome_metadata,
	.flush = chrome_flush,
	.close = chrome_close,
	.fini = chrome_fini,
};

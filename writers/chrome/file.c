/* SPDX-License-Identifier: Apache-2.0
 *
 * One file in two forms (docs/FORMAT.md). While the process runs: an array whose first event is
 * padded to a block of fixed size, one event per line, comma first, and after each batch a closing
 * bracket that the next batch overwrites. Once closed: an object whose header replaces that block.
 * A process may die between any two bytes; the file then has complete lines and at most one broken
 * one.
 */
#include "writers/chrome/chrome.h"

#include <errno.h>

#include "core/json/metadata_json.h"

/* ---- the first block ---- */

/* {"ph": "M", "name": "process_name", ... "args": {"name": "train"  without the closing braces */
static void put_first_event(const struct gt_chrome *chrome, struct gt_json *json)
{
	gt_json_char(json, '{');
	gt_json_literal(json, "ph", "M");
	gt_json_literal(json, "name", "process_name");
	gt_chrome_put_where(chrome, json, gt_chrome_pid(chrome), 0, chrome->metadata.start);
	gt_json_key(json, "args");
	gt_json_char(json, '{');
	gt_json_member_cstr(json, "name",
			    chrome->metadata.process[0] ? chrome->metadata.process : "?");
}

static void fill(struct gt_json *json, size_t until)
{
	static const char blanks[] =
		"                                                                ";

	while (json->length < until && !json->failed) {
		size_t missing = until - json->length;

		gt_json_raw(json, blanks, missing < 64 ? missing : 64);
	}
}

/* The running form. In a stream the first event is not padded: nothing will overwrite it. */
static void make_running(const struct gt_chrome *chrome, struct gt_json *json, bool padded,
			 unsigned int cut)
{
	gt_json_cut(json, 0);
	gt_json_char(json, '[');
	put_first_event(chrome, json);
	gt_json_key(json, "header");
	gt_json_char(json, '{');
	gt_metadata_json_put(&chrome->metadata, json, false, cut);
	gt_json_char(json, '}');
	if (padded) {
		gt_json_key(json, "pad");
		gt_json_char(json, '"');
		fill(json, GT_CHROME_BLOCK - 4);
		gt_json_char(json, '"');
	}
	gt_json_raw(json, "}}\n", 3);
}

/* The closed form: header, first event without padding, blanks. */
static void make_closed(const struct gt_chrome *chrome, struct gt_json *json, unsigned int cut)
{
	gt_json_cut(json, 0);
	gt_json_raw(json, "{\n", 2);
	gt_metadata_json_put(&chrome->metadata, json, true, cut);
	gt_json_raw(json, ",\n", 2);
	gt_json_key(json, "traceEvents");
	gt_json_raw(json, "[\n", 2);
	put_first_event(chrome, json);
	gt_json_raw(json, "}}", 2);
	fill(json, GT_CHROME_BLOCK - 1);
	gt_json_char(json, '\n');
}

/* Makes the block with as few cuts as needed. Never -EOVERFLOW: the last cut always fits. */
static int make_block(const struct gt_chrome *chrome, struct gt_json *json, bool closed)
{
	for (unsigned int cut = 0; cut < GT_CHROME_CUTS; cut++) {
		if (closed)
			make_closed(chrome, json, cut);
		else
			make_running(chrome, json, true, cut);
		if (json->failed)
			return -ENOMEM;
		if (json->length == GT_CHROME_BLOCK)
			return 0;
	}
	return -EOVERFLOW;
}

/* ---- batches ---- */

int gt_chrome_file_init(struct gt_chrome_file *file)
{
	return gt_json_init(&file->batch, 2 * GT_FILE_BATCH) < 0 ||
			       gt_json_init(&file->block, 2 * GT_CHROME_BLOCK) < 0
		       ? -ENOMEM
		       : 0;
}

int gt_chrome_file_open(struct gt_chrome *chrome, struct gt_sink *sink)
{
	struct gt_chrome_file *file = &chrome->file;
	struct gt_json *block = &file->block;
	size_t size;
	int error = 0;

	file->output.sink = sink;
	if (gt_sink_can_patch(sink))
		error = make_block(chrome, block, false);
	else
		make_running(chrome, block, false, 0);
	if (error || block->failed)
		return error ? error : -ENOMEM;
	size = block->length;
	if (gt_sink_can_patch(sink))
		gt_json_raw(block, "]\n", 2);
	error = gt_sink_begin(sink, block->text, size, block->length);
	gt_file_begun(&file->output, size, 1);
	file->output.error = error;
	return error;
}

void gt_chrome_file_fini(struct gt_chrome_file *file)
{
	gt_json_fini(&file->batch);
	gt_json_fini(&file->block);
}

int gt_chrome_file_metadata(struct gt_chrome *chrome)
{
	struct gt_chrome_file *file = &chrome->file;
	int error;

	if (!gt_sink_can_patch(file->output.sink) || file->output.error)
		return file->output.error;
	error = make_block(chrome, &file->block, false);
	return error ? error
		     : gt_sink_write(file->output.sink, 0, file->block.text, GT_CHROME_BLOCK);
}

/* Restores the closing bracket after the last good batch. */
static void restore_end(struct gt_file *output)
{
	if (!gt_sink_can_patch(output->sink))
		return;
	if (gt_sink_truncate(output->sink, output->written.offset) == 0)
		gt_sink_write(output->sink, output->written.offset, "]\n", 2);
}

/* Most blanks for the sake of the alignment. */
#define BLANKS_MOST 1024u

/* Blanks behind the first @size bytes with which a batch that is full ends where the next one shall
 * begin. */
static size_t blanks_of(const struct gt_chrome_file *file, size_t size)
{
	const struct gt_file *output = &file->output;
	size_t left = output->batch - 2 - size; /* wraps behind an event that is longer */

	return output->batch > GT_FILE_BATCH && left <= BLANKS_MOST &&
			       gt_sink_can_patch(output->sink) && file->batch.text[size - 1] == '\n'
		       ? left
		       : 0;
}

/* Writes the first @size bytes of the batch, @blanks at the end of their last line, and a closing
 * bracket. */
static int write_batch(struct gt_chrome_file *file, size_t size, size_t blanks)
{
	struct gt_json *batch = &file->batch;
	size_t bracket = gt_sink_can_patch(file->output.sink) ? 2 : 0;
	char saved[BLANKS_MOST + 2], *end;
	int error;

	if (batch->capacity - size < blanks + 2 && !gt_json_grow(batch, blanks + 2))
		return gt_file_stop(&file->output, -ENOMEM);
	end = batch->text + size;
	memcpy(saved, end, blanks + 2);
	if (blanks) {
		memset(end - 1, ' ', blanks);
		end[blanks - 1] = '\n';
	}
	memcpy(end + blanks, "]\n", bracket);
	error = gt_file_write(&file->output, batch->text, size + blanks + bracket, bracket);
	memcpy(end, saved, blanks + 2);
	if (error < 0)
		restore_end(&file->output);
	return error;
}

int gt_chrome_file_flush(struct gt_chrome_file *file)
{
	int error = file->output.error;

	if (!error && file->batch.length)
		error = write_batch(file, file->batch.length, 0);
	gt_json_cut(&file->batch, 0);
	return error;
}

/* Names of tracks are no events. */
static void lose(struct gt_file *output, const struct gt_file_tally *tally, int error)
{
	if (tally->events)
		gt_file_lose(output, tally->key, error);
}

int gt_chrome_file_commit(struct gt_chrome_file *file, size_t begin,
			  const struct gt_file_tally *tally)
{
	struct gt_json *batch = &file->batch;
	int error = 0;

	if (batch->failed) {
		gt_json_cut(batch, begin);
		lose(&file->output, tally, -ENOMEM);
		return -ENOMEM;
	}
	if (batch->length + 2 > file->output.batch && begin) {
		error = write_batch(file, begin, blanks_of(file, begin));
		memmove(batch->text, batch->text + begin, batch->length - begin);
		gt_json_cut(batch, batch->length - begin);
	}
	if (error) {
		lose(&file->output, tally, error);
		gt_json_cut(batch, 0);
		return error;
	}
	gt_file_count(&file->output, tally);
	return 0;
}

/* ---- the end ---- */

/* One `i` event of the tail, up to its arguments. */
#define begin_last(chrome, json, scope, name, time)                                                \
	do {                                                                                       \
		gt_json_raw(json, ",{", 2);                                                        \
		gt_json_literal(json, "ph", "i");                                                  \
		gt_json_literal(json, "s", scope);                                                 \
		gt_json_literal(json, "cat", "gputrace");                                          \
		gt_json_literal(json, "name", name);                                               \
		gt_chrome_put_where(chrome, json, gt_chrome_pid(chrome), gt_chrome_pid(chrome),    \
				    time);                                                         \
		gt_json_key(json, "args");                                                         \
		gt_json_char(json, '{');                                                           \
	} while (0)

static void put_loss(void *context, const char *cause, uint64_t events)
{
	struct gt_chrome *chrome = context;
	struct gt_json *json = &chrome->file.block;

	begin_last(chrome, json, "p", "LOST", chrome->file.output.lost.since);
	gt_json_member_cstr(json, "cause", cause);
	gt_json_member_u64(json, "events", events);
	gt_json_raw(json, "}}\n", 3);
}

static void put_closing(const struct gt_chrome *chrome, struct gt_json *json,
			const struct gt_ledger *ledger)
{
	if (!chrome->metadata.repaired.without_ledger)
		gt_metadata_json_put_ledger(json, ledger);
	gt_metadata_json_put_repaired(json, &chrome->metadata.repaired);
}

static void make_tail(struct gt_chrome *chrome, const struct gt_ledger *ledger)
{
	struct gt_json *json = &chrome->file.block;
	const char *path = gt_sink_path(chrome->file.output.sink);
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t length = strlen(name),
	       packed = length > 3 && !strcmp(name + length - 3, ".gz") ? 3 : 0;
	bool object = gt_sink_can_patch(chrome->file.output.sink);

	gt_json_cut(json, 0);
	gt_file_each_loss(&chrome->file.output, put_loss, chrome);
	begin_last(chrome, json, "g", "Record Window End", chrome->file.output.newest);
	if (!object)
		put_closing(chrome, json, ledger);
	gt_json_raw(json, "}}\n]", 4);
	if (object) {
		put_closing(chrome, json, ledger);
		gt_json_key(json, "traceName");
		gt_json_string(json, name, length - packed);
		gt_json_char(json, '}');
	}
	gt_json_char(json, '\n');
}

static int write_tail(struct gt_chrome *chrome, const struct gt_ledger *session)
{
	struct gt_file *output = &chrome->file.output;
	struct gt_json *block = &chrome->file.block;
	struct gt_ledger ledger = gt_file_ledger(output, session);

	make_tail(chrome, &ledger);
	if (block->failed)
		return -ENOMEM;
	return gt_sink_write(output->sink, output->written.offset, block->text, block->length);
}

int gt_chrome_file_close(struct gt_chrome *chrome, struct gt_ledger *ledger)
{
	struct gt_chrome_file *file = &chrome->file;
	struct gt_file *output = &file->output;
	int error;

	gt_chrome_file_flush(file);
	error = write_tail(chrome, ledger);
	if (error && gt_file_drop_newest(output, error) == 0)
		error = write_tail(chrome, ledger);
	*ledger = gt_file_ledger(output, ledger);
	output->has_end = !error;
	if (error) {
		restore_end(output);
		return error;
	}
	if (!gt_sink_can_patch(output->sink))
		return 0;
	error = make_block(chrome, &file->block, true);
	return error ? error : gt_sink_write(output->sink, 0, file->block.text, GT_CHROME_BLOCK);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * The file: packets one behind the other, written in batches. Every beginning of it is a trace; a
 * process may die between any two bytes. When the disk is full the file ends behind a whole packet,
 * later events are counted, and the end with the ledger takes the place of the newest if it must.
 */
#include "writers/perfetto.h"

#include <errno.h>

#include "core/log.h"

/* The ledger at ten bytes a number beside its key, and the notes of what was lost. */
_Static_assert(GT_LEDGER_COUNT_ * 64 + 2048 < GT_PERFETTO_TAIL, "the end has its room");

static void add_up(struct gt_ledger *to, const struct gt_ledger *from)
{
	for (int i = 0; i < GT_LEDGER_COUNT_; i++)
		to->count[i] += from->count[i];
}

static void batch_is_written(struct gt_perfetto_file *file, size_t size)
{
	file->written.offset += size;
	file->written.events += file->batch_events;
	add_up(&file->written.ledger, &file->batch_ledger);
	file->batch_events = 0;
	file->batch_ledger = (struct gt_ledger){0};
	if (file->written.offset - file->back[1].offset >= GT_PERFETTO_TAIL) {
		file->back[0] = file->back[1];
		file->back[1] = file->written;
	}
}

/* From here on events are only counted. */
static int stop(struct gt_perfetto_file *file, int error)
{
	file->error = error;
	if (error == -ENOMEM)
		file->lost_memory += file->batch_events;
	else
		file->lost_disk += file->batch_events;
	file->batch_events = 0;
	file->batch_ledger = (struct gt_ledger){0};
	gt_proto_cut(&file->batch, 0);
	return error;
}

/* Said here and not by the sink, whose own limit is never reached: the end must still fit. */
static int stop_at_limit(struct gt_perfetto_file *file)
{
	gt_log_say("%s: size limit reached, later events are counted only",
		   gt_sink_path(file->sink));
	return stop(file, -EFBIG);
}

int gt_perfetto_file_flush(struct gt_perfetto_file *file)
{
	struct gt_proto *batch = &file->batch;
	size_t size = batch->length;
	int error;

	if (file->error || !size)
		return file->error;
	if (batch->failed)
		return stop(file, -ENOMEM);
	if (gt_sink_room(file->sink, file->written.offset) < size + GT_PERFETTO_TAIL)
		return stop_at_limit(file);
	error = gt_sink_write(file->sink, file->written.offset, batch->data, size);
	if (error < 0) {
		if (gt_sink_can_patch(file->sink))
			gt_sink_truncate(file->sink, file->written.offset);
		return stop(file, error);
	}
	batch_is_written(file, size);
	gt_proto_cut(batch, 0);
	return 0;
}

int gt_perfetto_file_commit(struct gt_perfetto_file *file, enum gt_ledger_key key, uint32_t events)
{
	file->batch_events += events;
	if (key < GT_LEDGER_COUNT_)
		file->batch_ledger.count[key]++;
	if (file->batch.length < GT_PERFETTO_BATCH && !file->batch.failed)
		return 0;
	return gt_perfetto_file_flush(file);
}

/* ---- the end ---- */

/* The ledger as it stands when the events end at file->written. */
static struct gt_ledger final_ledger(const struct gt_perfetto_file *file,
				     const struct gt_ledger *session)
{
	struct gt_ledger sum = *session;

	add_up(&sum, &file->written.ledger);
	sum.count[GT_LEDGER_EVENTS_LOST_DISK] += file->lost_disk;
	sum.count[GT_LEDGER_EVENTS_LOST_MEMORY] += file->lost_memory;
	sum.count[GT_LEDGER_BYTES_WRITTEN] = file->written.offset;
	return sum;
}

static int write_end(struct gt_perfetto *pf, const struct gt_ledger *session)
{
	struct gt_perfetto_file *file = &pf->file;
	struct gt_ledger ledger = final_ledger(file, session);

	gt_proto_cut(&file->batch, 0);
	gt_perfetto_put_end(pf, &ledger);
	if (file->batch.failed)
		return -ENOMEM;
	return gt_sink_write(file->sink, file->written.offset, file->batch.data,
			     file->batch.length);
}

/* No room for the end: the newest events give up theirs. */
static int write_end_earlier(struct gt_perfetto *pf, const struct gt_ledger *session, int error)
{
	struct gt_perfetto_file *file = &pf->file;

	if (!gt_sink_can_patch(file->sink) || file->written.offset == file->back[0].offset)
		return error;
	file->lost_disk += file->written.events - file->back[0].events;
	file->written = file->back[0];
	if (!file->error)
		file->error = error;
	error = gt_sink_truncate(file->sink, file->written.offset);
	return error ? error : write_end(pf, session);
}

int gt_perfetto_file_close(struct gt_perfetto *pf, struct gt_ledger *ledger)
{
	struct gt_perfetto_file *file = &pf->file;
	int error;

	gt_perfetto_file_flush(file);
	error = write_end(pf, ledger);
	if (error)
		error = write_end_earlier(pf, ledger, error);
	if (error && gt_sink_can_patch(file->sink))
		gt_sink_truncate(file->sink, file->written.offset);
	*ledger = final_ledger(file, ledger);
	return error;
}

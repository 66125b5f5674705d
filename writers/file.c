/* SPDX-License-Identifier: Apache-2.0
 *
 * Ledger and limits of a trace file, see the header. Drain thread only.
 */
#include "writers/file.h"

#include <errno.h>
#include <string.h>

#include "core/guest/log.h"
#include "core/guest/memory.h"

/* Room for one more event, so that a full file is left in time. */
#define NEXT_EVENT (GT_FILE_BATCH * 2)

/* Keys and values of the ledger, and the notes of losses. */
_Static_assert(GT_LEDGER_COUNT_ * 64 + 2048 < GT_FILE_TAIL, "the end has its room");

/* Batches of a file that has much room. */
#define LARGE_BATCHES 64u

static size_t next_batch(const struct gt_file *file, size_t overwritten)
{
	uint64_t begin = file->written.offset;
	uint64_t end = begin + overwritten + GT_FILE_BATCH_LARGE;
	bool is_roomy = gt_sink_room(file->sink, begin) >= LARGE_BATCHES * GT_FILE_BATCH_LARGE;

	return is_roomy && gt_memory_is_ample(2 * GT_FILE_BATCH_LARGE)
		       ? (size_t)(end - end % GT_FILE_ALIGNED - begin)
		       : GT_FILE_BATCH;
}

static void add_up(struct gt_ledger *to, const struct gt_ledger *from)
{
	for (int i = 0; i < GT_LEDGER_COUNT_; i++)
		to->count[i] += from->count[i];
}

/* Asked once a batch, not once an event. */
static uint64_t full_at(const struct gt_file *file)
{
	uint64_t room = gt_sink_room(file->sink, file->written.offset);
	uint64_t kept = NEXT_EVENT + GT_FILE_TAIL;

	return room < kept ? 0 : room - kept + 1;
}

void gt_file_begun(struct gt_file *file, size_t size, uint32_t names)
{
	file->written.offset = size;
	file->written.packed = gt_sink_place(file->sink);
	file->written.ledger.count[GT_LEDGER_NAMES_WRITTEN] = names;
	file->back[0] = file->back[1] = file->written;
	file->batch = GT_FILE_BATCH;
	file->full = full_at(file);
}

void gt_file_recall(struct gt_file *file, const struct gt_file_tally *tally)
{
	file->written.events += tally->events;
	gt_file_tally_into(&file->written.ledger, tally);
}

void gt_file_resume(struct gt_file *file, struct gt_sink *sink, uint64_t offset)
{
	file->sink = sink;
	file->written.offset = offset;
	file->is_whole = true;
	file->batch = GT_FILE_BATCH;
	file->full = full_at(file);
}

/* To be counted by kind, too. */
static void lose(struct gt_file *file, uint64_t events, int error)
{
	if (!events)
		return;
	if (error == -ENOMEM) {
		file->lost.memory += events;
	} else {
		file->lost.disk += events;
		file->lost.error = error;
	}
	if (!file->lost.since)
		file->lost.since = file->newest;
}

void gt_file_lose(struct gt_file *file, enum gt_ledger_key key, int error)
{
	lose(file, 1, error);
	gt_losses_add_kind(&file->lost, key, 1);
}

/* The events of @ledger that @kept has not. */
static void lose_kinds(struct gt_losses *lost, const struct gt_ledger *ledger,
		       const struct gt_ledger *kept)
{
	for (int i = 0; i < GT_LEDGER_KINDS_; i++) {
		enum gt_ledger_key key = gt_ledger_kinds[i].written;

		lost->kinds[i] += ledger->count[key] - kept->count[key];
	}
}

/* The batch is in the file: counts its events and marks its end as a place to fall back to. */
static void batch_is_written(struct gt_file *file, size_t size, size_t overwritten)
{
	file->written.offset += size - overwritten;
	file->written.packed = gt_sink_place(file->sink);
	file->written.events += file->batch_events;
	add_up(&file->written.ledger, &file->batch_ledger);
	file->batch_events = 0;
	file->batch_ledger = (struct gt_ledger){0};
	file->batch = next_batch(file, overwritten);
	file->full = full_at(file);
	if (file->written.offset - file->back[1].offset >= GT_FILE_TAIL) {
		file->back[0] = file->back[1];
		file->back[1] = file->written;
	}
}

int gt_file_stop(struct gt_file *file, int error)
{
	static const struct gt_ledger nothing;

	file->error = error;
	lose(file, file->batch_events, error);
	lose_kinds(&file->lost, &file->batch_ledger, &nothing);
	file->batch_events = 0;
	file->batch_ledger = (struct gt_ledger){0};
	return error;
}

/* Reported here, not by the sink, whose own limit is never reached: the end must still fit. */
static int stop_at_limit(struct gt_file *file)
{
	if (!file->has_next)
		gt_log_say("%s: size limit reached, later events are counted only",
			   gt_sink_path(file->sink));
	return gt_file_stop(file, file->stays ? file->stays : -EFBIG);
}

int gt_file_write(struct gt_file *file, const void *data, size_t size, size_t overwritten)
{
	int error;

	if (gt_sink_room(file->sink, file->written.offset) < size + GT_FILE_TAIL)
		return stop_at_limit(file);
	error = gt_sink_append(file->sink, file->written.offset, data, size, overwritten);
	if (error < 0) {
		file->has_next = false; /* the disk is full, not the file */
		return gt_file_stop(file, error);
	}
	batch_is_written(file, size, overwritten);
	return 0;
}

void gt_file_stays(struct gt_file *file, int error)
{
	file->has_next = false;
	file->stays = error;
	if (file->error == -EFBIG) /* an event had no room at the end */
		file->error = error;
}

void gt_file_follow(struct gt_file *file, struct gt_file *before)
{
	gt_losses_add(&file->lost, &before->lost);
	before->lost = (struct gt_losses){0};
}

struct gt_ledger gt_file_ledger(const struct gt_file *file, const struct gt_ledger *session)
{
	struct gt_ledger sum = *session;

	add_up(&sum, &file->written.ledger);
	gt_losses_count(&file->lost, &sum);
	sum.count[GT_LEDGER_BYTES_WRITTEN] = file->written.offset;
	/* the end itself has these notes */
	sum.count[GT_LEDGER_NOTES_WRITTEN] += (file->lost.disk > 0) + (file->lost.memory > 0);
	return sum;
}

int gt_file_drop_newest(struct gt_file *file, int error)
{
	if (file->is_whole || !gt_sink_can_patch(file->sink) ||
	    file->written.offset == file->back[0].offset)
		return error;
	lose(file, file->written.events - file->back[0].events, file->error ? file->error : error);
	lose_kinds(&file->lost, &file->written.ledger, &file->back[0].ledger);
	file->written = file->back[0];
	return gt_sink_go_back(file->sink, file->written.offset, &file->written.packed);
}

/* What stopped a file, in the words of its note. */
static const struct {
	int32_t error;
	const char *cause;
} causes[] = {{-EFBIG, "size limit"},
	      {-ENOSPC, "disk full"},
	      {-EDQUOT, "disk full"},
	      {-EMFILE, "too many open files"},
	      {-ENFILE, "too many open files"}};

#define OTHER_CAUSE  "write error"
#define MEMORY_CAUSE "no memory"
#define OF_WHAT      "events"

static const char *cause_of(int32_t error)
{
	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++)
		if (causes[i].error == error)
			return causes[i].cause;
	return OTHER_CAUSE;
}

void gt_file_each_loss(const struct gt_file *file,
		       void (*put)(void *context, const char *cause, uint64_t events),
		       void *context)
{
	if (file->lost.disk)
		put(context, cause_of(file->lost.error), file->lost.disk);
	if (file->lost.memory)
		put(context, MEMORY_CAUSE, file->lost.memory);
}

/* 0: none of them. */
static int32_t error_of(const char *cause)
{
	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++)
		if (!strcmp(cause, causes[i].cause))
			return causes[i].error;
	return strcmp(cause, OTHER_CAUSE) != 0 ? 0 : -EIO;
}

bool gt_file_read_loss(const struct gt_note_event *note, uint64_t time, struct gt_losses *losses)
{
	int32_t error;

	if (!note->name || strcmp(note->name, "LOST") != 0 || note->what || !note->cause ||
	    !note->of_what || strcmp(note->of_what, OF_WHAT) != 0)
		return false;
	error = error_of(note->cause);
	if (error)
		losses->disk += note->count;
	else if (!strcmp(note->cause, MEMORY_CAUSE))
		losses->memory += note->count;
	else
		return false;
	losses->error = error ? error : losses->error;
	losses->since = time;
	return true;
}

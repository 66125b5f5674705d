/* SPDX-License-Identifier: Apache-2.0
 *
 * Common to the files of all formats: batches that are written whole or not at all, the ledger of
 * their events, space for the end, and the behaviour at a full disk or the size limit: later events
 * are counted as lost, and the newest ones are dropped if the end does not fit. Drain thread only.
 */
#ifndef GT_WRITERS_FILE_H
#define GT_WRITERS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/losses.h"
#include "core/schema/event.h"
#include "core/schema/ledger.h"
#include "writers/sink.h"

/* Largest batch; a longer event is a batch of its own. Large ones cost a third less for each byte
 * (docs/benchmarks/writing.md), but more is lost with one: they follow a first one where memory is
 * ample and the file far from its limit. */
#define GT_FILE_BATCH       ((size_t)64 << 10)
#define GT_FILE_BATCH_LARGE ((size_t)256 << 10)
/* Where large ones end, with what the next one overwrites: one that ends inside a page costs a
 * quarter more. */
#define GT_FILE_ALIGNED     ((size_t)64 << 10)
/* Upper bound of the end of a closed file. */
#define GT_FILE_TAIL        ((size_t)12 << 10)

/* A place in the file after a batch, and what was written by then. */
struct gt_file_mark {
	uint64_t offset;
	uint64_t events;
	struct gt_ledger ledger;
	struct gt_packed_place packed; /* the same place where the file is compressed */
};

/* The file of a writer, whatever its format. */
struct gt_file {
	struct gt_sink *sink;
	struct gt_file_mark written; /* up to the end of the last batch */
	struct gt_file_mark back[2]; /* earlier places; back[0] is GT_FILE_TAIL or more before */
	size_t batch;                /* most bytes of it; the writer owns it */
	uint64_t full;               /* size in bytes at which the next file begins */
	uint64_t batch_events;       /* in the batch */
	struct gt_ledger batch_ledger;
	struct gt_losses lost;
	uint64_t newest; /* trace ns: the latest end of its events */
	bool has_next;   /* another file follows a full one */
	int stays;       /* why none does, though one should: a negative errno; 0: none should */
	bool has_end;    /* and in it the ledger, though closing it may have failed behind that */
	bool is_whole;   /* an existing file is appended to: none of it is dropped for the end */
	int error;       /* negative errno: no more events are written */
};

/* What one event adds to the ledger once it is in the file. */
struct gt_file_tally {
	enum gt_ledger_key key; /* GT_LEDGER_COUNT_: none */
	uint32_t events;        /* 0: names only */
	uint32_t flows;
	uint32_t stacks;
	uint32_t names;
};

/* The beginning of the file has been written: @size bytes with the @names of tracks. */
void gt_file_begun(struct gt_file *file, size_t size, uint32_t names);

/* An event is about to be written, or is in the file that is appended to. */
static inline void gt_file_see(struct gt_file *file, const struct gt_event *event)
{
	if (event->end > file->newest)
		file->newest = event->end;
}

/* Adds an event to a ledger. */
static inline void gt_file_tally_into(struct gt_ledger *ledger, const struct gt_file_tally *tally)
{
	if (tally->key < GT_LEDGER_COUNT_)
		ledger->count[tally->key]++;
	ledger->count[GT_LEDGER_FLOWS_WRITTEN] += tally->flows;
	ledger->count[GT_LEDGER_STACKS_WRITTEN] += tally->stacks;
	ledger->count[GT_LEDGER_NAMES_WRITTEN] += tally->names;
}

/* An event is complete in the batch. */
static inline void gt_file_count(struct gt_file *file, const struct gt_file_tally *tally)
{
	file->batch_events += tally->events;
	gt_file_tally_into(&file->batch_ledger, tally);
}

/* An event is in the file that is appended to. */
void gt_file_recall(struct gt_file *file, const struct gt_file_tally *tally);

/* Appends at @offset, to what was recalled. */
void gt_file_resume(struct gt_file *file, struct gt_sink *sink, uint64_t offset);

/* An event, written under @key, is lost: the file has ended, or there was no memory for it (@error
 * -ENOMEM). */
void gt_file_lose(struct gt_file *file, enum gt_ledger_key key, int error);

/* Writes the batch of @size bytes; the next one overwrites its last @overwritten bytes. A failure
 * is final: the batch is lost and counted. */
int gt_file_write(struct gt_file *file, const void *data, size_t size, size_t overwritten);

/* No more events: the batch is lost and counted. Returns @error. */
int gt_file_stop(struct gt_file *file, int error);

/* Whether to start the next file: with @pending bytes in the batch and one more event, the end
 * would hardly fit. Never without has_next. */
static inline bool gt_file_is_full(const struct gt_file *file, size_t pending)
{
	return file->has_next && (file->error || pending >= file->full);
}

/* No file can follow, because of @error: later this one is full for good. */
void gt_file_stays(struct gt_file *file, int error);

/* The next file reports what the full one could not write. */
void gt_file_follow(struct gt_file *file, struct gt_file *before);

/* The ledger if the events end at file->written. */
struct gt_ledger gt_file_ledger(const struct gt_file *file, const struct gt_ledger *session);

/* @error kept the end from being written: drops the newest events for it. 0: try again. */
int gt_file_drop_newest(struct gt_file *file, int error);

/* Calls @put for each cause of losses that the end of the file has a note of: the cause as text,
 * how many events. */
void gt_file_each_loss(const struct gt_file *file,
		       void (*put)(void *context, const char *cause, uint64_t events),
		       void *context);

/* The reverse: true if a note, read from a file, is one of these. Adds what it says, with its
 * @time. */
bool gt_file_read_loss(const struct gt_note_event *note, uint64_t time, struct gt_losses *losses);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of all formats have in common: batches that stand in the file whole or not at all,
 * the ledger of what they hold, room for the end, and what happens when the disk or the size limit
 * is reached: later events are counted, and the newest give up their place when not even the end
 * has room. Drain thread only.
 */
#ifndef GT_WRITERS_FILE_H
#define GT_WRITERS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/schema/ledger.h"
#include "writers/sink.h"

/* Most bytes that are written together; what is longer by itself is a batch of its own. */
#define GT_FILE_BATCH ((size_t)64 << 10)
/* More than the end of any closed file needs. */
#define GT_FILE_TAIL  ((size_t)8 << 10)

/* A place in the file behind a batch, and what had been written by then. */
struct gt_file_mark {
	uint64_t offset;
	uint64_t events;
	struct gt_ledger ledger;
};

/* The file of a writer, whatever its format. */
struct gt_file {
	struct gt_sink *sink;
	struct gt_file_mark written; /* up to the end of the last batch */
	struct gt_file_mark back[2]; /* earlier places; back[0] is GT_FILE_TAIL or more before */
	uint64_t batch_events;       /* in the batch, which its owner holds */
	struct gt_ledger batch_ledger;
	uint64_t lost_disk, lost_memory;
	int cause;     /* error by which events were lost on the disk */
	bool has_next; /* another file follows a full one */
	int error;     /* negative errno: no more events are written */
};

/* What one event adds to the ledger once it is in the file. */
struct gt_file_tally {
	enum gt_ledger_key key; /* GT_LEDGER_COUNT_: none */
	uint32_t events;        /* 0: names only */
	uint32_t flows;
	uint32_t stacks;
	uint32_t names;
};

/* The beginning of the file, @size bytes with @names of its rows, has been written. */
void gt_file_begun(struct gt_file *file, size_t size, uint32_t names);

/* An event is whole in the batch. */
void gt_file_count(struct gt_file *file, const struct gt_file_tally *tally);

/* An event is lost: it came after the end of the file, or could not be made (@error -ENOMEM). */
void gt_file_lose(struct gt_file *file, uint64_t events, int error);

/* Writes the batch, @size bytes of which the last @behind are overwritten by the next one. A
 * failure is final: what was in the batch is lost and counted. */
int gt_file_write(struct gt_file *file, const void *data, size_t size, size_t behind);

/* No more events: the batch is lost and counted. Returns @error. */
int gt_file_stop(struct gt_file *file, int error);

/* Whether it is time for the next file: with @pending bytes in the batch, and what the next event
 * may have, there is hardly room for the end. Never without has_next. */
bool gt_file_is_full(const struct gt_file *file, size_t pending);

/* What the full one could not write is reported by the one that follows it. */
void gt_file_follow(struct gt_file *file, struct gt_file *before);

/* The ledger as it stands when the events end at file->written. */
struct gt_ledger gt_file_ledger(const struct gt_file *file, const struct gt_ledger *session);

/* The end, which @error kept from being written, gets the place of the newest events. 0: it may be
 * tried once more. */
int gt_file_give_way(struct gt_file *file, int error);

/* Why events are missing, in words for the trace. */
const char *gt_file_cause(const struct gt_file *file);

#endif

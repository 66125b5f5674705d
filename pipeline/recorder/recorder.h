/* SPDX-License-Identifier: Apache-2.0
 *
 * The newest events, in blocks of memory: what is older than the time, or does not fit into the
 * memory, goes, the oldest block first, and is counted. The blocks lie in the spool if there is
 * one. Drain thread, or recovery, which reads those of a dead process (see struct
 * gt_recorder_store).
 */
#ifndef GT_PIPELINE_RECORDER_RECORDER_H
#define GT_PIPELINE_RECORDER_RECORDER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/guest/clock.h"
#include "core/schema/event.h"
#include "core/schema/ledger.h"
#include "core/window/flight_plan.h"
#include "pipeline/recorder/event_code.h"

#define GT_RECORDER_BLOCKS 1024u
/* Bytes of the names of threads and streams that recovery finds. */
#define GT_RECORDER_NAMES  (64u << 10)
/* Likewise of ranges that have begun and not ended. */
#define GT_RECORDER_OPEN   (64u << 10)

/* Some events in the order in which they came. */
struct gt_recorder_block {
	uint8_t *data;
	_Atomic uint32_t used;
	uint64_t newest; /* trace ns of the latest end */
	uint64_t count[GT_EVENT_COUNT_];
};

/* Which blocks there are, and what was in those that went: together, as a kill may come at any
 * moment. */
struct gt_recorder_state {
	/* numbers of blocks; block n is at n modulo their count. Those from oldest to first are in
	 * a dump or gone, and rings and buffers may still have what is in them. */
	uint64_t oldest, first, end;
	uint64_t gone[GT_EVENT_COUNT_]; /* since the start: older than what is kept, by kind */
	uint64_t cut;   /* trace ns: what ended by then may have gone for lack of room */
	uint64_t told;  /* trace ns of the last dump */
	uint32_t dumps; /* that are written */
};

/* The ranges that were open at the end of a round. */
struct gt_recorder_open {
	uint32_t used;
	uint8_t data[GT_RECORDER_OPEN];
};

/* As it lies in the spool; pointers in it are addresses of its process. */
struct gt_recorder_store {
	uint64_t keep_ns;
	uint32_t block_bytes;
	_Atomic uint64_t now; /* trace ns: the drain thread's last look */
	_Atomic uint32_t at;  /* which of the two is whole */
	uint32_t closing;     /* which will be, once the dump that is being closed is */
	struct gt_recorder_state states[2];
	struct gt_recorder_block blocks[GT_RECORDER_BLOCKS];
	_Atomic uint32_t named; /* bytes of @names */
	uint8_t names[GT_RECORDER_NAMES];
	_Atomic uint32_t open_at; /* which of the two is whole */
	struct gt_recorder_open open[2];
};

/* Given: the first three; the rest is made by _start. */
struct gt_recorder {
	struct gt_flight_plan plan; /* keep_ns 0: there is no recorder, and no store */
	struct gt_intern *strings;
	const struct gt_clock *clock;
	struct gt_recorder_store *store;
	uint64_t most; /* blocks that may exist */
	uint64_t made; /* that do */
	uint8_t *spare[GT_RECORDER_BLOCKS];
	uint32_t spare_count;
	bool is_open;     /* the newest block takes more */
	uint64_t read_to; /* number of the block that is read next; all before are written */
	uint64_t old[GT_EVENT_COUNT_]; /* in those: too old to be handed out */
	struct gt_recorder_left {      /* blocks that had to go since they were read */
		uint64_t gone[GT_EVENT_COUNT_];
		uint64_t cut; /* as the state's */
	} left;
	uint64_t past_to, past_at; /* blocks before that were past at this time, trace ns */
	struct gt_event_code code, name_code, open_code;
};

/* Makes the store. -ENOMEM. */
int gt_recorder_start(struct gt_recorder *recorder);

/* Also of a zeroed struct. */
void gt_recorder_fini(struct gt_recorder *recorder);

/* Keeps a copy. False: there is no memory at all. */
bool gt_recorder_keep(struct gt_recorder *recorder, const struct gt_event *event);

/* A name that all later dumps have: for recovery; the files take them from elsewhere. */
void gt_recorder_name(struct gt_recorder *recorder, const struct gt_event *event);

/* The ranges that are open now, for recovery: _begin, _open for each, _opened. False: no room for
 * it. */
void gt_recorder_open_begin(struct gt_recorder *recorder);
bool gt_recorder_open(struct gt_recorder *recorder, const struct gt_event *range);
void gt_recorder_opened(struct gt_recorder *recorder);

/* It is @now (trace ns): blocks go in which everything is too old. */
void gt_recorder_age(struct gt_recorder *recorder, uint64_t now);

/* What comes from now on is behind the number that is returned. */
uint64_t gt_recorder_seal(struct gt_recorder *recorder);

/* Hands each event of the next block to @take, unless it ended before @since: then it is gone.
 * False: no block before @seal is left. The block stays until its room is needed, or _done. */
bool gt_recorder_read(struct gt_recorder *recorder, uint64_t seal, uint64_t since,
		      void (*take)(void *context, const struct gt_event *event), void *context);

/* All that was read is in the file of a dump, which was made at @time, trace ns. _closing: for
 * recovery, before it is closed; _done: it is. Nothing is kept in between. _not_done: it could not
 * be closed, and the next dump reads it again. */
void gt_recorder_closing(struct gt_recorder *recorder, uint64_t time);
void gt_recorder_done(struct gt_recorder *recorder, uint64_t time);
void gt_recorder_not_done(struct gt_recorder *recorder);

/* It is @now; rings and buffers have no more of what was read before @until (trace ns): the memory
 * of blocks that were past by then is free. */
void gt_recorder_settle(struct gt_recorder *recorder, uint64_t now, uint64_t until);

/* From when on all is there that a dump at @now has (trace ns), and how many dumps were made. Also
 * of a dead process. */
uint64_t gt_recorder_whole_from(const struct gt_recorder_store *store, uint64_t now);
uint32_t gt_recorder_dumps(const struct gt_recorder_store *store);

/* Nothing is kept. */
bool gt_recorder_is_empty(const struct gt_recorder *recorder);

/* Sets the counts of what is gone in a ledger. @more: what is not yet in those of the store, by
 * kind. */
void gt_recorder_count(const struct gt_recorder_store *store, const uint64_t *more,
		       struct gt_ledger *ledger);

/* Counts an event of that kind as gone. */
void gt_recorder_lose(struct gt_ledger *ledger, enum gt_event_kind kind, uint64_t n);

#endif

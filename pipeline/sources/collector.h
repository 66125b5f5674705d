/* SPDX-License-Identifier: Apache-2.0
 *
 * A source of events, as the pipeline sees it: when it starts, is drained and stops, and what it
 * counts (docs/HOWTO_ADD_COLLECTOR.md). Functions may be NULL.
 */
#ifndef GT_PIPELINE_SOURCES_COLLECTOR_H
#define GT_PIPELINE_SOURCES_COLLECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/schema/ledger.h"

struct gt_outlet;

#define GT_COLLECTORS_MAX       16
#define GT_COLLECTOR_COUNTS_MAX 16 /* of one collector */

/* What to say of a full ring: one that was given does not grow, the default's does. */
#define GT_COLLECTOR_RING_FULL                                                                     \
	"a thread's ring was full: give more than the default grows to, --ring-size=64M"

/* A count that a collector keeps: where it ends up, and the note that the trace gets when it grows.
 */
struct gt_collector_count {
	uint64_t (*now)(const void *part); /* since the start */
	enum gt_ledger_key key;            /* GT_LEDGER_COUNT_: no key of its own */
	const char *note;                  /* "LOST", "thinned", ...; NULL: the ledger alone */
	const char *cause;                 /* what made it grow; NULL: gt_memory_limit_cause */
	const char *of_what;               /* what is counted */
	const char *what;                  /* one phrase, with the remedy if there is one */
};

/* The turn of a large source in one round. */
struct gt_collector_turn {
	size_t bytes;                      /* about so much may be read */
	uint64_t (*others)(void *context); /* drains the quick ones; returns how many records */
	void *context;
};

/* A collector. @part: its own context, and nothing else. Drain thread where nothing else is said;
 * it holds the pipeline. */
struct gt_collector {
	const char *name;
	/* Session start, on the thread that is inside cuInit, in the order of the array. 0, or a
	 * negative errno: the session does not start. */
	int (*start)(void *part);
	/* Records that wait, of a source that is small and quick: called between the parts of large
	 * ones, too. Returns how many there were. */
	uint64_t (*drain)(void *part);
	/* The same of a large source, which lets the others have their turn between its parts. */
	uint64_t (*read)(void *part, struct gt_collector_turn *turn);
	/* What _read would find now, in bytes. */
	size_t (*waiting)(const void *part);
	/* Asks the library behind it for what that still holds; @forced: even what is not complete.
	 * Nobody holds the pipeline: it may block. */
	void (*flush)(void *part, bool forced);
	/* The same, and waits some ms for what is not complete; with @forced takes it then. */
	void (*fetch)(void *part, bool forced);
	/* The window that --delay and --start-at ask for begins: records from now on. Nobody holds
	 * the pipeline: it may block. */
	void (*begin)(void *part);
	/* The window has ended and the program goes on: the library is to cost as little as it can.
	 * Nobody holds the pipeline. */
	void (*rest)(void *part);
	/* Behind a rest whose records have all come, until the next begin: the library is as if
	 * nobody had used it. Nobody holds the pipeline. */
	void (*part_with)(void *part);
	/* The process is ending: where other threads go on, asks the library to begin no new
	 * records. False: new work may still keep it from returning what came before. Nobody holds
	 * the pipeline. */
	bool (*cease)(void *part);
	/* Records that may still come, so that it is worth to flush once more. */
	uint64_t (*outstanding)(const void *part);
	/* A failure that it has noticed by itself; calls no library. @now: CLOCK_MONOTONIC ns. */
	void (*check)(void *part, uint64_t now);
	/* Should the library be polled? @flushed: what was there at @now has been fetched since. */
	bool (*poll_is_due)(void *part, uint64_t now, bool flushed);
	/* Polls it. Nobody holds the pipeline: it may block. Then what was found, holding. */
	void (*poll)(void *part);
	void (*polled)(void *part);
	/* From now on the library is not called: its locks may be held for ever. @stuck: by the
	 * drain thread, and the caller has taken over. */
	void (*leave)(void *part, bool stuck);
	/* Before its counts are compared with those of the last time, at each flush. */
	void (*report)(void *part);
	const struct gt_collector_count *counts;
	size_t count_count;
	/* What is no plain count, for a ledger to be closed; with a spool after each round, too,
	 * for a copy of it. */
	void (*count)(void *part, struct gt_ledger *ledger);
	/* Threads that it has of its own. */
	uint32_t (*threads)(const void *part);
	/* The exiting thread, before the last records are drained: bounded. */
	void (*stop)(void *part);
	/* The same, after them: nothing is taken in from now on. */
	void (*release)(void);
};

/* The collectors of one pipeline, in the order of their start. Given: the first two. */
struct gt_collectors {
	struct gt_outlet *outlet; /* for notes */
	struct gt_collector_entry {
		const struct gt_collector *collector; /* NULL: the end */
		void *part;
		bool is_due; /* to be polled */
		uint64_t reported[GT_COLLECTOR_COUNTS_MAX];
	} entries[GT_COLLECTORS_MAX + 1];
};

/* Each does what struct gt_collector says, for all of them. */

/* A negative errno of the first that fails: later ones are not started, and the caller gives the
 * session up. */
int gt_collectors_start(struct gt_collectors *collectors);

/* The quick ones. Returns the number of records. */
uint64_t gt_collectors_drain(struct gt_collectors *collectors);

/* One round: the large ones, about @bytes of each, and the quick ones before each part of them and
 * at the end. Returns the number of records. */
uint64_t gt_collectors_read(struct gt_collectors *collectors, size_t bytes);

/* Sums. */
size_t gt_collectors_waiting(const struct gt_collectors *collectors);
uint64_t gt_collectors_outstanding(const struct gt_collectors *collectors);
uint32_t gt_collectors_threads(const struct gt_collectors *collectors);

/* The caller does not hold the pipeline. */
void gt_collectors_flush(struct gt_collectors *collectors, bool forced);
void gt_collectors_fetch(struct gt_collectors *collectors, bool forced);
bool gt_collectors_cease(struct gt_collectors *collectors);
void gt_collectors_begin(struct gt_collectors *collectors);
void gt_collectors_rest(struct gt_collectors *collectors);
void gt_collectors_part_with(struct gt_collectors *collectors);

/* One poll: is one due, the poll itself (the caller does not hold the pipeline), its result. */
bool gt_collectors_poll_is_due(struct gt_collectors *collectors, uint64_t now, bool flushed);
void gt_collectors_poll(struct gt_collectors *collectors);
void gt_collectors_polled(struct gt_collectors *collectors);

/* See struct gt_collector. */
void gt_collectors_check(struct gt_collectors *collectors, uint64_t now);
void gt_collectors_leave(struct gt_collectors *collectors, bool stuck);

/* Writes a note for each count that has grown since the last call. */
void gt_collectors_report(struct gt_collectors *collectors);

/* Completes @ledger, a copy of the one that the sources count in, or that itself: once, at the
 * end. */
void gt_collectors_count(const struct gt_collectors *collectors, struct gt_ledger *ledger);

/* Stops and releases them. */
void gt_collectors_stop(struct gt_collectors *collectors);
void gt_collectors_release(const struct gt_collectors *collectors);

#endif

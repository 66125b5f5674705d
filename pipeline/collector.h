/* SPDX-License-Identifier: Apache-2.0
 *
 * A source of events, as the pipeline sees it: when it starts, is drained and stops, and what it
 * counts. One row of gt_collectors each (docs/HOWTO_ADD_COLLECTOR.md). Functions may be NULL.
 */
#ifndef GT_PIPELINE_COLLECTOR_H
#define GT_PIPELINE_COLLECTOR_H

#include <stddef.h>
#include <stdint.h>

#include "core/schema/ledger.h"

struct gt_session;

/* A count that a collector keeps: where it ends up, and the note that the trace gets when it grows.
 */
struct gt_collector_count {
	uint64_t (*now)(const struct gt_session *session); /* since the start */
	enum gt_ledger_key key;                            /* GT_LEDGER_COUNT_: no key of its own */
	const char *note;    /* "LOST", "thinned", ...; NULL: the ledger alone */
	const char *cause;   /* what made it grow */
	const char *of_what; /* what is counted */
	const char *what;    /* one phrase, with the remedy if there is one */
};

/* A collector. Drain thread where nothing else is said; it holds the session. */
struct gt_collector {
	const char *name;
	/* Session start, on the thread that is inside cuInit, in the order of the array. 0, or a
	 * negative errno: the session does not start. */
	int (*start)(struct gt_session *session);
	/* Records that wait, of a source that is small and quick: called between any two activity
	 * buffers. Returns how many there were. */
	uint64_t (*drain)(struct gt_session *session);
	/* Before its counts are compared with those of the last time, at each flush. */
	void (*report)(struct gt_session *session);
	const struct gt_collector_count *counts;
	size_t count_count;
	/* Once, when the ledger is closed: what is no plain count. */
	void (*count)(struct gt_session *session);
	/* The exiting thread, before the last records are drained: bounded. */
	void (*stop)(struct gt_session *session);
	/* The same, after them: nothing is taken in from now on. */
	void (*release)(void);
};

/* All collectors, NULL-terminated. */
extern const struct gt_collector *const gt_collectors[];

/* Starts them. A negative errno of the first that fails: later ones are not started, and the caller
 * gives the session up. */
int gt_collectors_start(struct gt_session *session);

/* Drains the quick ones. Returns the number of records. */
uint64_t gt_collectors_drain(struct gt_session *session);

/* Writes a note for each count that has grown since the last call. */
void gt_collectors_report(struct gt_session *session);

/* Fills the ledger. Once, at the end. */
void gt_collectors_count(struct gt_session *session);

/* Stops and releases them, see struct gt_collector. */
void gt_collectors_stop(struct gt_session *session);
void gt_collectors_release(void);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * The ledger of one trace (core/schema/ledger.def). The drain thread owns it; application threads
 * count in their thread blocks (core/thread.h), which are added when the ledger is read.
 */
#ifndef GT_CORE_SCHEMA_LEDGER_H
#define GT_CORE_SCHEMA_LEDGER_H

#include <stdint.h>

#include "core/schema/event.h"

/* Indices of the counts, as ledger.def lists them. */
enum gt_ledger_key {
#define GT_LEDGER(id, json, sort, help) GT_LEDGER_##id,
#include "core/schema/ledger.def"
#undef GT_LEDGER
	GT_LEDGER_COUNT_
};

/* The counts of one file. */
struct gt_ledger {
	uint64_t count[GT_LEDGER_COUNT_];
};

/* What a count means, and how those of several files become one. */
enum gt_ledger_sort {
	GT_LEDGER_TALLY, /* a sum */
	GT_LEDGER_LOSS,  /* a sum: something is missing or doubtful when it is not 0 */
	GT_LEDGER_PEAK,  /* the highest value since the start of the process */
};

/* One row of ledger.def. */
struct gt_ledger_row {
	const char *json;
	const char *help;
	enum gt_ledger_sort sort;
};

/* Names and meanings, indexed by enum gt_ledger_key. */
extern const struct gt_ledger_row gt_ledger_rows[GT_LEDGER_COUNT_];

#define GT_LEDGER_LEFT_OUT_ 5

/* How one kind of event is counted from its arrival on. */
struct gt_ledger_kind {
	enum gt_ledger_key received, written;
	enum gt_ledger_key untimed; /* GT_LEDGER_COUNT_: none of them */
	enum gt_ledger_key lost;    /* in GT_LEDGER_EVENTS_LOST_* */
	/* by an option: outside the window, by a filter, by --max-overhead, by --thin, older than
	 * what the flight recorder keeps; GT_LEDGER_COUNT_: none of them */
	enum gt_ledger_key left_out[GT_LEDGER_LEFT_OUT_];
};

#define GT_LEDGER_KINDS_ 6

/* The kinds whose arrival is counted: calls, kernels, memcpys, memsets, samples, whole graphs. */
extern const struct gt_ledger_kind gt_ledger_kinds[GT_LEDGER_KINDS_];

#define GT_LEDGER_CALL_ENDS_ 9

/* What a call that was seen may have become, but open at the end. */
extern const enum gt_ledger_key gt_ledger_call_ends[GT_LEDGER_CALL_ENDS_];

/* The sum of these. */
uint64_t gt_ledger_ended_calls(const struct gt_ledger *ledger);

/* Events of a kind that options left out. */
uint64_t gt_ledger_left_out(const struct gt_ledger *ledger, const struct gt_ledger_kind *kind);

/* Events of a kind that arrived and are in the file, if without times, or left out by an option. */
uint64_t gt_ledger_settled(const struct gt_ledger *ledger, const struct gt_ledger_kind *kind);

/* Events of a kind that arrived and are not settled. */
uint64_t gt_ledger_missing(const struct gt_ledger *ledger, const struct gt_ledger_kind *kind);

/* What the ledger of a file says that is not in the file: losses, and what was received and is
 * without times or left out. Another file tells it when this one is removed. */
struct gt_ledger gt_ledger_losses(const struct gt_ledger *ledger);

/* What was counted as older than the flight recorder keeps and is in the file all the same is not
 * older: of a process that was killed, where the record was still to be had. */
void gt_ledger_settle_older(struct gt_ledger *ledger);

/* The kind whose records without times are notes as @event; NULL: it is no such note. */
const struct gt_ledger_kind *gt_ledger_untimed_kind(const struct gt_event *event);

/* The key that a written event is counted under; GT_LEDGER_COUNT_: none. */
enum gt_ledger_key gt_ledger_key_of(const struct gt_event *event);

/* The count of two files together: a sum, or the higher one. */
static inline uint64_t gt_ledger_join(enum gt_ledger_key key, uint64_t a, uint64_t b)
{
	if (gt_ledger_rows[key].sort != GT_LEDGER_PEAK)
		return a + b;
	return a > b ? a : b;
}

/* Adds @n to a count. */
static inline void gt_ledger_add(struct gt_ledger *ledger, enum gt_ledger_key key, uint64_t n)
{
	ledger->count[key] += n;
}

#endif

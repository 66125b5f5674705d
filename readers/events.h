/* SPDX-License-Identifier: Apache-2.0
 *
 * A finished trace as the events that it was written from (core/schema/event.h), so that it can be
 * written again in another form: the two readings that `gputrace convert` is made of. Events come
 * in the order of the file. Strings, stacks and frames live until gt_events_fini. One thread per
 * reading.
 */
#ifndef GT_READERS_EVENTS_H
#define GT_READERS_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/guest/memory.h"
#include "core/intern.h"
#include "core/schema/event.h"
#include "core/schema/ledger.h"
#include "core/schema/metadata.h"
#include "readers/input.h"

/* The call that a correlation number means. */
struct gt_events_call {
	uint32_t correlation; /* 0: slot not used */
	uint32_t tid;
	uint64_t start, op;
	const struct gt_stack *stack;
	bool followed; /* by work of the GPU */
};

struct gt_pftrace_track;

/* A reading into events, and what it hands out. */
struct gt_events {
	/* what is called for each thing; a negative return ends the reading with it */
	int (*take_metadata)(const struct gt_metadata *metadata,
			     void *data); /* before any event, and changed */
	int (*take_event)(const struct gt_event *event, void *data);
	/* .pftrace, if not NULL: each track that is described, again when it is described again */
	int (*take_track)(uint64_t uuid, const struct gt_pftrace_track *track, void *data);
	bool unjoined; /* GPU work is not joined to its calls: launch tells what is its own */
	void *data;

	/* what the reading came to */
	struct gt_metadata metadata;
	struct gt_ledger ledger;  /* of a closed file */
	struct gt_ledger counted; /* events handed out, under the keys of what was written */
	bool closed;              /* false: the file was cut, events before the cut came */
	uint64_t count;           /* events handed out */
	uint64_t strange;         /* parts of the file that no event was made of */
	uint64_t broken;          /* .pftrace: texts that were not UTF-8, mended */
	uint64_t end_byte;  /* behind the last whole event: a slice of a .pftrace has two packets,
			       GPU work of JSON three lines */
	bool has_ledger;    /* its process had all written */
	bool is_unfinished; /* JSON: the event handed out last is not whole */
	uint64_t flows;     /* JSON: starts of flows, up to end_byte */
	uint64_t names;     /* JSON: names of tracks */
	uint64_t track;     /* of the event that is handed out: its tid in JSON; in a .pftrace the
			       number of its track, of host events */
	const char *loose;  /* JSON: what in it strict JSON does not allow, or NULL */
	bool torn;          /* .pftrace: it failed, being cut before the metadata */
	bool tells_gpus;    /* .pftrace: the devices have been described to Perfetto */
	char error[512];    /* "FILE: what", when it failed */

	/* private */
	struct gt_intern *strings;
	struct gt_arena arena;
	struct gt_events_call *calls; /* open addressing */
	uint32_t call_slots, call_count;
};

/* 0 or -ENOMEM. */
int gt_events_init(struct gt_events *events);
void gt_events_fini(struct gt_events *events);

/* Reads a .pftrace of gputrace's. -EBADMSG: it is something else, or damaged from the start. */
int gt_events_read_pftrace(struct gt_events *events, const char *path);

/* The same of an input that stands at its beginning. */
int gt_events_read_pftrace_input(struct gt_events *events, struct gt_input *in);

/* Of the .pftrace at @path, which can be read twice, the facts only; those that stand last, and
 * count, are left in events->facts. -ENODATA: it holds none; another negative errno: it could not
 * be read to its end. */
int gt_events_last_metadata(struct gt_events *events, const char *path);

/* Reads a JSON trace of gputrace's. The same. */
int gt_events_read_json(struct gt_events *events, const char *path);

/* The first count of a closed file's ledger that its events contradict, in words into @ret_text;
 * empty: there is none. */
void gt_events_doubt(const struct gt_events *events, char *ret_text, size_t size);

/* The ledger with what was handed out in place of what it says of that. */
struct gt_ledger gt_events_ledger(const struct gt_events *events);

/* For the readers: remembers calls, joins GPU work to them, hands the event on. */
int gt_events_give(struct gt_events *events, struct gt_event *event);

/* For the readers: fills error with "@path: @text". Returns @code. */
int gt_events_fail(struct gt_events *events, const char *path, const char *text, int code);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a finished trace back into the events that it was written from (core/schema/event.h), for
 * example to write it in another format (`gputrace convert`). Events come in file order. Strings,
 * stacks and frames live until gt_events_fini. One thread per reading.
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
#include "readers/keymap.h"

/* The call with a correlation id. */
struct gt_events_call {
	uint32_t correlation; /* 0: slot not used */
	uint32_t tid;
	uint64_t start, op;
	const struct gt_stack *stack;
	bool followed; /* GPU work of the call was read */
};

struct gt_pftrace_track;

/* A reading: callbacks and results. */
struct gt_events {
	/* callbacks, which may be NULL; a negative return value ends the reading with it */
	int (*take_metadata)(const struct gt_metadata *metadata,
			     void *data); /* before any event, and after a change */
	int (*take_event)(const struct gt_event *event, void *data);
	/* .pftrace: for each track descriptor, which may repeat */
	int (*take_track)(uint64_t uuid, const struct gt_pftrace_track *track, void *data);
	bool unjoined; /* do not join GPU work to its calls: launch has only the work's own data */
	/* correlation ids of the calls whose data GPU work gets; NULL: of all */
	const struct gt_keymap *wanted_calls;
	uint32_t part; /* of a file that holds several processes: which to read, from 0 */
	void *data;

	/* results */
	struct gt_metadata metadata;
	struct gt_ledger ledger;        /* of a closed file */
	bool has_key[GT_LEDGER_COUNT_]; /* keys that are in it */
	struct gt_ledger counted;       /* events passed on, under the keys of what was written */
	bool closed;        /* false: the file was cut; events before the cut were read */
	uint64_t count;     /* events passed on */
	uint64_t strange;   /* parts of the file that are no known event */
	uint64_t broken;    /* .pftrace: texts with invalid UTF-8, which was replaced */
	uint64_t end_byte;  /* after the last complete event: a slice of a .pftrace has two packets,
			       GPU work in JSON three lines */
	bool has_ledger;    /* the file has a ledger, so its process closed it */
	bool is_unfinished; /* JSON: the last event passed on is incomplete */
	uint64_t flows;     /* JSON: starts of flows, up to end_byte */
	uint64_t names;     /* JSON: names of tracks */
	bool has_whole_step; /* JSON: the step of a trace that has none is there; no event */
	uint64_t track;      /* of the current event: its tid in JSON; of a host event in a .pftrace
				the number of its track */
	const char *loose;   /* JSON: what strict JSON does not allow, or NULL */
	bool torn;           /* .pftrace: failed because it is cut before the metadata */
	bool tells_gpus;     /* .pftrace: has the GpuInfo packet of the devices */
	uint32_t parts; /* processes that the file holds, 1 or more; .pftrace: up to the one behind
			   the wanted, at which the input is then */
	uint32_t told_parts; /* .pftrace: how many it should hold; 0: it does not say */
	char error[512];     /* "FILE: what", on failure */

	/* private */
	struct gt_intern *strings;
	struct gt_arena arena;
	struct gt_events_call *calls; /* open addressing */
	uint32_t call_slots, call_count;
	struct gt_keymap other_calls; /* that are not wanted: a word of bits for 32 of them */
};

/* 0 or -ENOMEM. */
int gt_events_init(struct gt_events *events);
void gt_events_fini(struct gt_events *events);

/* Reads a .pftrace written by gputrace. -EBADMSG: another file, or damaged from the start. */
int gt_events_read_pftrace(struct gt_events *events, const char *path);

/* The same for an open input at its beginning. */
int gt_events_read_pftrace_input(struct gt_events *events, struct gt_input *in);

/* Reads only the metadata of the .pftrace at @path, a file; the last one, which is valid, is left
 * in events->metadata. -ENODATA: none; another negative errno: not readable to the end. */
int gt_events_last_metadata(struct gt_events *events, const char *path);

/* Reads a JSON trace written by gputrace. Errors as gt_events_read_pftrace. */
int gt_events_read_json(struct gt_events *events, const char *path);

/* Describes in @ret_text the first count of a closed file's ledger that does not match its events;
 * empty: all match. */
void gt_events_doubt(const struct gt_events *events, char *ret_text, size_t size);

/* The ledger, with the counts of events replaced by those of the events passed on. */
struct gt_ledger gt_events_ledger(const struct gt_events *events);

/* Of a file without a ledger, or with one that lacks keys: what arrived is what is there or lost.
 */
void gt_events_complete_ledger(const struct gt_events *events, struct gt_ledger *ledger);

/* For the readers: remembers calls, joins GPU work to them, passes the event on. */
int gt_events_give(struct gt_events *events, struct gt_event *event);

/* For the readers: whether the call of that number came and is none of the wanted ones. */
bool gt_events_left_out(const struct gt_events *events, uint32_t correlation);

/* For the readers: fills error with "@path: @text". Returns @code. */
int gt_events_fail(struct gt_events *events, const char *path, const char *text, int code);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * The way of an event behind the collectors: joined to its call, held back until the file exists,
 * handed to the writer. Drain thread.
 */
#ifndef GT_PIPELINE_EMIT_H
#define GT_PIPELINE_EMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/correlate.h"
#include "core/schema/event.h"

struct gt_session;

/* A growable array of events that wait for something, in the order in which they came. */
struct gt_waiting {
	struct gt_waiting_event {
		struct gt_event event;
		uint64_t since; /* gt_clock_now() when it began to wait */
	} * events;
	size_t count, capacity;
};

/* The join of calls and GPU work, and what waits for it. */
struct gt_emit {
	struct gt_correlate *calls;
	bool has_calls;             /* false: no record waits for one */
	uint32_t metadata_written;  /* generation of the facts that the writer has */
	struct gt_waiting early;    /* before the file: no GPU work has been asked for yet */
	struct gt_waiting unlinked; /* records whose call has not returned yet */
	uint64_t newest;            /* trace ns of the latest end, for what has to be closed */
	uint64_t unanswered; /* trace ns of the first kernel launch since the last GPU record */
	uint64_t launched;   /* kernel launches since then */
	uint64_t waited;     /* trace ns since when the program has waited for it */
	bool idle;           /* the program has waited for all work, and asked for none since */
	uint64_t unexpected; /* launches that no record can be joined to */
};

/* @has_calls: calls are recorded, so that GPU operations wait for theirs. -ENOMEM. */
int gt_emit_init(struct gt_emit *emit, bool has_calls);

/* Also of a zeroed struct. */
void gt_emit_fini(struct gt_emit *emit);

/* What is known of a finished call. */
struct gt_emit_call {
	bool expects;       /* it started GPU work */
	bool many;          /* perhaps more than one operation */
	bool kernels;       /* of kernels */
	bool waits;         /* it returned when earlier GPU work had ended */
	bool waits_for_all; /* ... of the whole device */
	bool own_id;        /* its correlation id is not CUPTI's */
};

/* A finished call. */
void gt_emit_call(struct gt_session *session, const struct gt_event *event,
		  const struct gt_emit_call *what);

/* Anything else; the translator's callback has this form. */
void gt_emit_event(void *session, const struct gt_event *event);

/* A note at this moment: a loss with its count, a gap, a step. Strings are literals. */
void gt_emit_note(struct gt_session *session, const char *name, const char *what, const char *cause,
		  const char *of_what, uint64_t count);

/* Joins what waited for its call; @all: writes what still has none (the end). */
void gt_emit_settle(struct gt_session *session, bool all);

/* Opens the file if there is reason to: GPU work, or any call in hooks-only mode. */
void gt_emit_open(struct gt_session *session);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a Chrome-trace JSON file in one pass with bounded memory and hands out one record per
 * event: gputrace's own files (running, cut, closed), Kineto's, and whatever else keeps to the
 * format; object or array form, plain or gzip. One thread per reading; several readings may run at
 * once.
 */
#ifndef GT_READERS_CHROME_READER_H
#define GT_READERS_CHROME_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "readers/chrome/header.h"
#include "readers/chrome/scan.h"

/* The arguments that are found by name (args.def). */
enum gt_arg {
#define GT_ARG(id, key) GT_ARG_##id,
#include "readers/chrome/args.def"
#undef GT_ARG
	GT_ARG_COUNT_
};

/* One event. All text points into the reader's window: valid inside the callback only. */
struct gt_trace_event {
	char ph; /* 0: the event has none */
	bool has_ts, has_dur, has_pid, has_tid, has_id;
	int64_t ts, dur;  /* ns, exactly what the decimal text says */
	int64_t pid, tid; /* a text ("Spans") becomes a negative number of its own */
	int64_t id;
	struct gt_span name, cat; /* decoded; GT_SPAN_NONE when absent */
	struct gt_span pid_text, tid_text, id_text, ts_text,
		dur_text;    /* as they stand in the file */
	struct gt_span args; /* the whole object (or whatever stands there) */
	uint64_t arg_mask;   /* which of arg[] this event has: bit GT_ARG_x */
	struct gt_span arg[GT_ARG_COUNT_];
	struct gt_span raw;  /* the event as it stands in the file */
	uint64_t line, byte; /* where it starts: from 1, from 0 */
};

/* The two JSON forms of a trace. */
enum gt_form {
	GT_FORM_OBJECT,
	GT_FORM_ARRAY,
};

/* What the reading came to. */
struct gt_reading {
	enum gt_form form;
	bool compressed;
	bool closed;         /* false: the file ends before its JSON does ("cut") */
	bool without_ledger; /* closed, but not by its process, or merged of such files: no ledger
				tells what is missing */
	bool mixed;          /* array form with the end of an object: killed while closing */
	bool is_pftrace;     /* the file is no JSON (readers/chrome/reading_events.h) */
	const char *loose;   /* what in it strict JSON does not allow, NULL: nothing was seen */
	uint64_t comma_byte; /* of a comma behind the last event of all, 0: there is none */
	uint64_t events;
	uint64_t strange;            /* elements of traceEvents that are not objects */
	uint64_t end_line, end_byte; /* behind the last whole event */
	uint64_t bytes;              /* read, uncompressed */
	char error[512];             /* one line "FILE:LINE: byte N: what", when reading failed */
	char note[256];              /* why the file counts as cut, else empty */
	char doubt[256];             /* .pftrace: its ledger does not fit what it holds */
	struct gt_header header;
};

/* Called for each event in file order; a negative return ends the reading with that error.
 * @header holds what stands before the events. */
typedef int (*gt_reader_event)(const struct gt_trace_event *record, const struct gt_header *header,
			       void *data);

/*
 * Reads @path ("-": standard input). 0, or a negative errno with ret_reading->error filled:
 * -EBADMSG for wrong JSON (events before it were handed out). A cut file is no error: closed is
 * false. Free ret_reading with gt_reading_fini in either case.
 */
int gt_reader_read(const char *path, gt_reader_event event, void *data,
		   struct gt_reading *ret_reading);
void gt_reading_fini(struct gt_reading *reading);

/* The same of an open input, whose window may hold its first bytes; it stays the caller's. */
int gt_reader_read_input(struct gt_input *in, gt_reader_event event, void *data,
			 struct gt_reading *ret_reading);

/* Reads one form of trace from an open input whose window holds the file's first bytes. 0 or a
 * negative errno with ret_reading->error filled. */
typedef int (*gt_reader_form)(struct gt_input *in, void *data, struct gt_reading *ret_reading);

/* Opens @path and reads it in the form that it has. Free ret_reading with gt_reading_fini. */
int gt_reader_read_either(const char *path, gt_reader_form json, gt_reader_form pftrace, void *data,
			  struct gt_reading *ret_reading);

/* Fills reading->error with what @rc means of the file @path. Returns @rc. */
int gt_reading_fail(struct gt_reading *reading, const char *path, int rc);

/* Whether the event has this argument. */
static inline bool gt_record_has(const struct gt_trace_event *record, enum gt_arg arg)
{
	return record->arg_mask >> arg & 1;
}

/* An integer argument, or @otherwise. */
int64_t gt_record_int(const struct gt_trace_event *record, enum gt_arg arg, int64_t otherwise);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a Chrome-trace JSON file in one pass with bounded memory and passes on one record per
 * event: gputrace's own files (running, cut, closed), Kineto's, and others of this format; object
 * or array form, plain or gzip. One thread per reading; several readings may run at once.
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
	int64_t ts, dur;  /* ns, exactly the value of the decimal text */
	int64_t pid, tid; /* a text ("Spans") becomes a negative number, its hash; "7" is 7 */
	int64_t id;
	struct gt_span name, cat; /* decoded; GT_SPAN_NONE when absent */
	struct gt_span pid_text, tid_text, id_text, ts_text, dur_text; /* as in the file */
	struct gt_span args; /* the whole object, or a value of another type */
	uint64_t arg_mask;   /* which of arg[] this event has: bit GT_ARG_x */
	struct gt_span arg[GT_ARG_COUNT_];
	struct gt_span raw;  /* the event as in the file */
	uint64_t line, byte; /* its start: line from 1, byte from 0 */
};

/* The two JSON forms of a trace. */
enum gt_form {
	GT_FORM_OBJECT,
	GT_FORM_ARRAY,
};

/* The result of a reading. */
struct gt_reading {
	enum gt_form form;
	bool compressed;
	bool closed;         /* false: the file ends before its JSON does ("cut") */
	bool without_ledger; /* closed, but not by its process, or merged from such files: losses
				are not known */
	bool mixed;          /* array form with the end of an object: killed while closing */
	bool is_pftrace;     /* not JSON (readers/chrome/reading_events.h) */
	uint32_t parts;      /* .pftrace: processes that it should hold; 0: it does not say */
	const char *loose;   /* what strict JSON does not allow, NULL: nothing */
	uint64_t comma_byte; /* of a comma after the last event, 0: none */
	uint64_t events;
	uint64_t ahead;              /* of them, scanned by another thread */
	uint64_t strange;            /* elements of traceEvents that are not objects */
	uint64_t end_line, end_byte; /* after the last complete event */
	uint64_t bytes;              /* read, uncompressed */
	char error[512];             /* "FILE:LINE: offset IN_FILE: what" if reading failed */
	char note[256];              /* why the file counts as cut, else empty */
	char doubt[256];             /* .pftrace: how its ledger differs from its events */
	struct gt_header header;
};

/* Called for each event in file order; a negative return value ends the reading with that error.
 * @header has the members before the events. */
typedef int (*gt_reader_event)(const struct gt_trace_event *record, const struct gt_header *header,
			       void *data);

/*
 * Reads @path ("-": standard input). 0, or a negative errno with ret_reading->error filled:
 * -EBADMSG for invalid JSON (events before it were passed on). A cut file is not an error: closed
 * is false. Free ret_reading with gt_reading_fini in either case.
 */
int gt_reader_read(const char *path, gt_reader_event event, void *data,
		   struct gt_reading *ret_reading);
void gt_reading_fini(struct gt_reading *reading);

/* The same for an open input, whose window may hold its first bytes; the caller closes it. */
int gt_reader_read_input(struct gt_input *in, gt_reader_event event, void *data,
			 struct gt_reading *ret_reading);

/* Reads one form of trace from an open input whose window holds the file's first bytes. 0 or a
 * negative errno with ret_reading->error filled. */
typedef int (*gt_reader_form)(struct gt_input *in, void *data, struct gt_reading *ret_reading);

/* Opens @path and reads it in the form that it has. Free ret_reading with gt_reading_fini. */
int gt_reader_read_either(const char *path, gt_reader_form json, gt_reader_form pftrace, void *data,
			  struct gt_reading *ret_reading);

/* Fills reading->error for the error @rc of the file @path. Returns @rc. */
int gt_reading_fail(struct gt_reading *reading, const char *path, int rc);

/* Whether a file that was read, closed or cut, is a trace of gputrace's in the form that it has
 * while its process runs: an array, whose first event holds the header. */
static inline bool gt_reading_is_running(const struct gt_reading *reading)
{
	return reading->form == GT_FORM_ARRAY && (reading->mixed || reading->header.member_count);
}

/* Whether the event has this argument. */
static inline bool gt_record_has(const struct gt_trace_event *record, enum gt_arg arg)
{
	return record->arg_mask >> arg & 1;
}

/* An integer argument, or @otherwise. */
int64_t gt_record_int(const struct gt_trace_event *record, enum gt_arg arg, int64_t otherwise);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * See reader.h. Layers: readers/input.h provides bytes, readers/chrome/scan.h finds values in them,
 * this file handles the two forms of a trace file. A value that is cut by the end of the window is
 * scanned again after more was read. One thread per reading.
 */
#include "readers/chrome/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "readers/chrome/ahead.h"
#include "readers/chrome/fields.h"
#include "readers/input.h"
#include "readers/utf8.h"

struct reader {
	struct gt_input in;
	struct gt_scan scan;
	struct gt_fields taker;
	struct gt_reading *reading;
	gt_reader_event event;
	void *data;
	struct gt_ahead *ahead; /* NULL: all is scanned here */
	bool tried_ahead;
	char *ledger; /* copied from the last event, as the next one */
	char *repaired;
	char *decoded[2]; /* name and category without escapes */
	size_t decoded_room[2];
};

static int decode(struct reader *r, int which, struct gt_span *span)
{
	if (span->kind != GT_SPAN_STRING || !span->escaped)
		return 0;
	if (r->decoded_room[which] < span->len) {
		char *bigger = realloc(r->decoded[which], span->len);

		if (!bigger)
			return -ENOMEM;
		r->decoded[which] = bigger;
		r->decoded_room[which] = span->len;
	}
	span->len = (uint32_t)gt_span_decode(span, r->decoded[which]);
	span->text = r->decoded[which];
	span->escaped = 0;
	return 0;
}

static void clear_record(struct gt_trace_event *record)
{
	/* arg[] needs no clearing, arg_mask says what is valid */
	memset(record, 0, offsetof(struct gt_trace_event, arg));
}

/* Fills the error with position and text. Returns @rc. */
static int complain(struct reader *r, const char *at, const char *what, int rc)
{
	uint64_t line, byte;

	gt_input_position(&r->in, (size_t)(at - r->in.data), &line, &byte);
	snprintf(r->reading->error, sizeof(r->reading->error),
		 "%s:%" PRIu64 ": offset %" PRIu64 ": %s", r->in.path, line, byte, what);
	return rc;
}

static int complain_file(struct reader *r, int rc)
{
	return gt_reading_fail(r->reading, r->in.path, rc);
}

/* Reads more after a scan failed at the end of the window. 1: scan again, 0: end of file. */
static int read_on(struct reader *r)
{
	int rc = gt_input_more(&r->in);

	r->scan.end = r->in.data + r->in.size;
	if (rc < 0)
		return complain_file(r, rc);
	return rc;
}

/* Notes that a value is not strict JSON. */
static void note_loose(struct reader *r)
{
	if (r->scan.loose)
		r->reading->loose = "NaN or an infinity";
}

/* Skips blanks, reading more as needed. 1: the window starts at a byte; 0: end of file. */
static int next_byte(struct reader *r)
{
	for (;;) {
		const char *p = gt_scan_blanks(r->in.data);
		int rc;

		gt_input_consume(&r->in, (size_t)(p - r->in.data));
		if (r->in.size)
			return 1;
		rc = read_on(r);
		if (rc <= 0)
			return rc;
	}
}

static void note_cut(struct reader *r, const char *why)
{
	if (!r->reading->note[0])
		snprintf(r->reading->note, sizeof(r->reading->note), "%s",
			 r->in.damage ? r->in.damage : why);
}

/*
 * Handles a failed scan. 1: more bytes were read, scan again. 0: the file is cut here.
 * Negative: invalid JSON, or reading failed.
 */
static int after_failure(struct reader *r)
{
	int rc;

	if (r->scan.why && *r->scan.at == 0) {
		note_cut(r, "zero bytes follow: the machine or the disk failed");
		return 0;
	}
	if (r->scan.why)
		return complain(r, r->scan.at, r->scan.why, -EBADMSG);
	rc = read_on(r);
	if (rc == 0)
		note_cut(r, "the file ends inside an event");
	return rc;
}

/* Takes the header from gputrace's first event: the file was not closed. */
static void take_first_event(struct reader *r)
{
	const struct gt_span *header = &r->taker.record.arg[GT_ARG_HEADER];

	if (r->taker.record.ph != 'M' || !gt_record_has(&r->taker.record, GT_ARG_HEADER) ||
	    header->kind != GT_SPAN_OBJECT || r->reading->header.member_count)
		return;
	gt_header_add_object(&r->reading->header, header, false);
}

/* A trace written to a pipe has its ledger in the last event, not after the events. */
static int keep_ledger(struct reader *r)
{
	const struct gt_span *ledger = &r->taker.record.arg[GT_ARG_LEDGER];
	struct gt_span repaired;

	if (r->taker.record.ph != 'i' || !gt_record_has(&r->taker.record, GT_ARG_LEDGER) ||
	    ledger->kind != GT_SPAN_OBJECT)
		return 0;
	free(r->ledger);
	r->ledger = strndup(ledger->text, ledger->len);
	if (!r->ledger || !gt_span_member(&r->taker.record.args, "repaired", &repaired) ||
	    repaired.kind != GT_SPAN_OBJECT)
		return r->ledger ? 0 : -ENOMEM;
	free(r->repaired);
	r->repaired = strndup(repaired.text, repaired.len);
	return r->repaired ? 0 : -ENOMEM;
}

static int use(struct reader *r, const char *name, const char *text)
{
	struct gt_span key = {.text = name, .len = (uint32_t)strlen(name), .kind = GT_SPAN_STRING};
	struct gt_span object = {.text = text, .kind = GT_SPAN_OBJECT};

	if (!text || !r->reading->closed || gt_header_find(&r->reading->header, name))
		return 0;
	object.len = (uint32_t)strlen(text);
	return gt_header_add(&r->reading->header, &key, &object, true);
}

static int use_ledger(struct reader *r)
{
	int rc = use(r, "ledger", r->ledger);

	if (rc >= 0)
		rc = use(r, "repaired", r->repaired);
	return rc < 0 ? complain_file(r, rc) : 0;
}

/* The event in the taker, whose text is @text. */
static int hand_out(struct reader *r, const char *text, uint32_t size)
{
	struct gt_trace_event *record = &r->taker.record;
	struct gt_reading *reading = r->reading;
	int rc;

	record->raw = (struct gt_span){.text = text, .len = size, .kind = GT_SPAN_OBJECT};
	record->line = r->in.lines + 1;
	record->byte = r->in.bytes;
	if (decode(r, 0, &record->name) || decode(r, 1, &record->cat))
		return complain_file(r, -ENOMEM);
	if (!reading->events)
		take_first_event(r);
	reading->events++;
	rc = keep_ledger(r);
	if (!rc && r->event)
		rc = r->event(record, &reading->header, r->data);
	if (rc < 0 && !reading->error[0])
		complain_file(r, rc);
	return rc;
}

/* Reads the element of traceEvents at the start of the window. 1: done, 0: it is cut. */
static int read_element(struct reader *r)
{
	bool object = *r->in.data == '{';
	struct gt_span other;
	const char *next;
	int rc;

	for (;;) {
		r->scan.loose = false;
		if (object) {
			clear_record(&r->taker.record);
			next = gt_fields_scan(&r->scan, r->in.data, &r->taker);
		} else {
			next = gt_scan_value(&r->scan, r->in.data, &other);
		}
		if (next)
			break;
		rc = after_failure(r);
		if (rc <= 0)
			return rc;
	}
	note_loose(r);
	rc = object ? hand_out(r, r->in.data, (uint32_t)(next - r->in.data)) : 0;
	r->reading->strange += !object;
	if (!object && !gt_utf8_is_valid(r->in.data, (size_t)(next - r->in.data)))
		r->reading->loose = "text that is not UTF-8";
	gt_input_consume(&r->in, (size_t)(next - r->in.data));
	r->reading->end_line = r->in.lines + 1;
	r->reading->end_byte = r->in.bytes;
	return rc < 0 ? rc : 1;
}

/* An event that was scanned ahead. 1: done, and @ret_comma whether the comma behind it is consumed;
 * 0: there is none here. */
static int take_ahead(struct reader *r, bool *ret_comma)
{
	struct gt_ahead_event event;
	int rc;

	if (!r->ahead || !gt_ahead_take(r->ahead, r->in.bytes, &r->taker.record, &event))
		return 0;
	r->scan.loose = event.loose;
	note_loose(r);
	r->reading->comma_byte = 0;
	r->reading->ahead++;
	rc = hand_out(r, event.text, event.size);
	gt_input_skip(&r->in, event.size, event.lines_inside);
	r->reading->end_line = r->in.lines + 1;
	r->reading->end_byte = r->in.bytes;
	gt_input_skip(&r->in, event.skip - event.size, event.lines - event.lines_inside);
	r->scan.end = r->in.data + r->in.size;
	*ret_comma = event.comma;
	return rc < 0 ? rc : 1;
}

/* At the second event: from here on others may help. */
static void try_ahead(struct reader *r)
{
	if (r->tried_ahead || !r->reading->events || *r->in.data != '{')
		return;
	r->tried_ahead = true;
	if (!r->in.compressed)
		r->ahead = gt_ahead_start(r->in.fd, r->in.bytes, r->in.data, r->in.size);
}

/* Reads the events after the opening bracket. 1: up to the closing one, 0: the file ends before
 * it. */
static int read_events(struct reader *r)
{
	bool need_comma = false;
	int rc;

	for (;;) {
		bool comma;

		rc = need_comma ? 0 : take_ahead(r, &comma);
		if (rc < 0)
			return rc;
		if (rc) {
			need_comma = !comma;
			continue;
		}
		rc = next_byte(r);
		if (rc <= 0) {
			note_cut(r, "the file ends before its events do");
			return rc;
		}
		if (*r->in.data == ']')
			break;
		if (*r->in.data == ',') {
			/* some tracers leave a comma before the closing bracket */
			r->reading->comma_byte = r->in.bytes;
			gt_input_consume(&r->in, 1);
			if (!need_comma)
				return complain(r, r->in.data, "an event was expected", -EBADMSG);
			need_comma = false;
			continue;
		}
		r->reading->comma_byte = 0;
		if (need_comma) {
			gt_scan_fail(&r->scan, r->in.data, "',' or ']' expected after an event");
			return after_failure(r);
		}
		try_ahead(r);
		rc = take_ahead(r, &comma);
		if (!rc) {
			comma = false;
			rc = read_element(r);
		}
		if (rc <= 0)
			return rc;
		need_comma = !comma;
	}
	gt_input_consume(&r->in, 1);
	return 1;
}

/* Consumes a key of the top-level object and its colon; the caller frees ret_key->text. */
static int read_key(struct reader *r, struct gt_span *ret_key)
{
	struct gt_span key = {.text = ""};
	const char *next;
	char *text;
	int rc;

	while (!(next = *r->in.data == '"' ? gt_scan_string(&r->scan, r->in.data, &key)
					   : gt_scan_fail(&r->scan, r->in.data, "key expected"))) {
		rc = after_failure(r);
		if (rc <= 0)
			return rc;
	}
	text = malloc(key.len + 1);
	if (!text)
		return complain_file(r, -ENOMEM);
	ret_key->len = (uint32_t)gt_span_decode(&key, text);
	text[ret_key->len] = 0;
	ret_key->text = text;
	gt_input_consume(&r->in, (size_t)(next - r->in.data));
	rc = next_byte(r);
	if (rc <= 0)
		return rc;
	if (*r->in.data != ':')
		return complain(r, r->in.data, "':' expected after a key", -EBADMSG);
	gt_input_consume(&r->in, 1);
	return next_byte(r);
}

static int read_header_value(struct reader *r, const struct gt_span *key)
{
	struct gt_span value;
	const char *next;
	int rc;

	for (;;) {
		r->scan.loose = false;
		next = gt_scan_value(&r->scan, r->in.data, &value);
		/* a number may continue after the window */
		if (next)
			break;
		rc = after_failure(r);
		if (rc <= 0)
			return rc;
	}
	note_loose(r);
	rc = gt_header_add(&r->reading->header, key, &value, r->reading->events > 0);
	if (rc < 0)
		return complain_file(r, rc);
	gt_input_consume(&r->in, (size_t)(next - r->in.data));
	return 1;
}

/* Reads one member of the top-level object. */
static int read_member(struct reader *r, bool *has_events)
{
	struct gt_span key = {0};
	int rc = read_key(r, &key);

	if (rc > 0 && gt_span_is(&key, "traceEvents", 11)) {
		if (*has_events) {
			rc = complain(r, r->in.data, "traceEvents a second time", -EBADMSG);
		} else if (*r->in.data != '[') {
			rc = complain(r, r->in.data, "traceEvents is not an array", -EBADMSG);
		} else {
			*has_events = true;
			gt_input_consume(&r->in, 1);
			rc = read_events(r);
		}
	} else if (rc > 0) {
		rc = read_header_value(r, &key);
	}
	free((char *)key.text);
	return rc;
}

/* Reads the members of the top-level object: all, or those after the events. */
static int read_object(struct reader *r, bool behind_events)
{
	bool has_events = behind_events, first = !behind_events;
	int rc;

	for (;; first = false) {
		rc = next_byte(r);
		if (rc <= 0)
			break;
		if (*r->in.data == '}') {
			gt_input_consume(&r->in, 1);
			if (!has_events)
				return complain(r, r->in.data,
						"no traceEvents in this object: not a trace",
						-EBADMSG);
			return 1;
		}
		if (!first) {
			if (*r->in.data != ',')
				return complain(r, r->in.data, "',' or '}' expected", -EBADMSG);
			gt_input_consume(&r->in, 1);
			rc = next_byte(r);
			if (rc <= 0)
				break;
		}
		rc = read_member(r, &has_events);
		if (rc <= 0)
			break;
	}
	if (!rc)
		note_cut(r, "the file ends before its JSON object does");
	if (!rc && !has_events)
		return complain(r, r->in.data + r->in.size, "the file ends before its events begin",
				-EBADMSG);
	return rc;
}

/*
 * Reads the array form. A process that was killed while it closed its file leaves the beginning of
 * an array and the end of an object: what follows the bracket are members of the object.
 */
static int read_array(struct reader *r)
{
	int rc = read_events(r);

	if (rc <= 0)
		return rc;
	rc = next_byte(r);
	if (rc < 0 || !rc)
		return rc < 0 ? rc : 1;
	if (*r->in.data != ',')
		return 1;
	rc = read_object(r, true);
	if (rc > 0)
		note_cut(r, "the process was killed while it closed the file");
	r->reading->mixed = rc >= 0;
	return rc < 0 ? rc : 0;
}

/* What a file is that is no JSON. */
static const char *what_else(const struct gt_input *in)
{
	if (in->size >= 4 && !memcmp(in->data, "PK\x03\x04", 4))
		return "a zip: unpack it, and give the folder or the traces that were in it";
	return "not a trace: neither '{' nor '[' begins it";
}

static int read_document(struct reader *r)
{
	int rc = next_byte(r);

	if (rc > 0 && r->in.size >= 3 && !memcmp(r->in.data, "\xef\xbb\xbf", 3)) {
		r->reading->loose = "a byte order mark";
		gt_input_consume(&r->in, 3);
		rc = next_byte(r);
	}
	if (rc < 0)
		return rc;
	if (rc == 0)
		return complain(r, r->in.data, r->in.damage ? r->in.damage : "the file is empty",
				-EBADMSG);
	if (r->in.size > 1 &&
	    (!r->in.data[0] != !r->in.data[1] || (unsigned char)r->in.data[0] >= 0xfe))
		return complain(r, r->in.data, "not UTF-8, which JSON has to be", -EBADMSG);
	if (*r->in.data != '{' && *r->in.data != '[')
		return complain(r, r->in.data, what_else(&r->in), -EBADMSG);
	r->reading->form = *r->in.data == '{' ? GT_FORM_OBJECT : GT_FORM_ARRAY;
	gt_input_consume(&r->in, 1);
	rc = r->reading->form == GT_FORM_OBJECT ? read_object(r, false) : read_array(r);
	if (rc <= 0)
		return rc;
	r->reading->closed = true;
	rc = next_byte(r);
	if (rc > 0)
		return complain(r, r->in.data, "more text after the end of the trace", -EBADMSG);
	return rc;
}

static int read_file(struct reader *r)
{
	int rc = r->in.size ? 0 : gt_input_more(&r->in);

	if (rc < 0)
		return complain_file(r, rc);
	r->reading->is_pftrace = gt_input_is_pftrace(&r->in);
	if (r->reading->is_pftrace)
		return complain(r, r->in.data, "a .pftrace, where only JSON is read", -EBADMSG);
	r->scan.end = r->in.data + r->in.size;
	rc = read_document(r);
	r->reading->compressed = r->in.compressed;
	r->reading->bytes = r->in.bytes + r->in.size;
	return rc;
}

/* Whether gputrace's file has no ledger: the process is running, or the file was repaired without
 * a spool, or merged from such files. Arrays of other tools have no header. */
static bool is_without_ledger(const struct gt_reading *reading)
{
	const struct gt_header *header = &reading->header;
	int64_t without;

	if (gt_header_int(header, "merged", "without_ledger", &without) && without)
		return true;
	return reading->closed && !gt_header_find(header, "ledger") &&
	       (gt_header_find(header, "repaired") ||
		(reading->form == GT_FORM_ARRAY && header->member_count));
}

static void free_reader(struct reader *r)
{
	gt_ahead_stop(r->ahead);
	free(r->ledger);
	free(r->repaired);
	free(r->decoded[0]);
	free(r->decoded[1]);
	free(r);
}

int gt_reader_read_input(struct gt_input *in, gt_reader_event event, void *data,
			 struct gt_reading *ret_reading)
{
	struct reader *r = calloc(1, sizeof(*r));
	int rc;

	memset(ret_reading, 0, sizeof(*ret_reading));
	if (!r)
		return -ENOMEM;
	r->in = *in;
	r->reading = ret_reading;
	r->event = event;
	r->data = data;
	gt_fields_init(&r->taker);
	rc = read_file(r);
	if (rc >= 0)
		rc = use_ledger(r);
	ret_reading->without_ledger = is_without_ledger(ret_reading);
	*in = r->in;
	free_reader(r);
	return rc < 0 ? rc : 0;
}

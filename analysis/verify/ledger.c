/* SPDX-License-Identifier: Apache-2.0
 *
 * The checks of analysis/verify/verify.c on the file as a whole: its form, its header, its ledger.
 * One thread.
 */
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "analysis/verify/state.h"
#include "core/schema/ledger.h"
#include "core/schema/metadata.h"
#include "readers/show.h"
#include "readers/utf8.h"

/* File names by which speedscope chooses another importer. */
static const char *const foreign_names[] = {
	"*Trace-[0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9]T[0-9][0-9][0-9][0-9][0-9][0-9]*",
	"*Profile-[0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9]T[0-9][0-9][0-9][0-9][0-9][0-9]*",
	"*.chrome.json",
	"*-recording.json",
};

/* Members of the top-level object that make readers take the file for something else. */
static const char *const forbidden[] = {"samples", "stackFrames", "systemTraceEvents"};

/* Whole gzip members in a file; 0: none, or it could not be read. */
static unsigned int count_members(const char *path)
{
	unsigned char in[65536], out[65536];
	unsigned int members = 0;
	FILE *file = fopen(path, "rb");
	z_stream z = {0};
	size_t size;
	int rc = Z_OK;

	if (!file || inflateInit2(&z, 15 + 16) != Z_OK) {
		if (file)
			fclose(file);
		return 0;
	}
	while ((rc == Z_OK || rc == Z_BUF_ERROR) && (size = fread(in, 1, sizeof(in), file)) > 0) {
		z.next_in = in;
		z.avail_in = (uInt)size;
		while ((rc == Z_OK || rc == Z_BUF_ERROR) && z.avail_in) {
			z.next_out = out;
			z.avail_out = sizeof(out);
			rc = inflate(&z, Z_NO_FLUSH);
			if (rc == Z_STREAM_END) {
				members++;
				rc = inflateReset(&z);
			}
		}
	}
	inflateEnd(&z);
	fclose(file);
	return members;
}

/* --details=few leaves the flows out. */
static bool is_without_flow(const struct gt_verify *v)
{
	const char *metadata = gt_header_find(&v->reading.header, "metadata");

	return metadata && strstr(metadata, "details=few") && !v->flow_starts;
}

/* What readers take although it is no JSON, and the header's text. */
static void check_strict(struct gt_verify *v, const struct gt_reading *reading)
{
	for (size_t i = 0; i < reading->header.member_count; i++) {
		const struct gt_header_member *member = &reading->header.members[i];

		gt_verify_text(v, member->key, strlen(member->key), 0);
		gt_verify_text(v, member->text, strlen(member->text), 0);
	}
	if (reading->loose)
		gt_verify_find(v, GT_CHECK_JSON, 0, "%s, which readers take and is no JSON",
			       reading->loose);
	if (reading->closed && reading->form == GT_FORM_OBJECT && reading->comma_byte)
		gt_verify_find(v, GT_CHECK_JSON, 0,
			       "a comma after the last event (gputrace repair removes it)");
}

/* Our readers need nothing behind the last bracket, others do. */
static void check_members(struct gt_verify *v, const struct gt_reading *reading)
{
	unsigned int members = count_members(v->path);

	if (members > 1)
		gt_verify_find(v, GT_CHECK_GZIP, 0,
			       "more than one gzip member: speedscope refuses it");
	if (!members && reading->closed)
		gt_verify_find(
			v, GT_CHECK_GZIP, 0,
			"its compressed data breaks off behind the last event (gputrace repair "
			"completes it)");
}

/* What `gputrace repair` would do: without an event there is nothing to keep. */
static const char *remedy_of(const struct gt_reading *reading)
{
	return reading->events ? " (gputrace repair closes it)" : "";
}

static void check_closed(struct gt_verify *v, const struct gt_reading *reading)
{
	if (!reading->closed && reading->is_pftrace)
		gt_verify_find(v, GT_CHECK_OPEN, 0, "not closed: %s", reading->note);
	else if (!reading->closed)
		gt_verify_find(v, GT_CHECK_OPEN, reading->end_line, "not closed: %s%s",
			       reading->note, remedy_of(reading));
	else if (reading->form == GT_FORM_ARRAY)
		gt_verify_find(v, GT_CHECK_OPEN, 0, "the array form of a %s%s",
			       gt_header_find(&reading->header, "ledger") ? "stream that ended"
									  : "running process",
			       remedy_of(reading));
}

void gt_verify_file_form(struct gt_verify *v)
{
	const char *slash = strrchr(v->path, '/'), *name = slash ? slash + 1 : v->path;
	const struct gt_reading *reading = &v->reading;

	for (size_t i = 0; i < sizeof(foreign_names) / sizeof(foreign_names[0]); i++)
		if (!fnmatch(foreign_names[i], name, 0))
			gt_verify_find(v, GT_CHECK_NAME, 0,
				       "speedscope takes this name for another "
				       "profiler's");
	if (reading->doubt[0])
		gt_verify_find(v, GT_CHECK_LEDGER, 0, "%s", reading->doubt);
	check_closed(v, reading);
	if (reading->strange)
		gt_verify_find(v, GT_CHECK_PHASE, 0,
			       "%" PRIu64 " %s%s without the form of an event", reading->strange,
			       reading->is_pftrace ? "part" : "traceEvents element",
			       gt_plural(reading->strange));
	check_strict(v, reading);
	if (reading->compressed && strcmp(v->path, "-"))
		check_members(v, reading);
	v->repaired = gt_header_find(&reading->header, "repaired");
	v->without_flow = reading->is_pftrace || is_without_flow(v);
	v->is_part = gt_header_int(&reading->header, "segment", gt_segment_names[GT_SEGMENT_BORDER],
				   &v->border);
	v->ours = gt_header_find(&reading->header, "ledger") ||
		  (gt_header_find(&reading->header, "metadata") &&
		   strstr(gt_header_find(&reading->header, "metadata"), "\"gputrace_version\""));
	if (v->ours && !v->ended && !v->repaired)
		gt_verify_find(v, GT_CHECK_END, reading->end_line,
			       "the last event is not \"Record Window End\"");
}

static void check_devices(struct gt_verify *v)
{
	const struct gt_header *header = &v->reading.header;

	if (!gt_header_find(header, "deviceProperties"))
		gt_verify_find(v, GT_CHECK_HEADER, 0, "no deviceProperties in the header");
	for (size_t i = 0; i < header->device_count; i++)
		if (header->devices[i].id != (int64_t)i)
			gt_verify_find(v, GT_CHECK_HEADER, 0,
				       "deviceProperties[%zu] is device %" PRId64
				       ": readers index by position",
				       i, header->devices[i].id);
}

static void check_member(struct gt_verify *v, const struct gt_header_member *member)
{
	static const char *const behind[] = {"ledger", "traceName", "repaired", "merged"};
	bool may_be_behind = false;

	for (size_t i = 0; i < sizeof(behind) / sizeof(behind[0]); i++)
		may_be_behind |= !strcmp(member->key, behind[i]);
	if (member->behind && !may_be_behind)
		gt_verify_find(v, GT_CHECK_HEADER, 0, "%s follows the events: HTA does not see it",
			       member->key);
	for (size_t i = 0; i < sizeof(forbidden) / sizeof(forbidden[0]); i++)
		if (!strcmp(member->key, forbidden[i]))
			gt_verify_find(v, GT_CHECK_HEADER, 0, "%s makes readers ignore the events",
				       member->key);
	gt_verify_text(v, member->text, strlen(member->text), 0);
}

void gt_verify_header(struct gt_verify *v)
{
	const struct gt_header *header = &v->reading.header;
	const char *info = gt_header_find(header, "distributedInfo");
	const char *unit = gt_header_find(header, "displayTimeUnit");

	for (size_t i = 0; i < header->member_count; i++)
		check_member(v, &header->members[i]);
	if (v->reading.form == GT_FORM_ARRAY)
		return;
	check_devices(v);
	if (!gt_header_find(header, "schemaVersion"))
		gt_verify_find(v, GT_CHECK_HEADER, 0, "no schemaVersion in the header");
	else if (strtoll(gt_header_find(header, "schemaVersion"), NULL, 10) > 1)
		gt_verify_find(v, GT_CHECK_HEADER, 0,
			       "schemaVersion %.20s: of a newer gputrace, 1 is known",
			       gt_header_find(header, "schemaVersion"));
	if (!info || !header->has_rank)
		gt_verify_find(v, GT_CHECK_HEADER, 0,
			       "no distributedInfo with a rank in the header");
	else if (!strstr(info, "\"rank\": "))
		gt_verify_find(v, GT_CHECK_HEADER, 0,
			       "\"rank\": needs a space after it: HTA takes the file for rank 0");
	if (!unit || (strcmp(unit, "\"ns\"") && strcmp(unit, "\"ms\"")))
		gt_verify_find(v, GT_CHECK_HEADER, 0,
			       "displayTimeUnit is neither \"ns\" nor \"ms\"");
	if (!header->has_base)
		gt_verify_find(v, GT_CHECK_HEADER, 0, "no baseTimeNanoseconds in the header");
}

/* @digits: of \uXXXX, D800 to DFFF is half of a pair. */
static const char *why_not_escaped(const char *digits)
{
	return (*digits | ' ') == 'd' && digits[1] >= '8'
		       ? "Perfetto refuses a file with surrogates"
		       : "the format has this character as UTF-8";
}

/* 16 bytes of text at a time, where the machine can, and 64 of them before a branch. */
typedef uint8_t verify_bytes __attribute__((vector_size(16)));
typedef uint64_t verify_words __attribute__((vector_size(16)));

#define BYTES sizeof(verify_bytes)

/* In each byte the top bit is set, or none, where @text has one beyond ASCII or a backslash. */
static verify_bytes odd_bytes(const unsigned char *text)
{
	verify_bytes bytes;

	memcpy(&bytes, text, BYTES);
	return bytes | (verify_bytes)(bytes == '\\');
}

static bool is_plain(verify_bytes odd)
{
	verify_words words = (verify_words)odd;

	return !((words[0] | words[1]) & 0x8080808080808080u);
}

/* ASCII without a backslash, which most text is. Returns how many bytes of it were found. */
static size_t skip_plain(const unsigned char *text, size_t len)
{
	size_t i = 0;

	for (; len - i >= 4 * BYTES; i += 4 * BYTES)
		if (!is_plain(odd_bytes(text + i) | odd_bytes(text + i + BYTES) |
			      odd_bytes(text + i + 2 * BYTES) | odd_bytes(text + i + 3 * BYTES)))
			break;
	for (; len - i >= BYTES; i += BYTES)
		if (!is_plain(odd_bytes(text + i)))
			return i;
	/* the rest, with bytes before it */
	return len >= BYTES && is_plain(odd_bytes(text + len - BYTES)) ? len : i;
}

void gt_verify_text(struct gt_verify *v, const char *text, size_t len, uint64_t line)
{
	const unsigned char *p = (const unsigned char *)text;

	for (size_t i = 0, n; i < len; i += n) {
		n = skip_plain(p + i, len - i);
		if (n)
			continue;
		n = p[i] < 0x80 ? 1 : gt_utf8_length(p + i, len - i);
		if (!n) {
			gt_verify_find(v, GT_CHECK_UTF8, line, "text is not UTF-8");
			return;
		}
		if (p[i] == '\\') {
			/* an escape was scanned already: it is whole */
			if (p[i + 1] == 'u' && memcmp(p + i + 2, "00", 2)) {
				gt_verify_find(v, GT_CHECK_UTF8, line, "escape %.6s: %s", text + i,
					       why_not_escaped(text + i + 2));
				return;
			}
			n = 2;
		}
	}
}

int64_t gt_verify_count(const struct gt_verify *v, enum gt_ledger_key key)
{
	int64_t count = 0;

	gt_header_int(&v->reading.header, "ledger", gt_ledger_rows[key].json, &count);
	return count;
}

static bool has_book(const struct gt_verify *v, enum gt_ledger_key key)
{
	int64_t count;

	return gt_header_int(&v->reading.header, "ledger", gt_ledger_rows[key].json, &count);
}

/* What the file has of each kind against what the ledger says of it. Older ledgers lack some
 * keys. */
static void check_written(struct gt_verify *v)
{
	const uint64_t *slices = v->written;
	const struct {
		enum gt_ledger_key key;
		uint64_t found;
	} rows[] = {
		{GT_LEDGER_CALLS_WRITTEN, slices[GT_VERIFY_CALL]},
		{GT_LEDGER_KERNELS_WRITTEN, slices[GT_VERIFY_KERNEL]},
		{GT_LEDGER_MEMCPYS_WRITTEN, slices[GT_VERIFY_COPY]},
		{GT_LEDGER_MEMSETS_WRITTEN, slices[GT_VERIFY_SET]},
		{GT_LEDGER_GRAPHS_WRITTEN, slices[GT_VERIFY_GRAPH]},
		{GT_LEDGER_SYNCS_WRITTEN, slices[GT_VERIFY_SYNC]},
		{GT_LEDGER_OVERHEADS_WRITTEN, slices[GT_VERIFY_OVERHEAD]},
		{GT_LEDGER_FRAMES_WRITTEN, slices[GT_VERIFY_FRAME]},
		{GT_LEDGER_RANGES_WRITTEN, slices[GT_VERIFY_RANGE] + v->marks},
		{GT_LEDGER_SHADOWS_WRITTEN, slices[GT_VERIFY_SHADOW]},
		{GT_LEDGER_SAMPLES_WRITTEN, v->samples},
		{GT_LEDGER_FLOWS_WRITTEN, v->flow_starts},
		{GT_LEDGER_COUNTERS_WRITTEN, v->counters},
		{GT_LEDGER_TENSORS_WRITTEN, v->tensors},
		{GT_LEDGER_NOTES_WRITTEN, v->notes},
		{GT_LEDGER_NAMES_WRITTEN, v->names},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (has_book(v, rows[i].key) &&
		    (uint64_t)gt_verify_count(v, rows[i].key) != rows[i].found)
			gt_verify_find(v, GT_CHECK_LEDGER, 0,
				       "ledger: %s is %" PRId64 ", the file has %" PRIu64,
				       gt_ledger_rows[rows[i].key].json,
				       gt_verify_count(v, rows[i].key), rows[i].found);
}

/* What was received against what was written: the difference must have a cause. Older ledgers do
 * not tell losses by kind. */
static void check_received(struct gt_verify *v, const struct gt_ledger_kind *kind,
			   int64_t *ret_missing)
{
	const char *name = gt_ledger_rows[kind->received].json;
	int64_t lost = gt_verify_count(v, kind->lost);
	int64_t missing = gt_verify_count(v, kind->received) - gt_verify_count(v, kind->written);

	if (kind->untimed != GT_LEDGER_COUNT_)
		missing -= gt_verify_count(v, kind->untimed);
	for (int i = 0; i < GT_LEDGER_LEFT_OUT_; i++)
		if (kind->left_out[i] != GT_LEDGER_COUNT_)
			missing -= gt_verify_count(v, kind->left_out[i]);
	if (!has_book(v, kind->received))
		return;
	if (missing < 0)
		gt_verify_find(v, GT_CHECK_LEDGER, 0,
			       "ledger: %s is %" PRId64 " less than what was written", name,
			       -missing);
	else if (has_book(v, kind->lost) && missing != lost)
		gt_verify_find(v, GT_CHECK_LEDGER, 0,
			       "ledger: of %s %" PRId64 " are not written, and %s is %" PRId64,
			       name, missing, gt_ledger_rows[kind->lost].json, lost);
	*ret_missing += missing > 0 ? missing : 0;
}

static void check_sums(struct gt_verify *v)
{
	int64_t missing = 0, lost = gt_verify_count(v, GT_LEDGER_EVENTS_LOST_DISK) +
				    gt_verify_count(v, GT_LEDGER_EVENTS_LOST_EARLY) +
				    gt_verify_count(v, GT_LEDGER_EVENTS_LOST_MEMORY) +
				    gt_verify_count(v, GT_LEDGER_EVENTS_LOST_KILLED);
	enum gt_ledger_key arrived = has_book(v, GT_LEDGER_CALLS_RECEIVED)
					     ? GT_LEDGER_CALLS_RECEIVED
					     : GT_LEDGER_CALLS_WRITTEN;
	int64_t seen = gt_verify_count(v, GT_LEDGER_CALLS_SEEN);
	int64_t reported = gt_verify_count(v, GT_LEDGER_CALLS_OPEN);

	for (int i = 0; i < GT_LEDGER_CALL_ENDS_; i++)
		reported += gt_verify_count(v, gt_ledger_call_ends[i] == GT_LEDGER_CALLS_RECEIVED
						       ? arrived
						       : gt_ledger_call_ends[i]);
	if (seen != reported)
		gt_verify_find(v, GT_CHECK_LEDGER, 0,
			       "ledger: of %" PRId64 " calls seen %" PRId64 " are accounted for",
			       seen, reported);
	for (int i = 0; i < GT_LEDGER_KINDS_; i++)
		check_received(v, &gt_ledger_kinds[i], &missing);
	if (missing > lost)
		gt_verify_find(
			v, GT_CHECK_LEDGER, 0,
			"ledger: %" PRId64
			" calls, records and samples are neither written nor lost by a cause",
			missing - lost);
}

/* Losses that have a cause: no fault of the ledger, but the reader wants to know. */
static void report_losses(struct gt_verify *v)
{
	for (enum gt_ledger_key key = 0; key < GT_LEDGER_COUNT_; key++) {
		const struct gt_ledger_row *row = &gt_ledger_rows[key];
		int64_t count = row->sort == GT_LEDGER_LOSS ? gt_verify_count(v, key) : 0;

		if (!count || gt_header_is_asked_for(&v->reading.header, key))
			continue;
		v->result->losses++;
		if (v->options->strict)
			gt_verify_find(v, GT_CHECK_LEDGER, 0, "lost: %" PRId64 " %s: %s", count,
				       row->json, row->help);
		else
			gt_show_line(v->out, "%s: lost: %" PRId64 " %s: %s", v->path, count,
				     row->json, row->help);
	}
}

/* It was closed by another one than its process, which had no spool. */
static void report_unknown(struct gt_verify *v)
{
	static const char text[] = "no ledger: what its process had not written is not known";

	v->result->is_unknown = true;
	if (v->options->strict)
		gt_verify_find(v, GT_CHECK_LEDGER, 0, "%s", text);
	else
		gt_show_line(v->out, "%s: %s", v->path, text);
}

void gt_verify_ledger(struct gt_verify *v)
{
	if (!gt_header_find(&v->reading.header, "ledger")) {
		if (v->repaired)
			report_unknown(v);
		else if (v->reading.closed && v->reading.form == GT_FORM_OBJECT)
			gt_verify_find(v, GT_CHECK_LEDGER, 0, "no ledger after the events");
		return;
	}
	if (v->reading.without_ledger) {
		gt_verify_find(v, GT_CHECK_LEDGER, 0,
			       "files were merged that have no ledger: what they had not written "
			       "is not known");
	} else {
		if (!v->reading.is_pftrace) /* there the reader has counted: doubt */
			check_written(v);
		check_sums(v);
	}
	report_losses(v);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * `replay FILE.cupti.gz FOLDER` reads activity records that were captured on a GPU
 * (collectors/cupti/capture.h) and writes the trace that they make. The records are read three
 * times: with the lengths that CUPTI gave, as the buffer of a process that is gone, whose lengths
 * have to be found, and as those of a CUPTI that is newer than all known ones. What was counted
 * goes to stdout; 1 when the three differ.
 */
#include <cupti.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "collectors/cupti/capture.h"
#include "collectors/cupti/records/layout.h"
#include "collectors/cupti/replay.h"
#include "core/guest/log.h"
#include "writers/sink.h"
#include "writers/writer.h"

#define FILE_BYTES (16u << 20)
#define MOST       4096u
#define TOO_NEW    990000u

/* A captured record, its name at a place that is valid here. */
struct captured {
	const uint8_t *bytes;
	uint32_t size;
	const char *name;
};

static struct gt_cupti_capture_header header;
static struct captured records[MOST];
static unsigned int record_count;
static uint64_t earliest = UINT64_MAX; /* of GPU work */

static struct gt_clock trace_clock;
static struct gt_intern *strings;
static struct gt_sink *sink;
static struct gt_writer *writer;
static struct gt_translate translate;

static void need(bool truth, const char *what)
{
	if (truth)
		return;
	fprintf(stderr, "replay: %s\n", what);
	exit(1);
}

static uint32_t kind_of(const struct captured *record)
{
	uint32_t kind;

	memcpy(&kind, record->bytes, sizeof(kind));
	return kind;
}

static void note_time(const struct captured *record)
{
	uint64_t start;

	if (kind_of(record) != CUPTI_ACTIVITY_KIND_OVERHEAD)
		return;
	memcpy(&start, record->bytes + offsetof(CUpti_ActivityOverhead, start), sizeof(start));
	if (start < earliest)
		earliest = start;
}

static void add_record(const uint8_t *at, struct gt_cupti_capture_record head)
{
	struct captured *record = &records[record_count++];

	*record = (struct captured){.bytes = at, .size = head.size};
	if (head.name_length)
		record->name = strndup((const char *)at + head.size, head.name_length);
	note_time(record);
}

static void read_capture(const char *path)
{
	uint8_t *data = malloc(FILE_BYTES);
	gzFile file = gzopen(path, "rb");
	int size = file ? gzread(file, data, FILE_BYTES) : -1;
	size_t at = sizeof(header);
	struct gt_cupti_capture_record head;

	need(size >= (int)at && !memcmp(data, GT_CUPTI_CAPTURE_MAGIC, sizeof(header.magic)),
	     "not a capture");
	memcpy(&header, data, sizeof(header));
	while (at < (size_t)size) {
		need((size_t)size - at >= sizeof(head), "the capture is cut");
		memcpy(&head, data + at, sizeof(head));
		at += sizeof(head);
		need((size_t)size - at >= (size_t)head.size + head.name_length && head.size >= 8 &&
			     record_count < MOST,
		     "the capture is cut");
		add_record(data + at, head);
		at += head.size + head.name_length;
	}
	gzclose(file);
}

/* The record as CUPTI hands it out; the name of a device is freed by whoever reads it. */
static void put_record(const struct captured *record, uint8_t *to)
{
	uint32_t kind = kind_of(record);
	const char *name = record->name;

	memcpy(to, record->bytes, record->size);
	if (kind == CUPTI_ACTIVITY_KIND_DEVICE) {
		name = strdup(record->name);
		memcpy(to + offsetof(CUpti_ActivityDevice4, name), &name, sizeof(name));
	} else if (name) {
		memcpy(to + offsetof(CUpti_ActivityKernel8, name), &name, sizeof(name));
	}
}

static void write_event(void *context, struct gt_event *event)
{
	(void)context;
	writer->ops->event(writer, event);
}

static void forget_event(void *context, struct gt_event *event)
{
	(void)context;
	(void)event;
}

/* Trace time is CLOCK_REALTIME. */
static void start(struct gt_ledger *ledger, uint32_t version)
{
	static struct gt_demangle *demangle;

	if (!demangle)
		demangle = gt_demangle_new(strings);
	memset(ledger, 0, sizeof(*ledger));
	memset(&translate, 0, sizeof(translate));
	trace_clock = (struct gt_clock){.count = 1, .trace_offset = (int64_t)earliest};
	trace_clock.first.realtime = earliest;
	trace_clock.samples[0] = trace_clock.first;
	translate.clock = &trace_clock;
	translate.strings = strings;
	translate.demangle = demangle;
	translate.ledger = ledger;
	translate.session_start = earliest;
	translate.version = version;
	translate.emit = forget_event;
}

/* With the lengths that CUPTI gave. */
static void translate_all(struct gt_ledger *ledger, uint32_t version, bool is_written)
{
	_Alignas(8) uint8_t record[1024];

	start(ledger, version);
	if (is_written)
		translate.emit = write_event;
	for (unsigned int i = 0; i < record_count; i++) {
		need(records[i].size <= sizeof(record), "a record is too long");
		put_record(&records[i], record);
		gt_translate_record(&translate, record);
	}
}

/* As one buffer, of whose lengths nothing was noted; zeros behind the records as CUPTI leaves
 * them. */
static void replay_all(struct gt_ledger *ledger, struct gt_translate_notes *notes)
{
	const struct gt_cupti_replay how = {
		.notes = notes, .translate = &translate, .unfinished = true};
	uint8_t *buffer = calloc(1, FILE_BYTES);
	size_t used = 0, left;

	start(ledger, header.version);
	for (unsigned int i = 0; i < record_count; used += records[i++].size)
		put_record(&records[i], buffer + used);
	gt_cupti_replay_learn(&how, buffer, used + 4096);
	left = gt_cupti_replay(&how, buffer, used);
	need(left == 0, "not all bytes were read");
	free(buffer);
}

static void check_lengths(const struct gt_translate_notes *notes)
{
	for (unsigned int i = 0; i < record_count; i++) {
		uint32_t kind = kind_of(&records[i]);

		need(kind < GT_TRANSLATE_KINDS && notes->bytes[kind] == records[i].size,
		     "the length of a kind was not found");
	}
	for (uint32_t kind = 0; kind < GT_TRANSLATE_KINDS; kind++)
		if (notes->bytes[kind])
			printf("kind %u: %u bytes\n", kind, notes->bytes[kind]);
}

/* Times in the trace are those since the earliest record. */
static struct gt_metadata metadata_of(void)
{
	return (struct gt_metadata){.version = "0",
				    .process = "captured",
				    .host = "",
				    .pid = 1,
				    .local_rank = -1,
				    .base = earliest,
				    .start = earliest,
				    .cupti_version = header.version,
				    .mode = "cupti",
				    .device_count = 1,
				    .devices = {translate.devices[0]}};
}

static void open_trace(const char *folder)
{
	struct gt_sink_options options = {
		.directory = folder, .fallback = folder, .name = "replayed", .suffix = ".json"};
	struct gt_writer_options defaults = {0};
	struct gt_metadata metadata = metadata_of();
	int error = 0;

	sink = gt_sink_open(&options, &error);
	writer = gt_writer_new("chrome");
	need(sink && writer && !writer->ops->open(writer, sink, &metadata, &defaults),
	     "the trace cannot be written");
}

static void close_trace(struct gt_ledger *ledger)
{
	struct gt_metadata metadata = metadata_of();

	need(!writer->ops->close(writer, &metadata, ledger), "the trace cannot be closed");
	writer->ops->fini(writer);
	gt_writer_free(writer);
	gt_sink_close(sink);
}

int main(int argc, char **argv)
{
	static struct gt_translate_notes notes;
	struct gt_ledger as_given, as_found, as_newer;

	need(argc == 3, "usage: replay FILE.cupti.gz FOLDER");
	gt_log_set_level(GT_LOG_QUIET);
	strings = gt_intern_new(8 << 20);
	read_capture(argv[1]);
	replay_all(&as_found, &notes);
	translate_all(&as_newer, TOO_NEW, false);
	open_trace(argv[2]);
	translate_all(&as_given, header.version, true);
	printf("CUPTI %u, %u records\n", header.version, record_count);
	check_lengths(&notes);
	for (int key = 0; key < GT_LEDGER_COUNT_; key++)
		if (as_given.count[key])
			printf("%s: %llu\n", gt_ledger_rows[key].json,
			       (unsigned long long)as_given.count[key]);
	need(!memcmp(&as_given, &as_found, sizeof(as_given)),
	     "without CUPTI other things are counted");
	need(!memcmp(&as_given, &as_newer, sizeof(as_given)),
	     "a newer CUPTI's records would be left out");
	close_trace(&as_given);
	return 0;
}

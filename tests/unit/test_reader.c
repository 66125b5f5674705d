/* SPDX-License-Identifier: Apache-2.0
 *
 * readers/chrome/reader.h: both forms, cut files, gzip, and errors that name line and byte.
 */
#include "readers/chrome/reader.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define EVENT                                                                                      \
	"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\\\"1\", \"pid\": 0, \"tid\": 7, "      \
	"\"ts\": 12.345, \"dur\": 1.002, \"args\": {\"stream\": 7, \"odd\": [1], "                 \
	"\"correlation\": 9}}"

static char path[64];

static void make_path(void)
{
	strcpy(path, "/tmp/gputrace-reader-XXXXXX");
	close(mkstemp(path));
}

static void remove_path(void)
{
	unlink(path);
}

TestSuite(reader, .init = make_path, .fini = remove_path);

static void put(const void *data, size_t size)
{
	FILE *file = fopen(path, "w");

	cr_assert_eq(fwrite(data, 1, size, file), size);
	fclose(file);
}

struct seen {
	int events;
	int64_t ts, dur, correlation, pid;
	char name[64];
};

static int see(const struct gt_trace_event *record, const struct gt_header *header, void *data)
{
	struct seen *seen = data;

	(void)header;
	seen->events++;
	seen->ts = record->ts;
	seen->dur = record->dur;
	seen->pid = record->pid;
	seen->correlation = gt_record_int(record, GT_ARG_CORRELATION, -1);
	snprintf(seen->name, sizeof(seen->name), "%.*s", (int)record->name.len, record->name.text);
	return 0;
}

static struct seen read_text(const char *text, struct gt_reading *reading, int expected)
{
	struct seen seen = {0};
	int rc;

	put(text, strlen(text));
	rc = gt_reader_read(path, see, &seen, reading);
	cr_assert_eq(rc, expected, "%d: %s", rc, reading->error);
	return seen;
}

Test(reader, object_form)
{
	struct gt_reading reading;
	struct seen seen = read_text(
		"{\"distributedInfo\": {\"rank\": 3, \"world_size\": 8},\n"
		"\"deviceProperties\": [{\"id\": 0, \"name\": \"H200\", \"numSms\": 132}],\n"
		"\"baseTimeNanoseconds\": 1782967788000000000,\n"
		"\"traceEvents\": [\n" EVENT "\n],"
		"\"ledger\": {\"calls_seen\": 12}, \"traceName\": \"x\"}\n",
		&reading, 0);
	int64_t calls;

	cr_assert(reading.closed);
	cr_assert_eq(seen.events, 1);
	cr_assert_eq(seen.ts, 12345);
	cr_assert_eq(seen.dur, 1002);
	cr_assert_eq(seen.correlation, 9);
	cr_assert_str_eq(seen.name, "k\"1");
	cr_assert(reading.header.has_rank && reading.header.rank == 3);
	cr_assert_eq(reading.header.world_size, 8);
	cr_assert_eq(reading.header.base_ns, 1782967788000000000);
	cr_assert_eq(reading.header.device_count, 1);
	cr_assert_str_eq(reading.header.devices[0].name, "H200");
	cr_assert(gt_header_int(&reading.header, "ledger", "calls_seen", &calls) && calls == 12);
	gt_reading_fini(&reading);
}

Test(reader, cut_array_keeps_whole_events_and_the_header_of_the_first)
{
	struct gt_reading reading;
	struct seen seen =
		read_text("[{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 1, "
			  "\"tid\": 0, \"ts\": 0, \"args\": "
			  "{\"name\": \"t\", \"header\": {\"distributedInfo\": {\"rank\": 5, "
			  "\"world_size\": 6}}, \"pad\": \"   \"}}\n"
			  "," EVENT "\n,{\"ph\": \"X\", \"na",
			  &reading, 0);

	cr_assert_not(reading.closed);
	cr_assert_eq(seen.events, 2);
	cr_assert_eq(reading.end_line, 2);
	cr_assert(reading.header.has_rank && reading.header.rank == 5);
	cr_assert(strstr(reading.note, "inside an event"), "%s", reading.note);
	gt_reading_fini(&reading);
}

Test(reader, every_cut_of_a_file_is_read_or_refused_but_never_wrong)
{
	static const char text[] =
		"{\"schemaVersion\": 1, \"traceEvents\": [" EVENT "," EVENT "], \"a\": 1}";
	struct gt_reading reading;

	for (size_t n = 0; n + 1 < sizeof(text) - 1; n++) {
		struct seen seen = {0};
		int rc;

		put(text, n);
		rc = gt_reader_read(path, see, &seen, &reading);
		cr_assert(rc == 0 || rc == -EBADMSG, "%zu: %d", n, rc);
		cr_assert(!reading.closed, "%zu", n);
		cr_assert_eq(seen.events, (int)reading.events);
		gt_reading_fini(&reading);
	}
}

Test(reader, errors_name_line_and_byte)
{
	static const struct {
		const char *text, *expected;
	} rows[] = {
		{"[\n" EVENT ",\n{\"ph\" \"X\"}]", ":3: offset 155: ':' expected after a key"},
		{"{\"traceEvents\": 1}", ":1: offset 16: traceEvents is not an array"},
		{"{\"a\": 1}", "no traceEvents"},
		{"hello", "neither '{' nor '['"},
		{"PK\x03\x04\x14", "a zip: unpack it"},
		{"[" EVENT " " EVENT "]", "',' or ']' expected"},
		{"[] x", "more text after"},
		{"", "the file is empty"},
		{"[,]", "an event was expected"},
	};
	struct gt_reading reading;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		read_text(rows[i].text, &reading, -EBADMSG);
		cr_assert(strstr(reading.error, rows[i].expected), "%s", reading.error);
		gt_reading_fini(&reading);
	}
}

Test(reader, what_other_tools_write)
{
	struct gt_reading reading;
	struct seen seen = read_text(
		"\xef\xbb\xbf[{\"ph\": \"X\", \"pid\": \"Spans\", \"ts\": 1, \"args\": 3},"
		" null, {}, {\"pid\": 2.0, \"dur\": NaN, \"ts\": 1e3},\n]\n",
		&reading, 0);

	cr_assert(reading.closed);
	cr_assert_eq(seen.events, 3);
	cr_assert_eq(reading.strange, 1);
	cr_assert_eq(seen.pid, 2);
	cr_assert_eq(seen.ts, 1000000);
	gt_reading_fini(&reading);
}

Test(reader, an_event_larger_than_the_window)
{
	size_t size = 5u << 20;
	char *text = malloc(size + 200);
	struct gt_reading reading;
	struct seen seen;

	strcpy(text, "[" EVENT ",{\"ph\": \"X\", \"name\": \"big\", \"args\": {\"x\": \"");
	memset(text + strlen(text), 'y', size);
	text[size] = 0;
	strcpy(text + size, "\"}}]");
	seen = read_text(text, &reading, 0);
	cr_assert_eq(seen.events, 2);
	cr_assert_str_eq(seen.name, "big");
	gt_reading_fini(&reading);
	free(text);
}

Test(reader, gzip_whole_and_cut)
{
	gzFile gz = gzopen(path, "w");
	char bytes[256];
	struct gt_reading reading;
	struct seen seen = {0};
	FILE *file;
	size_t n;

	gzputs(gz, "[" EVENT "]");
	gzclose(gz);
	cr_assert_eq(gt_reader_read(path, see, &seen, &reading), 0);
	cr_assert(reading.compressed && reading.closed && seen.events == 1);
	gt_reading_fini(&reading);

	file = fopen(path, "r");
	n = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	put(bytes, n - 20);
	seen.events = 0;
	cr_assert_eq(gt_reader_read(path, see, &seen, &reading), 0);
	cr_assert(!reading.closed);
	cr_assert_str_eq(reading.note, "the compressed data breaks off");
	gt_reading_fini(&reading);
}

Test(reader, missing_file)
{
	struct gt_reading reading;

	cr_assert_eq(gt_reader_read("/nonexistent/x.json", see, NULL, &reading), -ENOENT);
	cr_assert(strstr(reading.error, "/nonexistent/x.json: No such file"), "%s", reading.error);
	gt_reading_fini(&reading);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * readers/chrome/ahead.h: whatever is scanned ahead, a reading is the same to the last byte and
 * line.
 */
#include "readers/chrome/ahead.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define TEXT (1u << 20)

static char path[64], *text;
static size_t size;
static uint32_t seed;

static void prepare(void)
{
	strcpy(path, "/tmp/gputrace-ahead-XXXXXX");
	close(mkstemp(path));
	text = malloc(TEXT);
	size = 0;
	gt_ahead_limits.cores = 8;
	gt_ahead_limits.least = 1;
}

static void clean_up(void)
{
	unlink(path);
	free(text);
}

TestSuite(ahead, .init = prepare, .fini = clean_up);

static uint32_t any(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

static void add(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	size += (size_t)vsnprintf(text + size, TEXT - size, format, list);
	va_end(list);
}

/* Events that hold what looks like the begin of one. */
static void add_event(uint32_t i)
{
	static const char *const odd[] = {
		"{\"ph\": \"X\"}",
		"[{\"ph\": \"X\", \"ts\": 7}, {\"ph\": 1}]",
		"\"{\\\"ph\\\": \\\"X\\\"},\\n{\\\"ph\\\"\"",
		"{\"a\": {\"ph\": {\"ph\": [1, {\"ph\": NaN}]}}}",
		"\"},\\n{\\u0022ph\"",
		"17",
	};

	add("{\"ph\": \"X\", \"name\": \"k%s%u\", \"pid\": %u, \"tid\": \"t%u\",%s \"ts\": %u.5,",
	    any(3) ? "" : "\\\"", i, any(3), any(3), any(4) ? "" : "\n", i * 10);
	add(" \"dur\": %u, \"args\": {\"stream\": %u, \"odd\": %s, \"correlation\": %u}}", any(9),
	    i, odd[any(6)], i);
}

static void make_text(uint32_t from)
{
	static const char *const between[] = {",\n", "\n,", ", ", ",", " ,\n\n  ", ",\n"};
	uint32_t events = 2 + any(60);

	seed = from;
	size = 0;
	add(any(2) ? "{\"a\": 1,\n\"traceEvents\": [\n" : "[\n");
	for (uint32_t i = 0; i < events; i++) {
		if (i)
			add("%s", between[any(6)]);
		if (any(20) == 0)
			add(any(2) ? "null" : "{}");
		else
			add_event(i);
	}
	add(*text == '{' ? "\n], \"traceName\": \"x\"}\n" : any(2) ? "\n]\n" : ",\n]");
}

/* ---- what a reading tells ---- */

struct told {
	char *at;
	size_t size;
	FILE *to;
};

static int tell(const struct gt_trace_event *record, const struct gt_header *header, void *data)
{
	struct told *told = data;

	(void)header;
	fprintf(told->to,
		"%" PRIu64 ":%" PRIu64 " %c %.*s %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64
		" %.*s|%.*s\n",
		record->line, record->byte, record->ph ? record->ph : '-', (int)record->name.len,
		record->name.kind ? record->name.text : "", record->ts, record->dur, record->pid,
		record->tid, (int)record->args.len, record->args.kind ? record->args.text : "",
		(int)record->raw.len, record->raw.text);
	for (int i = 0; i < GT_ARG_COUNT_; i++)
		if (gt_record_has(record, (enum gt_arg)i))
			fprintf(told->to, " %d %.*s", i, (int)record->arg[i].len,
				record->arg[i].text);
	return 0;
}

static uint64_t taken; /* of all readings, scanned ahead */

static char *read_all(unsigned threads, size_t chunk)
{
	struct told told = {0};
	struct gt_reading reading;
	int rc;

	gt_ahead_limits.threads = threads;
	gt_ahead_limits.chunk = chunk;
	told.to = open_memstream(&told.at, &told.size);
	rc = gt_reader_read(path, tell, &told, &reading);
	fprintf(told.to,
		"%d %d %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
		" %s|%s|%s",
		rc, reading.closed, reading.events, reading.strange, reading.end_line,
		reading.end_byte, reading.comma_byte, reading.bytes, reading.error, reading.note,
		reading.loose ? reading.loose : "");
	fclose(told.to);
	taken += reading.ahead;
	gt_reading_fini(&reading);
	return told.at;
}

static void write_file(size_t length)
{
	FILE *file = fopen(path, "w");

	cr_assert_eq(fwrite(text, 1, length, file), length);
	fclose(file);
}

static void compare(size_t length, uint32_t round)
{
	char *alone, *ahead;

	write_file(length);
	alone = read_all(0, 64);
	for (unsigned threads = 1; threads < 4; threads++) {
		size_t chunk = (size_t)16 << any(9);

		ahead = read_all(threads, chunk);
		cr_assert_str_eq(ahead, alone, "round %u, %u threads, chunks of %zu", round,
				 threads, chunk);
		free(ahead);
	}
	free(alone);
}

Test(ahead, a_reading_is_the_same)
{
	for (uint32_t round = 0; round < 60; round++) {
		make_text(round);
		compare(size, round);
	}
	cr_assert_gt(taken, 1000, "%" PRIu64, taken); /* of some 5000 */
}

Test(ahead, cut_anywhere)
{
	for (uint32_t round = 0; round < 60; round++) {
		make_text(round);
		compare(any((uint32_t)size), round);
	}
}

Test(ahead, a_byte_changed)
{
	static const char bytes[] = "{}[],:\"\\x0";

	for (uint32_t round = 0; round < 100; round++) {
		make_text(round);
		text[any((uint32_t)size)] = bytes[any(sizeof(bytes))];
		compare(size, round);
	}
}

/* More than what is read behind a chunk. */
Test(ahead, events_larger_than_chunks)
{
	size = 0;
	add("[");
	for (uint32_t i = 0; i < 8; i++) {
		add("%s{\"ph\": \"X\", \"ts\": %u, \"name\": \"%*s\"}", i ? ",\n" : "", i,
		    i % 2 ? 100000 : 3, "x");
		add(",\n");
		add_event(i);
	}
	add("]");
	compare(size, 0);
}

/* What a callback ends, ends the threads, too. */
static int stop_at_third(const struct gt_trace_event *record, const struct gt_header *header,
			 void *data)
{
	(void)record;
	(void)header;
	return ++*(int *)data == 3 ? -ECANCELED : 0;
}

Test(ahead, ended_by_the_callback)
{
	struct gt_reading reading;
	int count = 0;

	make_text(1);
	write_file(size);
	gt_ahead_limits.chunk = 64;
	gt_ahead_limits.threads = 3;
	cr_assert_eq(gt_reader_read(path, stop_at_third, &count, &reading), -ECANCELED);
	cr_assert_eq(count, 3);
	gt_reading_fini(&reading);
}

/* What is limited is left to the reading. */
Test(ahead, not_where_address_space_is_limited)
{
	struct rlimit before, limit;

	cr_assert_eq(getrlimit(RLIMIT_AS, &before), 0);
	limit = (struct rlimit){(rlim_t)1 << 62, before.rlim_max};
	make_text(1);
	write_file(size);
	cr_assert_eq(setrlimit(RLIMIT_AS, &limit), 0);
	free(read_all(3, 64));
	setrlimit(RLIMIT_AS, &before);
	cr_assert_eq(taken, 0);
	free(read_all(3, 64));
	cr_assert_gt(taken, 0);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * See close.h. As the tracer does when it closes a file, the end is written first and the
 * beginning last, so that an interrupted repair leaves one of the forms that repair understands.
 */
#include "recover/close.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "readers/chrome/reader.h"
#include "readers/utf8.h"

#define COPY_CHUNK ((size_t)1 << 20)

struct closing {
	const struct gt_pin *pin;
	struct gt_close *result;
	struct gt_reading reading;
	char *first; /* the first event as it stands, and where */
	uint64_t first_byte, first_size;
	char *name; /* process_name's "name" in the first event, JSON text */
	int64_t pid;
	char ts[32];
	bool padded;
	bool not_utf8; /* text of some event */
};

static int see_event(const struct gt_trace_event *record, const struct gt_header *header,
		     void *data)
{
	struct closing *closing = data;
	struct gt_span name;

	(void)header;
	if (!closing->not_utf8)
		closing->not_utf8 = !gt_utf8_is_valid(record->raw.text, record->raw.len);
	if (closing->first)
		return 0;
	closing->first = strndup(record->raw.text, record->raw.len);
	closing->first_byte = record->byte;
	closing->first_size = record->raw.len;
	closing->pid = record->pid;
	if (record->has_ts && record->ts_text.kind == GT_SPAN_NUMBER &&
	    record->ts_text.len < sizeof(closing->ts))
		memcpy(closing->ts, record->ts_text.text, record->ts_text.len);
	closing->padded =
		record->ph == 'M' && gt_record_has(record, GT_ARG_HEADER) && record->has_pid;
	if (closing->padded && gt_span_member(&record->args, "name", &name) &&
	    name.kind == GT_SPAN_STRING)
		closing->name = strndup(name.text, name.len);
	return closing->first ? 0 : -ENOMEM;
}

/* HTA finds the rank by "rank": with a blank behind it. */
static void put_distributed(const char *text, FILE *out)
{
	const char *rank = strstr(text, "\"rank\":");

	if (rank && rank[7] != ' ')
		fprintf(out, "%.*s %s", (int)(rank + 7 - text), text, rank + 7);
	else
		fputs(text, out);
}

/* Members that every reader wants, in the order of the format, and what stands there if the file
 * does not tell. */
static const struct {
	const char *key, *otherwise;
} wanted[] = {
	{"schemaVersion", "1"},  {"deviceProperties", "[]"},     {"distributedInfo", NULL},
	{"cupti_version", NULL}, {"cuda_runtime_version", NULL}, {"cuda_driver_version", NULL},
	{"metadata", NULL},      {"displayTimeUnit", "\"ns\""},  {"baseTimeNanoseconds", NULL},
};

/* Members of the end. */
static const char *const behind_events[] = {"ledger", "repaired", "traceName"};

/* Has the member a place of its own? */
static bool is_placed(const char *key)
{
	for (size_t i = 0; i < sizeof(behind_events) / sizeof(behind_events[0]); i++)
		if (!strcmp(behind_events[i], key))
			return true;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		if (!strcmp(wanted[i].key, key))
			return true;
	return false;
}

static void put_member(const char *key, const char *text, FILE *out)
{
	fprintf(out, "\"%s\": ", key);
	if (!strcmp(key, "distributedInfo"))
		put_distributed(text, out);
	else
		fputs(text, out);
	fputs(",\n", out);
}

static void put_header(const struct gt_header *header, FILE *out)
{
	fputs("{\n", out);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		const char *text = gt_header_find(header, wanted[i].key);

		if (!text && !strcmp(wanted[i].key, "distributedInfo"))
			fprintf(out,
				"\"distributedInfo\": {\"rank\": %" PRId64
				", \"world_size\": %" PRId64 "},\n",
				header->rank, header->world_size ? header->world_size : 1);
		else if (text || wanted[i].otherwise)
			put_member(wanted[i].key, text ? text : wanted[i].otherwise, out);
	}
	for (size_t i = 0; i < header->member_count; i++)
		if (!header->members[i].behind && !is_placed(header->members[i].key))
			put_member(header->members[i].key, header->members[i].text, out);
	fputs("\"traceEvents\": [\n", out);
}

/* The first event without its padding and without the header in its args. */
static void put_first(const struct closing *closing, FILE *out)
{
	if (!closing->padded) {
		fputs(closing->first ? closing->first : "", out);
		return;
	}
	fprintf(out,
		"{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": %" PRId64
		", \"tid\": 0, \"ts\": %s, ",
		closing->pid, *closing->ts ? closing->ts : "0.000");
	fprintf(out, "\"args\": {\"name\": \"%s\"}}", closing->name ? closing->name : "");
}

static void put_repaired(const struct gt_reading *reading, uint64_t cut, FILE *out)
{
	fprintf(out, ", \"repaired\": {\"events\": %" PRIu64 ", \"cut_bytes\": %" PRIu64 "}",
		reading->events, cut);
}

/* Everything behind the last event: the ledger if the file had got one, and that this was a
 * repair. */
void gt_close_put_end(const struct gt_reading *reading, uint64_t cut, FILE *out)
{
	const char *ledger = gt_header_find(&reading->header, "ledger"),
		   *name = gt_header_find(&reading->header, "traceName");

	fputs("\n]", out);
	if (ledger)
		fprintf(out, ", \"ledger\": %s", ledger);
	else
		put_repaired(reading, cut, out);
	fprintf(out, ", \"traceName\": %s}\n", name ? name : "\"\"");
}

static void put_tail(const struct closing *closing, FILE *out)
{
	gt_close_put_end(&closing->reading, closing->result->cut, out);
}

static int write_all(int fd, const char *data, size_t size, uint64_t offset)
{
	while (size) {
		ssize_t n = pwrite(fd, data, size, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		data += n;
		size -= (size_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}

/* What @put prints, as memory. */
static int print(const struct closing *closing, void (*put)(const struct closing *, FILE *),
		 char **ret_text, size_t *ret_size)
{
	FILE *out = open_memstream(ret_text, ret_size);

	if (!out)
		return -ENOMEM;
	put(closing, out);
	return fclose(out) ? -ENOMEM : 0;
}

static void put_head(const struct closing *closing, FILE *out)
{
	put_header(&closing->reading.header, out);
	put_first(closing, out);
}

/* End first, then the beginning in one write. */
static int rewrite_in_place(const struct closing *closing, char *head, size_t head_size,
			    const char *tail, size_t tail_size)
{
	uint64_t room = closing->first_byte + closing->first_size, end = closing->reading.end_byte;
	int fd = gt_pin_write(closing->pin);
	char *block = malloc(room);
	int rc = fd < 0 ? fd : 0;

	if (!block)
		rc = -ENOMEM;
	if (!rc)
		rc = write_all(fd, tail, tail_size, end);
	if (!rc && ftruncate(fd, (off_t)(end + tail_size)))
		rc = -errno;
	if (!rc) {
		memset(block, ' ', room);
		memcpy(block, head, head_size);
		rc = write_all(fd, block, room, 0);
	}
	free(block);
	if (fd >= 0 && close(fd) && !rc)
		rc = -errno;
	return rc;
}

/* The beginning is an object's already: only the end is missing, or it is one comma too long. */
static int write_end(const struct closing *closing, const char *tail, size_t tail_size)
{
	bool closed = closing->reading.closed;
	int fd = gt_pin_write(closing->pin);
	int rc;

	if (fd < 0)
		return fd;
	rc = closed ? write_all(fd, " ", 1, closing->reading.comma_byte)
		    : write_all(fd, tail, tail_size, closing->reading.end_byte);
	if (!rc && !closed && ftruncate(fd, (off_t)(closing->reading.end_byte + tail_size)))
		rc = -errno;
	if (close(fd) && !rc)
		rc = -errno;
	return rc;
}

static int copy_range(int from, int to, uint64_t offset, uint64_t end, uint64_t at)
{
	char *chunk = malloc(COPY_CHUNK);
	int rc = chunk ? 0 : -ENOMEM;

	while (!rc && offset < end) {
		size_t want = end - offset < COPY_CHUNK ? (size_t)(end - offset) : COPY_CHUNK;
		ssize_t n = pread(from, chunk, want, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			rc = n < 0 ? -errno : -EIO;
		else
			rc = write_all(to, chunk, (size_t)n, at);
		offset += n > 0 ? (uint64_t)n : 0;
		at += n > 0 ? (uint64_t)n : 0;
	}
	free(chunk);
	return rc;
}

/* Through a new file that takes the old one's name. */
static int rewrite_copy(const struct closing *closing, const char *head, size_t head_size,
			const char *tail, size_t tail_size)
{
	uint64_t from = closing->first_byte + closing->first_size, end = closing->reading.end_byte;
	int old = open(closing->pin->content, O_RDONLY | O_CLOEXEC), new = -1;
	int rc = old < 0 ? -errno : 0;
	char *beside = NULL;
	struct stat st;

	if (!rc && asprintf(&beside, "%s.repair-XXXXXX", closing->pin->beside) < 0)
		rc = -ENOMEM;
	if (!rc && (new = mkostemp(beside, O_CLOEXEC)) < 0)
		rc = -errno;
	if (!rc && !fstat(old, &st))
		fchmod(new, st.st_mode & 0777);
	if (!rc)
		rc = write_all(new, head, head_size, 0);
	if (!rc)
		rc = copy_range(old, new, from, end, head_size);
	if (!rc)
		rc = write_all(new, tail, tail_size, head_size + (end - from));
	if (!rc && fsync(new))
		rc = -errno;
	if (!rc)
		rc = gt_pin_replace(closing->pin, beside);
	if (rc && new >= 0)
		unlink(beside);
	if (old >= 0)
		close(old);
	if (new >= 0)
		close(new);
	free(beside);
	return rc;
}

/* The object is there, with its end; or the array of another program: one of ours has its header in
 * the first event, and is not closed by its bracket. */
static bool is_whole(const struct gt_reading *reading)
{
	return reading->closed && !gt_reading_is_running(reading);
}

static int close_file(struct closing *closing)
{
	char *head = NULL, *tail = NULL;
	size_t head_size, tail_size;
	int rc = print(closing, put_tail, &tail, &tail_size);

	if (!rc)
		rc = print(closing, put_head, &head, &head_size);
	if (rc) {
		free(tail);
		return rc;
	}
	if (closing->reading.form == GT_FORM_OBJECT || is_whole(&closing->reading)) {
		closing->result->in_place = true;
		rc = write_end(closing, tail, tail_size);
	} else if (closing->padded && head_size <= closing->first_byte + closing->first_size) {
		closing->result->in_place = true;
		rc = rewrite_in_place(closing, head, head_size, tail, tail_size);
	} else {
		rc = rewrite_copy(closing, head, head_size, tail, tail_size);
	}
	free(head);
	free(tail);
	return rc;
}

static int complain(struct closing *closing, const char *what, int rc)
{
	snprintf(closing->result->error, sizeof(closing->result->error), "%s: %s",
		 closing->pin->path, what);
	return rc;
}

/* What was read and would stay although strict JSON does not allow it. NULL: nothing. */
static const char *find_loose(const struct closing *closing)
{
	const struct gt_header *header = &closing->reading.header;
	bool not_utf8 = closing->not_utf8;

	for (size_t i = 0; i < header->member_count; i++)
		not_utf8 |=
			!gt_utf8_is_valid(header->members[i].key, strlen(header->members[i].key)) ||
			!gt_utf8_is_valid(header->members[i].text, strlen(header->members[i].text));
	return not_utf8 ? "text that is not UTF-8" : closing->reading.loose;
}

static int close_read(struct closing *closing)
{
	const char *loose = find_loose(closing);
	const struct gt_reading *reading = &closing->reading;
	struct gt_close *result = closing->result;
	int rc;

	result->events = reading->events;
	if (loose) {
		snprintf(result->error, sizeof(result->error),
			 "%s: holds %s, which is no JSON (not touched)", closing->pin->path, loose);
		return -EBADMSG;
	}
	if (is_whole(reading) && !reading->comma_byte) {
		result->was_closed = true;
		result->has_ledger = gt_header_find(&reading->header, "ledger");
		return 0;
	}
	if (reading->compressed)
		return complain(closing, "is compressed", -EINVAL);
	if (!reading->events)
		return complain(closing, "holds no whole event, there is nothing to repair",
				-ENODATA);
	if (!reading->closed && !reading->mixed)
		result->cut = reading->bytes - reading->end_byte;
	snprintf(result->why, sizeof(result->why), "%s",
		 is_whole(reading) ? "a comma stands before the end of its events"
		 : reading->closed ? "the process ended without closing the file"
				   : reading->note);
	rc = close_file(closing);
	return rc ? complain(closing, strerror(-rc), rc) : 0;
}

int gt_close_file(const struct gt_pin *pin, struct gt_close *ret_close)
{
	struct closing closing = {.pin = pin, .result = ret_close};
	char words[sizeof(closing.reading.error) + PATH_MAX];
	int rc;

	*ret_close = (struct gt_close){0};
	rc = gt_reader_read(pin->content, see_event, &closing, &closing.reading);
	if (closing.reading.is_pftrace) {
		rc = complain(&closing, "is a .pftrace, which is read as it is, cut or not",
			      -EINVAL);
	} else if (rc < 0) {
		gt_pin_words(pin, closing.reading.error, words, sizeof(words));
		snprintf(ret_close->error, sizeof(ret_close->error), "%.490s (not touched)", words);
	} else {
		rc = close_read(&closing);
	}
	gt_reading_fini(&closing.reading);
	free(closing.first);
	free(closing.name);
	return rc;
}

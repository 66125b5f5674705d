/* SPDX-License-Identifier: Apache-2.0
 *
 * See torn.h. A write of the block that is cut by a signal ends at some byte: after it there is
 * nothing, or the block as it was before, of this form or the other. So each member of the header
 * is searched for in all of the text.
 */
#include "recover/torn.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/guest/clock.h"
#include "core/schema/metadata.h"
#include "readers/chrome/reader.h"
#include "trace/first_block.h"
#include "trace/segment_files.h"

/* Process ids below the first are rows of GPUs and stand as this much more. */
#define GPU_PIDS  64
#define HOST_ROWS 4194304

struct torn {
	const struct gt_pin *pin;
	struct gt_torn *result;
	struct gt_first_block block;
	bool is_readable;
	struct gt_header header;
	struct gt_span process, ts;
	int64_t pid;
	int64_t segment[GT_SEGMENT_COUNT_]; /* of the newest earlier file */
};

static int complain(struct torn *m, const char *what, int rc)
{
	snprintf(m->result->error, sizeof(m->result->error), "%.500s: %s", m->pin->path, what);
	return rc;
}

/* ---- what is known ---- */

/* What readers want of a header, and what stands there when it is not known; NULL: nothing then. */
static const struct {
	const char *key, *otherwise;
	enum gt_span_kind kind;
	bool is_optional;
} wanted[] = {
	{"schemaVersion", "1", GT_SPAN_NUMBER, false},
	{"deviceProperties", "[]", GT_SPAN_ARRAY, false},
	{"distributedInfo", NULL, GT_SPAN_OBJECT, false},
	{"cupti_version", NULL, GT_SPAN_NUMBER, true},
	{"cuda_runtime_version", NULL, GT_SPAN_NUMBER, true},
	{"cuda_driver_version", NULL, GT_SPAN_NUMBER, true},
	{"metadata",
	 "{\"mode\": \"unknown\", \"mode_reason\": \"the process was killed while it wrote the "
	 "header\"}",
	 GT_SPAN_OBJECT, false},
	{"segment", NULL, GT_SPAN_OBJECT, true},
	{"displayTimeUnit", "\"ns\"", GT_SPAN_STRING, false},
	{"baseTimeNanoseconds", NULL, GT_SPAN_NUMBER, false},
};
#define WANTED (sizeof(wanted) / sizeof(wanted[0]))

/* The value of the first @key at @from or behind that is whole. Returns where it begins. */
static const char *find_value(const struct torn *m, const char *from, const char *key,
			      enum gt_span_kind kind, struct gt_span *ret_value)
{
	struct gt_scan scan = {.end = m->block.text + gt_first_block_size(&m->block)};
	char pattern[40];
	int n = snprintf(pattern, sizeof(pattern), "\"%s\":", key);

	while (from && (from = gt_first_block_find(&m->block, from, pattern))) {
		from = gt_scan_blanks(from + n);
		if (from < scan.end && gt_scan_value(&scan, from, ret_value) &&
		    ret_value->kind == kind)
			return from;
	}
	return NULL;
}

/* A rank that the name of the file contradicts is put together of two. */
static bool has_rank(const struct torn *m, const struct gt_span *info)
{
	struct gt_span value;
	int64_t rank;

	return gt_span_member(info, "rank", &value) && gt_span_int(&value, &rank) &&
	       (!m->block.name.has_rank || rank == m->block.name.rank);
}

/* The last one: where two blocks meet, what seems whole may be put together of both, and then holds
 * what stood there before. */
static bool find_last(const struct torn *m, size_t which, struct gt_span *ret_value)
{
	const char *from = m->block.text;
	bool is_found = false, is_rank = !strcmp(wanted[which].key, "distributedInfo");
	struct gt_span value;

	while ((from = find_value(m, from, wanted[which].key, wanted[which].kind, &value))) {
		if (is_rank && !has_rank(m, &value))
			continue;
		*ret_value = value;
		is_found = true;
	}
	return is_found;
}

static int add_text(struct gt_header *header, const char *key, const char *text)
{
	struct gt_span name = {.text = key, .len = (uint32_t)strlen(key)}, value;
	struct gt_scan scan = {.end = text + strlen(text)};
	char *padded = calloc(1, strlen(text) + 1 + GT_INPUT_PADDING);
	int rc = padded ? 0 : -ENOMEM;

	if (!rc) {
		strcpy(padded, text);
		scan.end = padded + strlen(text) + 1; /* a number needs something behind it */
		padded[strlen(text)] = ' ';
		if (gt_scan_value(&scan, padded, &value))
			rc = gt_header_add(header, &name, &value, false);
	}
	free(padded);
	return rc;
}

static int take_header(struct torn *m)
{
	struct gt_span value;
	int rc = 0;

	for (size_t i = 0; i < WANTED && !rc; i++) {
		struct gt_span key = {.text = wanted[i].key,
				      .len = (uint32_t)strlen(wanted[i].key)};

		if (!gt_header_find(&m->header, wanted[i].key) && find_last(m, i, &value))
			rc = gt_header_add(&m->header, &key, &value, false);
	}
	return rc;
}

static void take_process(struct torn *m)
{
	const char *event = gt_first_block_find(&m->block, m->block.text, "\"process_name\"");
	struct gt_span pid;

	if (m->block.name.is_ours)
		m->pid = m->block.name.pid < GPU_PIDS ? m->block.name.pid + HOST_ROWS
						      : m->block.name.pid;
	if (!event)
		return;
	if (find_value(m, event, "pid", GT_SPAN_NUMBER, &pid))
		gt_span_int(&pid, &m->pid);
	if (!find_value(m, event, "name", GT_SPAN_STRING, &m->process))
		m->process = (struct gt_span){0};
	if (!find_value(m, event, "ts", GT_SPAN_NUMBER, &m->ts))
		m->ts = (struct gt_span){0};
}

static int see_recovered(const struct gt_trace_event *record, const struct gt_header *header,
			 void *data)
{
	(void)record;
	(void)header;
	(void)data;
	return -ECANCELED;
}

/* The metadata of the whole process: all but which of its files this is. */
static int take_recovered(struct torn *m, const char *recovered)
{
	struct gt_reading reading;
	int rc = 0;

	gt_reader_read(recovered, see_recovered, NULL, &reading);
	for (size_t i = 0; i < WANTED && !rc; i++) {
		const char *text = gt_header_find(&reading.header, wanted[i].key);

		if (text && strcmp(wanted[i].key, "segment") != 0)
			rc = add_text(&m->header, wanted[i].key, text);
	}
	gt_reading_fini(&reading);
	return rc;
}

/* What was removed before the newest of the earlier files began. */
static int see_earlier(const char *path, void *data)
{
	struct torn *m = data;
	struct gt_reading reading;
	int64_t segment[GT_SEGMENT_COUNT_] = {0};

	gt_reader_read(path, see_recovered, NULL, &reading);
	for (int i = 0; i < GT_SEGMENT_COUNT_; i++)
		gt_header_int(&reading.header, "segment", gt_segment_names[i], &segment[i]);
	if (segment[GT_SEGMENT_NUMBER] > m->segment[GT_SEGMENT_NUMBER])
		memcpy(m->segment, segment, sizeof(m->segment));
	gt_reading_fini(&reading);
	return 0;
}

static int add_segment(struct torn *m, unsigned long number)
{
	char text[GT_SEGMENT_COUNT_ * 48];
	int rc = gt_segments_before(m->pin->kin, see_earlier, m);
	size_t n = (size_t)snprintf(text, sizeof(text), "{\"%s\": %lu",
				    gt_segment_names[GT_SEGMENT_NUMBER], number);

	for (int i = GT_SEGMENT_FILES_REMOVED;
	     i < GT_SEGMENT_COUNT_ && m->segment[GT_SEGMENT_FILES_REMOVED]; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, ", \"%s\": %" PRId64,
				      gt_segment_names[i], m->segment[i]);
	snprintf(text + n, sizeof(text) - n, "}");
	return rc ? rc : add_text(&m->header, "segment", text);
}

/* What only the file's name tells. */
static int take_name(struct torn *m)
{
	const struct gt_file_name *name = &m->block.name;
	char text[160];
	int rc = 0;

	if (name->is_ours && !m->header.has_base) {
		snprintf(text, sizeof(text), "%" PRIu64,
			 gt_clock_base((uint64_t)name->started * 1000000u));
		rc = add_text(&m->header, "baseTimeNanoseconds", text);
	}
	if (!rc && name->has_rank && !m->header.has_rank) {
		snprintf(text, sizeof(text), "{\"rank\": %" PRId64 ", \"world_size\": %" PRId64 "}",
			 name->rank, name->rank + 1);
		rc = add_text(&m->header, "distributedInfo", text);
	}
	if (!rc && name->part > 1 && !gt_header_find(&m->header, "segment"))
		rc = add_segment(m, name->part);
	return rc;
}

/* "header_unknown": members that stand there for the readers' sake, or not at all. Before anything
 * is taken from the name. What stands before the metadata is not missing when they are there. */
static void list_unknown(const struct torn *m, char *ret_list, size_t size)
{
	size_t n = (size_t)snprintf(ret_list, size, "[");

	bool is_whole = gt_header_find(&m->header, "metadata");

	for (size_t i = 0; i < WANTED; i++)
		if (!gt_header_find(&m->header, wanted[i].key) &&
		    strcmp(wanted[i].key, "segment") && !(wanted[i].is_optional && is_whole))
			n += (size_t)snprintf(ret_list + n, size - n, "%s\"%s\"", n > 1 ? ", " : "",
					      wanted[i].key);
	snprintf(ret_list + n, size - n, "]");
}

static int gather(struct torn *m, const char *recovered, char *ret_unknown, size_t size)
{
	int rc = recovered ? take_recovered(m, recovered) : 0;

	if (!rc)
		rc = take_header(m);
	take_process(m);
	list_unknown(m, ret_unknown, size);
	return rc ? rc : take_name(m);
}

/* ---- the new block ---- */

static void put_member(FILE *out, const char *key, const char *text, bool *first)
{
	fprintf(out, "%s\"%s\": %s", *first ? "" : ", ", key, text);
	*first = false;
}

static void put_block(const struct torn *m, const char *unknown, FILE *out)
{
	size_t room = GT_FIRST_BLOCK - 2048, used = 0; /* for all that is not the header */
	bool first = true;

	fprintf(out,
		"[{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": %" PRId64
		", \"tid\": 0, \"ts\": %.*s, \"args\": {\"name\": \"%.*s\", \"header\": {",
		m->pid, m->ts.len ? (int)m->ts.len : 5, m->ts.len ? m->ts.text : "0.000",
		m->process.len ? (int)m->process.len : 1, m->process.len ? m->process.text : "?");
	for (size_t i = 0; i < WANTED; i++) {
		const char *text = gt_header_find(&m->header, wanted[i].key);

		if (text && used + strlen(text) > room)
			text = wanted[i].otherwise; /* it was made for the other form's room */
		text = text ? text : wanted[i].otherwise;
		if (text)
			put_member(out, wanted[i].key, text, &first);
		used += text ? strlen(text) : 0;
	}
	put_member(out, "header_unknown", unknown, &first);
	fputs("}, \"pad\": \"", out);
}

/* The block, and the end of the array behind it when nothing else is. */
static char *make_text(const struct torn *m, const char *unknown, size_t *ret_size)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, ret_size);
	long at;

	if (!out)
		return NULL;
	put_block(m, unknown, out);
	for (at = ftell(out); at >= 0 && at < (long)GT_FIRST_BLOCK - 4; at++)
		fputc(' ', out);
	fputs("\"}}\n", out);
	if (m->block.bytes <= GT_FIRST_BLOCK)
		fputs("]\n", out);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

static int write_text(const struct gt_pin *pin, const char *text, size_t size)
{
	int fd = gt_pin_write(pin), rc = 0;
	ssize_t n;

	if (fd < 0)
		return fd;
	for (size_t done = 0; done < size && !rc; done += n > 0 ? (size_t)n : 0) {
		n = pwrite(fd, text + done, size - done, (off_t)done);
		if (n <= 0 && errno != EINTR)
			rc = n < 0 ? -errno : -EIO;
	}
	if (close(fd) && !rc)
		rc = -errno;
	return rc;
}

static int make_anew(struct torn *m, const char *recovered)
{
	char unknown[512];
	size_t size;
	int rc = gather(m, recovered, unknown, sizeof(unknown));
	char *text = rc ? NULL : make_text(m, unknown, &size);

	if (!rc && (!text || size > GT_FIRST_BLOCK + 2))
		rc = text ? -EOVERFLOW : -ENOMEM;
	if (!rc)
		rc = write_text(m->pin, text, size);
	free(text);
	return rc ? complain(m, strerror(-rc), rc) : 0;
}

/* NULL: no memory. What cannot be read is reported by who reads it: it looks like a file that is
 * whole. */
static struct torn *look(const struct gt_pin *pin, struct gt_torn *result)
{
	struct torn *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->pin = pin;
	m->result = result;
	m->is_readable = gt_first_block_read_as(&m->block, pin->content, pin->path) == 0;
	return m;
}

static void forget(struct torn *m)
{
	gt_header_fini(&m->header);
	free(m);
}

static int rebuild(struct torn *m, const char *recovered)
{
	if (!m->block.bytes && !m->block.name.is_ours)
		return complain(m, "is empty, there is nothing to repair", -ENODATA);
	if (!gt_first_block_is_torn(&m->block))
		return 0;
	m->result->was_torn = true;
	m->result->was_empty = !m->block.bytes;
	return make_anew(m, recovered);
}

int gt_torn_rebuild(const struct gt_pin *pin, const char *recovered, struct gt_torn *ret_torn)
{
	struct torn *m;
	int rc;

	*ret_torn = (struct gt_torn){0};
	m = look(pin, ret_torn);
	if (!m)
		return -ENOMEM;
	rc = m->is_readable ? rebuild(m, recovered) : 0;
	forget(m);
	return rc;
}

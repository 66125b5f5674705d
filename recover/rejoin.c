/* SPDX-License-Identifier: Apache-2.0
 *
 * Joining, see rejoin.h. Three readings: the recovered events into memory, the trace to know which
 * of them it has and how far its rows are taken, and, once they are appended, the whole for its
 * books.
 */
#include "recover/rejoin.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/intern.h"
#include "core/schema/metadata.h"
#include "readers/chrome/reader.h"
#include "readers/keymap.h"
#include "readers/vec.h"
#include "recover/rejoin_ledger.h"
#include "trace/segment_files.h"

#define GPU_PIDS  64
/* Rows without a meaning of their own (docs/FORMAT.md); the writer begins at the first of them. */
#define SPARE_ROW 2147400000u

/* The clock of the trace and that of the file system may differ by this much. */
#define MARGIN_NS 10000000000

struct item {
	char *text;
	uint64_t key, row;
	int64_t pid, tid, ts, end, id;
	uint32_t tid_at, tid_len; /* in text */
	char ph;
	bool on_gpu;
};

struct rejoin {
	struct gt_rejoin *result;
	GT_VEC(struct item) items;
	struct gt_keymap have;  /* events of the trace, how many of each */
	struct gt_keymap taken; /* row -> end of the last slice on it */
	int64_t first;          /* ts of the earliest recovered event */
	int64_t base;           /* of the times, ns since the epoch; 0: not known */
	int64_t border; /* calls up to this id stand in earlier files of the process, with their
			   arrows */
	uint32_t spare_rows;
	bool slice_put; /* the last slice was new: so is its arrow's end */
	struct {
		int64_t pid, tid, ts;
		uint32_t row;
	} moved; /* the last slice that got another row: its arrow follows */
};

static uint64_t join_hash(uint64_t hash, uint64_t word)
{
	return (hash ^ word) * 0x9fb21c651e98df25u ^ word >> 29;
}

static uint64_t span_hash(const struct gt_span *span)
{
	return span->text ? gt_hash_bytes(span->text, span->len) : 0;
}

static bool is_gpu_slice(const struct gt_trace_event *record)
{
	return record->ph == 'X' && record->pid >= 0 && record->pid < GPU_PIDS;
}

/*
 * What makes an event the same in both files. The row of GPU work is where it found room, and a
 * call's name may come from CUPTI, which recovery has not got: neither counts.
 */
static uint64_t key_of(const struct gt_trace_event *record)
{
	uint64_t key = join_hash((uint64_t)record->ph, span_hash(&record->cat));

	if (record->ph == 's')
		return join_hash(key, (uint64_t)record->id) | 1;
	key = join_hash(key, (uint64_t)record->pid);
	if (record->ph == 'M')
		return join_hash(join_hash(key, (uint64_t)record->tid), span_hash(&record->name)) |
		       1;
	key = join_hash(key, (uint64_t)record->ts);
	key = join_hash(key, (uint64_t)record->dur);
	if (!is_gpu_slice(record))
		return join_hash(key, (uint64_t)record->tid) | 1;
	key = join_hash(key, (uint64_t)gt_record_int(record, GT_ARG_CORRELATION, -1));
	key = join_hash(key, (uint64_t)gt_record_int(record, GT_ARG_CONTEXT, -1));
	key = join_hash(key, (uint64_t)gt_record_int(record, GT_ARG_STREAM, -1));
	return join_hash(key, (uint64_t)gt_record_int(record, GT_ARG_GRAPH_NODE, -1)) | 1;
}

static uint64_t row_of(int64_t pid, int64_t tid)
{
	return ((uint64_t)pid << 32 | (uint32_t)tid) + 1;
}

/* Behind the last moment of an event, which may say anything. */
static int64_t end_of(const struct gt_trace_event *record)
{
	int64_t end;

	if (!record->has_dur)
		return record->ts;
	return __builtin_add_overflow(record->ts, record->dur, &end) ? INT64_MAX : end;
}

static int see_recovered(const struct gt_trace_event *record, const struct gt_header *header,
			 void *data)
{
	struct rejoin *r = data;
	struct item item = {.ph = record->ph, .pid = record->pid, .tid = record->tid};

	(void)header;
	if (gt_span_is(&record->cat, "gputrace", 8) &&
	    gt_span_is(&record->name, "Record Window End", 17))
		return 0;
	item.ts = record->has_ts ? record->ts : 0;
	item.end = end_of(record);
	item.id = record->has_id ? record->id : INT64_MAX;
	item.key = key_of(record);
	item.row = row_of(record->pid, record->tid);
	if (record->has_tid && record->tid_text.text) {
		item.tid_at = (uint32_t)(record->tid_text.text - record->raw.text);
		item.tid_len = record->tid_text.len;
	}
	item.on_gpu = is_gpu_slice(record) && item.tid_len;
	item.text = strndup(record->raw.text, record->raw.len);
	if (!item.text || !gt_vec_push(&r->items, item))
		return -ENOMEM;
	if (record->ph != 'M' && item.ts < r->first)
		r->first = item.ts;
	return 0;
}

/* How far the row of a slice is taken. */
static int note_row(struct rejoin *r, const struct gt_trace_event *record)
{
	int64_t end = end_of(record);
	struct gt_keymap_entry *row;

	if (!is_gpu_slice(record))
		return 0;
	row = gt_keymap_get(&r->taken, row_of(record->pid, record->tid));
	if (!row)
		return -ENOMEM;
	if (row->value < end)
		row->value = end;
	return 0;
}

static int see_trace(const struct gt_trace_event *record, const struct gt_header *header,
		     void *data)
{
	struct rejoin *r = data;
	struct gt_keymap_entry *have;

	(void)header;
	if (record->ph != 'M' && record->ts < r->first)
		return note_row(r, record); /* it may end behind the first recovered event */
	have = gt_keymap_get(&r->have, key_of(record));
	if (!have)
		return -ENOMEM;
	have->value++;
	return note_row(r, record);
}

/* Tracks are named in each file anew. */
static int see_previous(const struct gt_trace_event *record, const struct gt_header *header,
			void *data)
{
	const struct rejoin *r = data;

	return record->ph == 'M' || record->ts < r->first ? 0 : see_trace(record, header, data);
}

/* Puts another row into the text of an event. */
static void put_on_row(FILE *out, const struct item *item, uint32_t row)
{
	fprintf(out, "\n,%.*s%u%s", (int)item->tid_at, item->text, row,
		item->text + item->tid_at + item->tid_len);
}

static void put_spare_row(struct rejoin *r, FILE *out, const struct item *item)
{
	uint32_t row = SPARE_ROW + r->spare_rows++;

	fprintf(out,
		"\n,{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": %" PRId64
		", \"tid\": %u, \"ts\": 0.000, \"args\": {\"name\": \"recovered, beside row "
		"%" PRId64 "\"}}",
		item->pid, row, item->tid);
	put_on_row(out, item, row);
	r->moved.pid = item->pid;
	r->moved.tid = item->tid;
	r->moved.ts = item->ts;
	r->moved.row = row;
}

static bool follows_moved(const struct rejoin *r, const struct item *item)
{
	return item->ph == 'f' && item->tid_len && item->pid == r->moved.pid &&
	       item->tid == r->moved.tid && item->ts == r->moved.ts;
}

static void count_item(struct gt_rejoin *result, const struct item *item)
{
	result->events++;
	if (item->ph == 'X' && item->on_gpu)
		result->operations++;
	else if (item->ph == 'X' &&
		 (strstr(item->text, "\"cuda_runtime\"") || strstr(item->text, "\"cuda_driver\"")))
		result->calls++;
}

/* The call where the arrow begins stands in another file. */
static bool is_cut_off(const struct rejoin *r, const struct item *item)
{
	return (item->ph == 's' || item->ph == 'f') && item->id <= r->border;
}

/* 1: the trace has it. Names and arrows are there once, of what else has the same key - ranges
 * around the same work, notes of one moment - as many as there were. Negative errno. */
static int is_known(struct rejoin *r, const struct item *item)
{
	bool is_single = item->ph == 'M' || item->ph == 's';
	struct gt_keymap_entry *have;
	bool known;

	if (item->ph == 'f')
		return !r->slice_put;
	have = gt_keymap_get(&r->have, item->key);
	if (!have)
		return -ENOMEM;
	known = have->value > 0;
	if (is_single)
		have->value = 1;
	else if (known)
		have->value--;
	return known;
}

/* One event, unless the trace has it. A slice whose row is taken at its time goes beside it. */
static int put_item(struct rejoin *r, FILE *out, const struct item *item)
{
	int known = is_known(r, item);
	struct gt_keymap_entry *row;

	if (known < 0)
		return known;
	if (item->on_gpu)
		r->slice_put = !known;
	if (known || is_cut_off(r, item))
		return 0;
	count_item(r->result, item);
	if (follows_moved(r, item)) {
		put_on_row(out, item, r->moved.row);
		return 0;
	}
	row = item->on_gpu ? gt_keymap_get(&r->taken, item->row) : NULL;
	if (item->on_gpu && !row)
		return -ENOMEM;
	if (row && item->ts < row->value) {
		put_spare_row(r, out, item);
		return 0;
	}
	if (row)
		row->value = item->end;
	fprintf(out, "\n,%s", item->text);
	return 0;
}

static int append(struct rejoin *r, const char *path, uint64_t at)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW), rc = 0;
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");

	if (!out) {
		rc = -errno;
		if (fd >= 0)
			close(fd);
		return rc;
	}
	if (fseeko(out, (off_t)at, SEEK_SET))
		rc = -errno;
	for (size_t i = 0; i < r->items.count && !rc; i++)
		rc = put_item(r, out, &r->items.at[i]);
	fputs("\n]\n", out);
	if (!rc && (fflush(out) || ftruncate(fd, ftello(out))))
		rc = -errno;
	if (!rc && ferror(out)) /* of an earlier piece */
		rc = -EIO;
	if (fclose(out) && !rc)
		rc = -errno;
	return rc;
}

static int fail(struct rejoin *r, const struct gt_reading *reading, const char *path, int rc)
{
	snprintf(r->result->error, sizeof(r->result->error), "%.300s: %.300s", path,
		 reading && *reading->error ? reading->error : strerror(-rc));
	return rc;
}

static int read_recovered(struct rejoin *r, const char *path, struct gt_rejoin_ledger *totals)
{
	struct gt_reading reading;
	int rc = gt_reader_read(path, see_recovered, r, &reading);

	if (rc < 0)
		fail(r, &reading, path, rc);
	else
		gt_rejoin_ledger_begin(totals, &reading.header);
	r->base = reading.header.has_base ? reading.header.base_ns : 0;
	gt_reading_fini(&reading);
	return rc;
}

static int read_trace(struct rejoin *r, const char *path, uint64_t *ret_end)
{
	struct gt_reading reading;
	int rc = gt_reader_read(path, see_trace, r, &reading);

	if (rc < 0)
		fail(r, &reading, path, rc);
	else if (reading.form != GT_FORM_ARRAY || reading.mixed || !reading.events)
		rc = -EALREADY; /* all was written before it began to close the file */
	*ret_end = reading.end_byte;
	gt_header_int(&reading.header, "segment", gt_segment_names[GT_SEGMENT_BORDER], &r->border);
	gt_reading_fini(&reading);
	return rc;
}

/* Was the file still written when the first of the recovered events happened? */
static bool may_have_them(const struct rejoin *r, const char *path)
{
	int64_t changed, happened;
	struct stat st;

	if (r->first == INT64_MAX || stat(path, &st) || !S_ISREG(st.st_mode))
		return false;
	changed = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	return !r->base || __builtin_add_overflow(r->base, r->first, &happened) ||
	       changed / 2 + MARGIN_NS >= happened / 2;
}

struct rejoin_previous {
	struct rejoin *r;
	struct gt_rejoin_ledger *totals;
};

/* Of a trace in several files: what stands in an earlier one does not stand in the last one again.
 * What cannot be read has nothing to tell. */
static int read_previous(const char *path, void *data)
{
	const struct rejoin_previous *previous = data;
	struct gt_reading reading;
	int rc = 0;

	if (may_have_them(previous->r, path)) {
		rc = gt_reader_read(path, see_previous, previous->r, &reading);
		gt_reading_fini(&reading);
	}
	if (rc != -ENOMEM && (int64_t)gt_segment_number(path) >= previous->totals->first_untold)
		rc = gt_rejoin_ledger_leave(previous->totals, path);
	return rc == -ENOMEM ? rc : 0;
}

static int join_files(struct rejoin *r, const char *trace, const char *recovered)
{
	struct gt_rejoin_ledger totals = {0};
	struct rejoin_previous previous = {.r = r, .totals = &totals};
	uint64_t end;
	int rc = read_recovered(r, recovered, &totals);

	if (rc >= 0)
		rc = read_trace(r, trace, &end);
	if (rc >= 0)
		rc = gt_segments_before(trace, read_previous, &previous);
	if (rc < 0)
		return rc;
	rc = append(r, trace, end);
	if (rc)
		return fail(r, NULL, trace, rc);
	r->result->ledger = gt_rejoin_ledger_close(&totals, trace);
	r->result->in_flight = totals.ledger.count[GT_LEDGER_OPS_IN_FLIGHT];
	return 0;
}

int gt_rejoin(const char *trace, const char *recovered, struct gt_rejoin *ret_rejoin)
{
	struct rejoin r = {.result = ret_rejoin, .first = INT64_MAX};
	int rc;

	*ret_rejoin = (struct gt_rejoin){0};
	rc = join_files(&r, trace, recovered);
	for (size_t i = 0; i < r.items.count; i++)
		free(r.items.at[i].text);
	gt_vec_free(&r.items);
	gt_keymap_fini(&r.have);
	gt_keymap_fini(&r.taken);
	return rc;
}

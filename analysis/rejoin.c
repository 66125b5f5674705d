/* SPDX-License-Identifier: Apache-2.0
 *
 * Joining, see rejoin.h. Three readings: the recovered events into memory, the trace to know which of
 * them it has and how far its rows are taken, and, once they are appended, the whole for its books.
 */
#include "analysis/rejoin.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/reader.h"
#include "analysis/rejoin_books.h"
#include "analysis/vec.h"
#include "core/intern.h"

#define GPU_PIDS  64
/* Rows without a meaning of their own (docs/FORMAT.md); the writer begins at the first of them. */
#define SPARE_ROW 2147400000u

struct item {
	char *text;
	uint64_t key, row;
	int64_t pid, tid, ts, end;
	uint32_t tid_at, tid_len; /* in text */
	char ph;
	bool on_gpu;
};

/* A set of non-zero keys, each with a number. */
struct map {
	struct map_entry {
		uint64_t key;
		int64_t value;
	} * at;
	size_t size, used;
};

struct rejoin {
	struct gt_rejoin *result;
	GT_VEC(struct item) items;
	struct map have;  /* events of the trace */
	struct map taken; /* row -> end of the last slice on it */
	int64_t first;    /* ts of the earliest recovered event */
	uint32_t spare_rows;
	bool slice_put; /* the last slice was new: so is its arrow's end */
	struct {
		int64_t pid, tid, ts;
		uint32_t row;
	} moved; /* the last slice that got another row: its arrow follows */
};

static struct map_entry *map_slot(const struct map *map, uint64_t key)
{
	size_t i = (size_t)(key * 0x9e3779b97f4a7c15u >> 20);

	while (map->at[i & (map->size - 1)].key && map->at[i & (map->size - 1)].key != key)
		i++;
	return &map->at[i & (map->size - 1)];
}

static bool map_grow(struct map *map)
{
	struct map bigger = {.size = map->size ? map->size * 2 : 4096, .used = map->used};

	bigger.at = calloc(bigger.size, sizeof(*bigger.at));
	if (!bigger.at)
		return false;
	for (size_t i = 0; i < map->size; i++)
		if (map->at[i].key)
			*map_slot(&bigger, map->at[i].key) = map->at[i];
	free(map->at);
	*map = bigger;
	return true;
}

/* The place of @key, made if it is not there. NULL: no memory. */
static struct map_entry *map_get(struct map *map, uint64_t key)
{
	struct map_entry *entry;

	if (map->used >= map->size / 2 && !map_grow(map))
		return NULL;
	entry = map_slot(map, key);
	if (!entry->key)
		map->used++;
	entry->key = key;
	return entry;
}

static bool map_has(const struct map *map, uint64_t key)
{
	return map->size && map_slot(map, key)->key == key;
}

static uint64_t join_hash(uint64_t hash, uint64_t word)
{
	return (hash ^ word) * 0x9fb21c651e98df25u ^ word >> 29;
}

static uint64_t span_hash(const struct gt_span *span)
{
	return span->text ? gt_hash_bytes(span->text, span->len) : 0;
}

static bool is_gpu_slice(const struct gt_record *record)
{
	return record->ph == 'X' && record->pid >= 0 && record->pid < GPU_PIDS;
}

/*
 * What makes an event the same in both files. The row of GPU work is where it found room, and a call's
 * name may come from CUPTI, which recovery has not got: neither counts.
 */
static uint64_t key_of(const struct gt_record *record)
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
static int64_t end_of(const struct gt_record *record)
{
	int64_t end;

	if (!record->has_dur)
		return record->ts;
	return __builtin_add_overflow(record->ts, record->dur, &end) ? INT64_MAX : end;
}

static int see_recovered(const struct gt_record *record, const struct gt_header *header, void *data)
{
	struct rejoin *r = data;
	struct item item = {.ph = record->ph, .pid = record->pid, .tid = record->tid};

	(void)header;
	if (gt_span_is(&record->cat, "gputrace", 8) &&
	    gt_span_is(&record->name, "Record Window End", 17))
		return 0;
	item.ts = record->has_ts ? record->ts : 0;
	item.end = end_of(record);
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

static int see_trace(const struct gt_record *record, const struct gt_header *header, void *data)
{
	struct rejoin *r = data;
	struct map_entry *row;
	int64_t end = end_of(record);

	(void)header;
	if (record->ph != 'M' && record->ts < r->first)
		return 0;
	if (!map_get(&r->have, key_of(record)))
		return -ENOMEM;
	if (!is_gpu_slice(record))
		return 0;
	row = map_get(&r->taken, row_of(record->pid, record->tid));
	if (!row)
		return -ENOMEM;
	if (row->value < end)
		row->value = end;
	return 0;
}

/* Rows are named in each file anew. */
static int see_previous(const struct gt_record *record, const struct gt_header *header, void *data)
{
	struct rejoin *r = data;

	(void)header;
	if (record->ph == 'M' || record->ts < r->first)
		return 0;
	return map_get(&r->have, key_of(record)) ? 0 : -ENOMEM;
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

/* One event, unless the trace has it. A slice whose row is taken at its time goes beside it. */
static int put_item(struct rejoin *r, FILE *out, const struct item *item)
{
	bool known = item->ph == 'f' ? !r->slice_put : map_has(&r->have, item->key);
	struct map_entry *row;

	if (item->on_gpu)
		r->slice_put = !known;
	if (known)
		return 0;
	if (!map_get(&r->have, item->key))
		return -ENOMEM;
	count_item(r->result, item);
	if (follows_moved(r, item)) {
		put_on_row(out, item, r->moved.row);
		return 0;
	}
	row = item->on_gpu ? map_get(&r->taken, item->row) : NULL;
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

static int read_recovered(struct rejoin *r, const char *path, struct gt_rejoin_books *books)
{
	struct gt_reading reading;
	int rc = gt_reader_read(path, see_recovered, r, &reading);

	if (rc < 0)
		fail(r, &reading, path, rc);
	else
		gt_rejoin_books_begin(books, &reading.header);
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
	gt_reading_fini(&reading);
	return rc;
}

/* Of a trace in several files: what stands in the one before need not stand in the last one again. */
static int read_previous(struct rejoin *r, const char *trace)
{
	const char *slash = strrchr(trace, '/'), *name = slash ? slash + 1 : trace;
	const char *host_end = strchr(name, '.');
	size_t stem = host_end ? (size_t)(host_end - trace) + 1 + strcspn(host_end + 1, ".") : 0;
	struct gt_reading reading;
	char *pattern = NULL, *newest = NULL;
	struct stat st;
	time_t when = 0;
	glob_t found;
	int rc = 0;

	if (!stem || asprintf(&pattern, "%.*s.*pt.trace.json", (int)stem, trace) < 0)
		return 0;
	if (glob(pattern, 0, NULL, &found) == 0) {
		for (size_t i = 0; i < found.gl_pathc; i++)
			if (strcmp(found.gl_pathv[i], trace) && !stat(found.gl_pathv[i], &st) &&
			    st.st_mtime >= when) {
				newest = found.gl_pathv[i];
				when = st.st_mtime;
			}
		if (newest) {
			rc = gt_reader_read(newest, see_previous, r, &reading);
			gt_reading_fini(&reading);
		}
		globfree(&found);
	}
	free(pattern);
	return rc == -ENOMEM ? rc : 0;
}

static int join_files(struct rejoin *r, const char *trace, const char *recovered)
{
	struct gt_rejoin_books books = {0};
	uint64_t end;
	int rc = read_recovered(r, recovered, &books);

	if (rc >= 0)
		rc = read_trace(r, trace, &end);
	if (rc >= 0)
		rc = read_previous(r, trace);
	if (rc < 0)
		return rc;
	rc = append(r, trace, end);
	if (rc)
		return fail(r, NULL, trace, rc);
	r->result->ledger = gt_rejoin_books_close(&books, trace);
	r->result->in_flight = books.ledger.count[GT_LEDGER_OPS_IN_FLIGHT];
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
	free(r.have.at);
	free(r.taken.at);
	return rc;
}

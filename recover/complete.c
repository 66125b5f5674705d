/* SPDX-License-Identifier: Apache-2.0
 *
 * See complete.h. Four readings: the recovered events for the time of the first, the trace to know
 * which of them it has, the earlier files of the process for the same, and the recovered events
 * once more, which are written where they are missing.
 */
#include "recover/complete.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "readers/events.h"
#include "readers/keymap.h"
#include "readers/perfetto/pftrace.h"
#include "readers/translated.h"
#include "readers/vec.h"
#include "recover/rejoin_ledger.h"
#include "trace/segment_files.h"
#include "writers/perfetto/perfetto.h"

/* The clock of the trace and that of the file system may differ by this much. */
#define MARGIN_NS 10000000000u

struct complete {
	const char *trace, *spool;
	struct gt_complete *result;
	struct gt_events
		events; /* of the trace, then what was recovered: a call may stand in either */
	struct gt_events before; /* the first reading of what was recovered */
	struct gt_metadata metadata;
	uint64_t last;                  /* end of the latest event that is there */
	uint64_t first;                 /* start of the earliest recovered event */
	struct gt_keymap have;          /* events that are there, how many of each */
	struct gt_keymap stacks, flows; /* numbers of stacks, and of calls that GPU work follows */
	struct gt_ledger count;         /* of what is there */
	struct gt_rejoin_ledger totals;
	unsigned long
		newest_before; /* number of the earlier file whose metadata was taken; 0: none */
	GT_VEC(struct gt_perfetto_entry) tracks;
	struct gt_writer *writer;
	struct gt_sink *sink;
};

static int fail(struct complete *c, const char *path, const char *what, int rc)
{
	if (!*c->result->error)
		snprintf(c->result->error, sizeof(c->result->error), "%.300s: %.300s", path, what);
	return rc;
}

/* ---- what makes an event the same in both files ---- */

static uint64_t text_hash(const struct gt_string *text)
{
	return text ? gt_hash_bytes(text->text, text->length) : 0;
}

/* Words that tell apart events of one kind and time; what is not set is 0. */
enum { WORDS = 5 };

static void take_gpu(const struct gt_event *event, uint64_t *words)
{
	words[0] = event->correlation;
	words[1] = event->place.context;
	words[2] = event->place.stream;
	if (event->kind == GT_EVENT_KERNEL)
		words[3] = event->kernel.graph_node_id;
	else if (event->kind != GT_EVENT_SYNC)
		words[3] = event->memory.graph_node_id;
}

/* A shadow of a range is on a stream, the range itself on its thread. */
static void take_range(const struct gt_event *event, uint64_t *words)
{
	words[0] = event->range.is_operator;
	words[1] = event->range.on_gpu;
	if (!event->range.on_gpu)
		return;
	words[2] = event->place.device;
	words[3] = event->place.context;
	words[4] = event->place.stream;
}

static void take_frame(const struct gt_event *event, uint64_t *words)
{
	const struct gt_stack_frame *frame = event->frame.frame;

	words[0] = text_hash(frame->function);
	words[1] = text_hash(frame->module);
	words[2] = text_hash(frame->file);
	words[3] = frame->line;
	words[4] = frame->offset;
}

static void take_counter(const struct gt_event *event, uint64_t *words)
{
	words[0] = text_hash(event->counter.name);
	words[1] = text_hash(event->counter.series);
	words[2] = event->counter.on_gpu;
	words[3] = event->place.device;
}

static void take_call(const struct gt_event *event, uint64_t *words)
{
	words[0] = event->api.domain;
}

static void take_note(const struct gt_event *event, uint64_t *words)
{
	words[0] = gt_hash_bytes(event->note.name, strlen(event->note.name));
	if (event->note.cause)
		words[1] = gt_hash_bytes(event->note.cause, strlen(event->note.cause));
}

static void (*const takers[GT_EVENT_COUNT_])(const struct gt_event *event, uint64_t *words) = {
	[GT_EVENT_API] = take_call,        [GT_EVENT_KERNEL] = take_gpu,
	[GT_EVENT_MEMCPY] = take_gpu,      [GT_EVENT_MEMSET] = take_gpu,
	[GT_EVENT_SYNC] = take_gpu,        [GT_EVENT_RANGE] = take_range,
	[GT_EVENT_MARK] = take_range,      [GT_EVENT_FRAME] = take_frame,
	[GT_EVENT_COUNTER] = take_counter, [GT_EVENT_NOTE] = take_note,
};

/* Names of calls, ranges and kernels do not count: they may come from CUPTI or from memory of the
 * process, which recovery has not got. A thread has one name. */
static uint64_t key_of(const struct gt_event *event)
{
	uint64_t words[4 + WORDS] = {(uint64_t)event->kind + 1, event->tid};

	if (event->kind != GT_EVENT_THREAD) {
		words[2] = event->start;
		words[3] = event->end;
	}
	if (takers[event->kind])
		takers[event->kind](event, words + 4);
	return gt_hash_bytes(words, sizeof(words)) | 1;
}

/* ---- counting what is there ---- */

static const struct {
	const char *name;
	enum gt_ledger_key key;
} untimed[] = {
	{"kernel (untimed)", GT_LEDGER_KERNELS_UNTIMED},
	{"memcpy (untimed)", GT_LEDGER_MEMCPYS_UNTIMED},
	{"memset (untimed)", GT_LEDGER_MEMSETS_UNTIMED},
};

static bool note_number(struct gt_keymap *map, uint64_t number)
{
	return !number || gt_keymap_get(map, number);
}

static bool note_stack(struct complete *c, const struct gt_stack *stack)
{
	return !stack || note_number(&c->stacks, stack->id);
}

static bool note_references(struct complete *c, const struct gt_event *event)
{
	bool good = note_stack(c, event->stack) && note_stack(c, event->launch.forward);

	if (event->kind == GT_EVENT_KERNEL)
		good = good && note_stack(c, event->kernel.created);
	if (event->kind == GT_EVENT_MEMCPY || event->kind == GT_EVENT_MEMSET)
		good = good && note_stack(c, event->memory.created);
	if (gt_event_is_gpu(event->kind) && event->kind != GT_EVENT_SYNC && event->launch.known &&
	    event->correlation > c->events.metadata.segment[GT_SEGMENT_BORDER])
		good = good && note_number(&c->flows, event->correlation);
	return good;
}

static void count_into(const struct gt_event *event, struct gt_ledger *count)
{
	enum gt_ledger_key key = gt_perfetto_ledger_key(event);

	if (key < GT_LEDGER_COUNT_)
		count->count[key]++;
	for (size_t i = 0; event->kind == GT_EVENT_NOTE && i < sizeof(untimed) / sizeof(untimed[0]);
	     i++)
		if (!strcmp(event->note.name, untimed[i].name))
			count->count[untimed[i].key]++;
}

/* ---- the readings before anything is written ---- */

static int no_metadata(const struct gt_metadata *metadata, void *data)
{
	(void)metadata;
	(void)data;
	return 0;
}

static int ignore_event(const struct gt_event *event, void *data)
{
	(void)event;
	(void)data;
	return 0;
}

static int see_recovered(const struct gt_event *event, void *data)
{
	struct complete *c = data;

	if (event->kind != GT_EVENT_THREAD && event->start < c->first)
		c->first = event->start;
	return 0;
}

static bool is_late(const struct complete *c, const struct gt_event *event)
{
	return event->kind == GT_EVENT_THREAD || event->start >= c->first;
}

static bool note_event(struct complete *c, const struct gt_event *event)
{
	struct gt_keymap_entry *have = gt_keymap_get(&c->have, key_of(event));

	if (have)
		have->value++;
	return have;
}

static int see_trace(const struct gt_event *event, void *data)
{
	struct complete *c = data;

	count_into(event, &c->count);
	if (event->end > c->last)
		c->last = event->end;
	if (!note_references(c, event) || (is_late(c, event) && !note_event(c, event)))
		return -ENOMEM;
	return 0;
}

static uint32_t device_track(const struct complete *c, uint32_t device)
{
	for (size_t i = 0; i < c->tracks.count; i++)
		if (c->tracks.at[i].kind == GT_PERFETTO_DEVICE && c->tracks.at[i].a == device)
			return c->tracks.at[i].number;
	return GT_PF_TRACK_OF_PROCESS;
}

/* The number of a track is found again by what the writer knows it by. Of a row beside a thread,
 * which gets another one, only the number is taken. */
static int see_track(uint64_t uuid, const struct gt_pftrace_track *track, void *data)
{
	struct complete *c = data;
	struct gt_perfetto_entry entry = {.kind = GT_PERFETTO_FRAME, .number = (uint32_t)uuid};

	if (uuid <= GT_PF_TRACK_OF_PROCESS || uuid >= GT_PFTRACE_MAX_IID)
		return 0;
	if (track->kind == GT_PFTRACE_THREAD) {
		entry.kind = GT_PERFETTO_THREAD;
		entry.a = track->tid;
	} else if (track->kind == GT_PFTRACE_COUNTER) {
		entry.kind = GT_PERFETTO_COUNTER;
		entry.a = (uint64_t)track->name->id << 32 | track->series->id;
		entry.b = track->on_gpu ? device_track(c, track->device) : GT_PF_TRACK_OF_PROCESS;
	} else if (track->on_gpu) {
		entry.kind = GT_PERFETTO_DEVICE;
		entry.a = track->device;
	} else {
		entry.b = uuid; /* of no frame: frames have an address */
	}
	return gt_vec_push(&c->tracks, entry) ? 0 : -ENOMEM;
}

static int read_recovered(struct complete *c, const char *path)
{
	int rc;

	c->before = (struct gt_events){
		.take_metadata = no_metadata, .take_event = see_recovered, .data = c};
	c->first = UINT64_MAX;
	rc = gt_events_init(&c->before);
	if (!rc)
		rc = gt_events_read_pftrace(&c->before, path);
	if (rc)
		return fail(c, path, *c->before.error ? c->before.error : strerror(-rc), rc);
	c->totals.ledger = c->before.ledger;
	c->totals.first_untold = (int64_t)c->before.metadata.segment[GT_SEGMENT_NUMBER];
	if (!c->totals.first_untold)
		c->totals.first_untold = 1;
	return 0;
}

/* How much of the file stays, and what is cut. */
static int measure(struct complete *c)
{
	struct stat st;

	if (stat(c->trace, &st))
		return fail(c, c->trace, strerror(errno), -errno);
	c->result->events = c->events.count;
	c->result->cut = (uint64_t)st.st_size - c->events.end_byte;
	c->result->was_closed = c->events.closed;
	c->result->was_torn = c->events.torn;
	return 0;
}

/* A file that was cut before its facts is begun anew. */
static int read_trace(struct complete *c)
{
	int rc;

	c->events = (struct gt_events){.take_metadata = no_metadata,
				       .take_event = see_trace,
				       .take_track = see_track,
				       .data = c};
	rc = gt_events_init(&c->events);
	if (!rc)
		rc = gt_events_read_pftrace(&c->events, c->trace);
	if (rc && !c->events.torn)
		return fail(c, c->trace, *c->events.error ? c->events.error : strerror(-rc), rc);
	if (c->events.torn) {
		c->events.end_byte = 0;
		c->tracks.count = 0;
		c->events.tells_gpus = false;
	}
	return measure(c);
}

/* ---- earlier files of the process ---- */

/* An earlier file, whose events are not told again. */
struct complete_previous {
	struct complete *c;
	bool may_have_them; /* it was still written when the first of the recovered events
			     * happened */
	struct gt_ledger count;
};

static int see_previous(const struct gt_event *event, void *data)
{
	struct complete_previous *previous = data;
	struct complete *c = previous->c;

	count_into(event, &previous->count);
	if (previous->may_have_them && event->kind != GT_EVENT_THREAD && is_late(c, event) &&
	    !note_event(c, event))
		return -ENOMEM;
	return 0;
}

static bool may_have_them(const struct complete *c, const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) &&
	       (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec +
			       MARGIN_NS >=
		       c->first;
}

/* What cannot be read has nothing to tell. */
static int read_previous(const char *path, void *data)
{
	struct complete *c = data;
	struct complete_previous previous = {.c = c, .may_have_them = may_have_them(c, path)};
	struct gt_events events = {
		.take_metadata = no_metadata, .take_event = see_previous, .data = &previous};
	bool untold = (int64_t)gt_segment_number(path) >= c->totals.first_untold;
	int rc = 0;

	if (!previous.may_have_them && !untold)
		return 0;
	rc = gt_events_init(&events);
	if (!rc)
		rc = gt_events_read_pftrace(&events, path);
	previous.count.count[GT_LEDGER_CALLS_SEEN] = previous.count.count[GT_LEDGER_CALLS_WRITTEN];
	if (!rc && untold)
		gt_rejoin_ledger_take_off(&c->totals,
					  events.closed ? &events.ledger : &previous.count);
	gt_events_fini(&events);
	return rc == -ENOMEM ? rc : 0;
}

/* ---- writing ---- */

/* Facts of the trace, or, when it had none yet, of the whole process. */
static void choose_metadata(struct complete *c)
{
	const struct gt_metadata *whole = &c->before.metadata;
	unsigned long number = gt_segment_number(c->trace);

	if (!c->result->was_torn) {
		c->metadata = c->events.metadata;
	} else {
		c->metadata = *whole;
		memset(c->metadata.segment, 0, sizeof(c->metadata.segment));
		c->metadata.segment[GT_SEGMENT_NUMBER] = number > 1 ? number : 0;
	}
	if (c->metadata.device_count < whole->device_count) {
		memcpy(c->metadata.devices, whole->devices, sizeof(c->metadata.devices));
		c->metadata.device_count = whole->device_count;
	}
	/* found by it again, should this be interrupted */
	snprintf(c->metadata.spool, sizeof(c->metadata.spool), "%s", c->spool);
}

/* The end of the trace as a stream. */
static int open_sink(struct complete *c)
{
	int fd = open(c->trace, O_WRONLY | O_CLOEXEC | O_NOFOLLOW), rc = fd < 0 ? -errno : 0;
	off_t end = (off_t)c->events.end_byte;

	if (!rc && (ftruncate(fd, end) || lseek(fd, end, SEEK_SET) != end)) {
		rc = -errno;
		close(fd);
	}
	if (!rc)
		c->sink = gt_sink_open_pipe(fd, &rc);
	return rc;
}

static bool has_few_details(const struct complete *c)
{
	return strstr(c->metadata.options, "details=few");
}

static int open_writer(struct complete *c)
{
	struct gt_perfetto_past past = {.offset = c->events.end_byte,
					.last = c->last,
					.gpus_written = c->events.tells_gpus,
					.tracks = c->tracks.at,
					.track_count = c->tracks.count};
	struct gt_writer_options options = {
		.sync_lanes = true, .few_details = has_few_details(c), .past = &past};
	int rc;

	c->writer = gt_writer_new("perfetto");
	if (!c->writer)
		return -ENOMEM;
	rc = open_sink(c);
	return rc ? rc : c->writer->ops->open(c->writer, c->sink, &c->metadata, &options);
}

/* A thread has its name once; what else has the same key - ranges around the same work, notes of
 * one moment - is there as often as it happened. */
static int see_missing(const struct gt_event *event, void *data)
{
	struct complete *c = data;
	struct gt_keymap_entry *have = gt_keymap_get(&c->have, key_of(event));

	if (!have)
		return -ENOMEM;
	if (have->value > 0) {
		have->value -= event->kind != GT_EVENT_THREAD;
		return 0;
	}
	have->value = event->kind == GT_EVENT_THREAD;
	if (!note_references(c, event))
		return -ENOMEM;
	count_into(event, &c->count);
	c->result->calls += event->kind == GT_EVENT_API;
	c->result->operations += gt_event_is_gpu(event->kind);
	return c->writer->ops->event(c->writer, event);
}

static int write_missing(struct complete *c, const char *recovered)
{
	int rc;

	c->events.take_event = see_missing;
	c->events.take_track = NULL;
	rc = gt_events_read_pftrace(&c->events, recovered);
	return rc ? rc : c->writer->ops->flush(c->writer, UINT64_MAX);
}

/* ---- the end ---- */

static const enum gt_ledger_key counted[] = {
	GT_LEDGER_CALLS_WRITTEN,   GT_LEDGER_KERNELS_WRITTEN,  GT_LEDGER_MEMCPYS_WRITTEN,
	GT_LEDGER_MEMSETS_WRITTEN, GT_LEDGER_SYNCS_WRITTEN,    GT_LEDGER_OVERHEADS_WRITTEN,
	GT_LEDGER_RANGES_WRITTEN,  GT_LEDGER_SHADOWS_WRITTEN,  GT_LEDGER_FRAMES_WRITTEN,
	GT_LEDGER_SAMPLES_WRITTEN, GT_LEDGER_COUNTERS_WRITTEN, GT_LEDGER_NOTES_WRITTEN,
	GT_LEDGER_FLOWS_WRITTEN,   GT_LEDGER_STACKS_WRITTEN,   GT_LEDGER_NAMES_WRITTEN,
	GT_LEDGER_KERNELS_UNTIMED, GT_LEDGER_MEMCPYS_UNTIMED,  GT_LEDGER_MEMSETS_UNTIMED,
	GT_LEDGER_BYTES_WRITTEN,
};

/* The ledger of the whole file, less what the writer adds of its own part. */
static struct gt_ledger make_ledger(struct complete *c)
{
	const struct gt_file *file = c->writer->ops->file(c->writer);
	struct gt_ledger *ledger = &c->totals.ledger, rest;

	c->count.count[GT_LEDGER_FLOWS_WRITTEN] = has_few_details(c) ? 0 : c->flows.used;
	c->count.count[GT_LEDGER_STACKS_WRITTEN] = c->stacks.used;
	for (size_t i = 0; i < sizeof(counted) / sizeof(counted[0]); i++)
		ledger->count[counted[i]] = c->count.count[counted[i]];
	gt_rejoin_ledger_balance(ledger);
	rest = *ledger;
	for (int i = 0; i < GT_LEDGER_COUNT_; i++)
		rest.count[i] -= file->written.ledger.count[i];
	return rest;
}

static int close_trace(struct complete *c)
{
	struct gt_ledger ledger = make_ledger(c);

	c->result->in_flight = ledger.count[GT_LEDGER_OPS_IN_FLIGHT];
	*c->metadata.spool = 0;
	c->metadata.repaired = (struct gt_metadata_repaired){.done = true,
							     .events = c->result->events,
							     .cut_bytes = c->result->cut,
							     .calls = c->result->calls,
							     .operations = c->result->operations,
							     .in_flight = c->result->in_flight};
	return c->writer->ops->close(c->writer, &c->metadata, &ledger);
}

static int complete(struct complete *c, const char *recovered)
{
	int rc = read_recovered(c, recovered);

	if (!rc)
		rc = read_trace(c);
	if (rc || c->result->was_closed)
		return rc;
	rc = gt_segments_before(c->trace, read_previous, c);
	if (rc)
		return rc;
	choose_metadata(c);
	rc = open_writer(c);
	if (!rc)
		rc = write_missing(c, recovered);
	return rc ? rc : close_trace(c);
}

/* Of the latest earlier file that can be read. */
static int read_metadata_of(const char *path, void *data)
{
	struct complete *c = data;
	struct gt_events events = {
		.take_metadata = no_metadata, .take_event = ignore_event, .data = c};
	int rc;

	if (gt_segment_number(path) < c->newest_before)
		return 0;
	rc = gt_events_init(&events);
	if (!rc)
		rc = gt_events_read_pftrace(&events, path);
	if (rc) {
		gt_events_fini(&events);
		return rc == -ENOMEM ? rc : 0;
	}
	gt_events_fini(&c->before);
	c->before = events;
	c->newest_before = gt_segment_number(path);
	return 0;
}

/* Nothing but a header, which is that of the file before. */
static int close_empty(struct complete *c)
{
	int rc = read_trace(c);

	if (!rc && !c->events.torn)
		return 0;
	if (!rc)
		rc = gt_segments_before(c->trace, read_metadata_of, c);
	if (!rc && !c->newest_before)
		rc = fail(c, c->trace, "ends before its metadata, there is nothing to repair",
			  -ENODATA);
	if (rc)
		return rc;
	choose_metadata(c);
	rc = open_writer(c);
	return rc ? rc : close_trace(c);
}

static void forget(struct complete *c)
{
	if (c->writer)
		c->writer->ops->fini(c->writer);
	gt_writer_free(c->writer);
	gt_sink_close(c->sink);
	gt_events_fini(&c->events);
	gt_events_fini(&c->before);
	gt_keymap_fini(&c->have);
	gt_keymap_fini(&c->stacks);
	gt_keymap_fini(&c->flows);
	gt_vec_free(&c->tracks);
}

int gt_complete(const char *trace, const char *recovered, const char *spool,
		struct gt_complete *ret_complete)
{
	static struct complete c;
	int rc;

	*ret_complete = (struct gt_complete){0};
	c = (struct complete){.trace = trace, .spool = spool, .result = ret_complete};
	rc = complete(&c, recovered);
	if (rc)
		fail(&c, trace, strerror(-rc), rc);
	forget(&c);
	return rc;
}

int gt_complete_without_spool(const char *trace, struct gt_complete *ret_complete)
{
	static struct complete c;
	int rc;

	*ret_complete = (struct gt_complete){0};
	c = (struct complete){.trace = trace, .result = ret_complete, .first = UINT64_MAX};
	c.spool = "";
	rc = close_empty(&c);
	if (rc)
		fail(&c, trace, strerror(-rc), rc);
	forget(&c);
	return rc;
}

bool gt_complete_is_due(const char *path)
{
	const char *ending = strrchr(path, '.');
	struct gt_input in;
	struct stat st;
	bool due;

	if (stat(path, &st) || !S_ISREG(st.st_mode) || gt_input_open(&in, path))
		return false;
	due = gt_input_more(&in) > 0 && gt_translated_is_due(&in);
	if (!due && ending && !strcmp(ending, ".pftrace")) /* too little of it to tell */
		due = !in.size || *in.data == '\n';
	gt_input_close(&in);
	return due;
}

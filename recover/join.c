/* SPDX-License-Identifier: Apache-2.0
 *
 * See join.h. Four readings: the recovered events for the time of the first, the trace to know
 * which of them it has, the earlier files of the process for the same, and the recovered events
 * once more, which are written where they are missing.
 */
#include "recover/join.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "readers/events.h"
#include "readers/keymap.h"
#include "readers/perfetto/pftrace.h"
#include "readers/vec.h"
#include "recover/join_key.h"
#include "recover/join_ledger.h"
#include "trace/first_block.h"
#include "trace/segment_files.h"
#include "writers/file.h"
#include "writers/perfetto/perfetto.h"

/* The clock of the trace and that of the file system may differ by this much. */
#define MARGIN_NS 10000000000u

/* A form of traces. */
struct join_form {
	const char *writer;
	int (*read)(struct gt_events *events, const char *path);
};

static const struct join_form json = {"chrome", gt_events_read_json};
static const struct join_form pftrace = {"perfetto", gt_events_read_pftrace};

struct join {
	const struct join_form *form;
	const struct gt_pin *trace;
	const char *spool;
	struct gt_join *result;
	struct gt_events
		events; /* of the trace, then what was recovered: a call may be in either */
	struct gt_events before; /* the first reading of what was recovered */
	struct gt_metadata metadata;
	struct gt_event newest; /* of the trace, not known yet to be whole */
	uint32_t newest_track;
	bool has_newest;
	uint64_t first;               /* start of the earliest recovered event */
	struct gt_keymap have;        /* recovered events: how many of each are there */
	struct gt_keymap calls;       /* correlation numbers of the recovered GPU work */
	struct gt_join_count count;   /* of what is there */
	struct gt_ledger session;     /* what only the process knew */
	struct gt_losses lost;        /* when and why the file had stopped */
	struct gt_losses reported;    /* what an interrupted repair has written of that */
	uint64_t first_unreported;    /* number of the first file whose ledger is not taken off */
	uint64_t last_removed;        /* number of the newest file that had to go */
	unsigned long newest_segment; /* number of the earlier file whose metadata was taken */
	GT_VEC(struct gt_perfetto_entry) tracks;
	struct gt_writer *writer;
	struct gt_sink *sink;
};

static int fail(struct join *j, const char *path, const char *what, int rc)
{
	if (!*j->result->error)
		snprintf(j->result->error, sizeof(j->result->error), "%.300s: %.300s", path, what);
	return rc;
}

static int read_into(struct join *j, struct gt_events *events, const char *path)
{
	int rc = gt_events_init(events);

	return rc ? rc : j->form->read(events, path);
}

static int fail_reading(struct join *j, const struct gt_events *events, const char *path, int rc)
{
	char words[sizeof(events->error) + PATH_MAX];

	gt_pin_words(j->trace, events->error, words, sizeof(words));
	return fail(j, path, *words ? words : strerror(-rc), rc);
}

/* What strict JSON does not allow stays as it is. */
static int refuse_loose(struct join *j, const struct gt_events *events, const char *path)
{
	char text[128];

	if (!events->loose)
		return 0;
	snprintf(text, sizeof(text), "holds %.80s, which is no JSON (not touched)", events->loose);
	return fail(j, path, text, -EBADMSG);
}

/* ---- what was recovered ---- */

static bool has_time(const struct gt_event *event)
{
	return event->kind != GT_EVENT_THREAD && event->kind != GT_EVENT_STREAM;
}

/* The note at the end of a file that had stopped. */
static bool is_loss(const struct gt_event *event, struct gt_losses *losses)
{
	return event->kind == GT_EVENT_NOTE &&
	       gt_file_read_loss(&event->note, event->start, losses);
}

static int see_recovered(const struct gt_event *event, void *data)
{
	struct join *j = data;

	if (is_loss(event, &j->lost))
		return 0;
	if (has_time(event) && event->start < j->first)
		j->first = event->start;
	if (gt_event_is_gpu(event->kind) && event->correlation &&
	    !gt_keymap_get(&j->calls, event->correlation))
		return -ENOMEM;
	return gt_keymap_get(&j->have, gt_join_key(event)) ? 0 : -ENOMEM;
}

static int read_recovered(struct join *j, const char *path)
{
	int rc;

	j->before = (struct gt_events){.take_event = see_recovered, .unjoined = true, .data = j};
	rc = read_into(j, &j->before, path);
	if (rc)
		return fail_reading(j, &j->before, path, rc);
	j->session = j->before.ledger;
	j->first_unreported = j->before.metadata.segment[GT_SEGMENT_NUMBER];
	if (!j->first_unreported)
		j->first_unreported = 1;
	return refuse_loose(j, &j->before, path);
}

/* ---- the trace ---- */

static bool is_late(const struct join *j, const struct gt_event *event)
{
	return !has_time(event) || event->start >= j->first;
}

/* Of a long trace only what may be recovered once more takes memory. */
static void note_event(struct join *j, const struct gt_event *event)
{
	uint64_t key = is_late(j, event) ? gt_join_key(event) : 0;

	if (key && gt_keymap_has(&j->have, key))
		gt_keymap_get(&j->have, key)->value++;
}

/* The newest event of the trace is whole. */
static int keep_newest(struct join *j)
{
	const struct gt_event *event = &j->newest;

	if (!j->has_newest)
		return 0;
	j->has_newest = false;
	j->result->events++;
	j->writer->ops->recall(j->writer, event, j->newest_track);
	if (!is_loss(event, &j->reported))
		note_event(j, event);
	return gt_join_count(&j->count, event);
}

static int see_trace(const struct gt_event *event, void *data)
{
	struct join *j = data;
	int rc = keep_newest(j);

	j->newest = *event;
	j->newest_track = j->events.track;
	j->has_newest = true;
	return rc;
}

static int open_writer(struct join *j, const struct gt_metadata *metadata)
{
	struct gt_writer_options options = {.sync_tracks = true,
					    .resumes = true,
					    .border = metadata->segment[GT_SEGMENT_BORDER],
					    .few_details = strstr(metadata->options, "details=few"),
					    .brief = !strstr(metadata->options, "details=few") &&
						     !strstr(metadata->options, "details=all"),
					    .own_flows = strstr(metadata->options, "details=all"),
					    .full_stacks =
						    strstr(metadata->options, "stacks=full")};

	j->writer = gt_writer_new(j->form->writer);
	if (!j->writer)
		return -ENOMEM;
	return j->writer->ops->open(j->writer, NULL, metadata, &options);
}

static int take_metadata(const struct gt_metadata *metadata, void *data)
{
	struct join *j = data;

	return j->writer ? 0 : open_writer(j, metadata);
}

static uint32_t device_track(const struct join *j, uint32_t device)
{
	for (size_t i = 0; i < j->tracks.count; i++)
		if (j->tracks.at[i].kind == GT_PERFETTO_DEVICE && j->tracks.at[i].a == device)
			return j->tracks.at[i].number;
	return GT_PF_TRACK_OF_PROCESS;
}

/* The number of a track is found again by what the writer knows it by. Of a track next to a
 * thread's, which gets another one, only the number is taken. */
static int see_track(uint64_t uuid, const struct gt_pftrace_track *track, void *data)
{
	struct join *j = data;
	struct gt_perfetto_entry entry = {.kind = GT_PERFETTO_FRAME, .number = (uint32_t)uuid};

	if (uuid <= GT_PF_TRACK_OF_PROCESS || uuid >= GT_PFTRACE_MAX_IID)
		return 0;
	if (track->kind == GT_PFTRACE_THREAD) {
		entry.kind = GT_PERFETTO_THREAD;
		entry.a = track->tid;
	} else if (track->kind == GT_PFTRACE_COUNTER) {
		entry.kind = GT_PERFETTO_COUNTER;
		entry.a = (uint64_t)track->name->id << 32 | track->series->id;
		entry.b = track->on_gpu ? device_track(j, track->device) : GT_PF_TRACK_OF_PROCESS;
	} else if (track->on_gpu) {
		entry.kind = GT_PERFETTO_DEVICE;
		entry.a = track->device;
	} else {
		entry.b = uuid; /* of no frame: frames have an address */
	}
	return gt_vec_push(&j->tracks, entry) ? 0 : -ENOMEM;
}

/* How much of the file stays, and what is cut: not the bracket that ends a running JSON file. */
static int measure(struct join *j)
{
	const struct gt_events *events = &j->events;
	struct stat st;

	if (stat(j->trace->content, &st))
		return fail(j, j->trace->path, strerror(errno), -errno);
	if (!events->closed || events->is_unfinished)
		j->result->cut = (uint64_t)st.st_size - events->end_byte;
	if (j->form == &json) /* each is a line, as gputrace verify counts them */
		j->result->events += events->names + 2 * events->flows;
	if (events->parts > 1 || events->told_parts > 1)
		return fail(j, j->trace->path,
			    "holds several processes, as gputrace merge wrote them (not touched)",
			    -EINVAL);
	j->result->was_closed = events->has_ledger;
	j->result->was_torn = events->torn;
	return 0;
}

/* A .pftrace that was cut before its metadata is started over. */
static int read_trace(struct join *j)
{
	int rc;

	j->events = (struct gt_events){.take_metadata = take_metadata,
				       .take_event = see_trace,
				       .take_track = see_track,
				       .wanted_calls = &j->calls,
				       .data = j};
	rc = read_into(j, &j->events, j->trace->content);
	if (!rc && !j->events.is_unfinished)
		rc = keep_newest(j);
	if (rc && !j->events.torn)
		return fail_reading(j, &j->events, j->trace->path, rc);
	if (j->events.torn) {
		j->events.end_byte = 0;
		j->tracks.count = 0;
		j->events.tells_gpus = false;
	}
	rc = refuse_loose(j, &j->events, j->trace->path);
	return rc ? rc : measure(j);
}

/* The first block of a JSON trace is closed in place: another tool's has no room. */
static int check_block(struct join *j)
{
	static struct gt_first_block block;
	int rc = j->form == &json ? gt_first_block_read(&block, j->trace->content) : 0;

	if (rc || j->form != &json)
		return rc;
	/* its newline may be missing */
	if (block.bytes < GT_FIRST_BLOCK - 1 || memcmp(block.text + GT_FIRST_BLOCK - 4, "\"}}", 3))
		return fail(j, j->trace->path,
			    "its first event is not one of gputrace's (not touched)", -EBADMSG);
	return 0;
}

/* The oldest file went on a full disk, and the process was killed before this one said so. */
static void take_removed(uint64_t *segment, const uint64_t *of_spool)
{
	if (segment[GT_SEGMENT_FILES_REMOVED] >= of_spool[GT_SEGMENT_FILES_REMOVED])
		return;
	for (int key = GT_SEGMENT_FILES_REMOVED; key < GT_SEGMENT_COUNT_; key++)
		segment[key] = of_spool[key];
}

/* That of the trace, or, when it had none yet, of the whole process. */
static void choose_metadata(struct join *j)
{
	const struct gt_metadata *whole = &j->before.metadata;
	unsigned long number = gt_segment_number(j->trace->path);

	if (!j->result->was_torn) {
		j->metadata = j->events.metadata;
	} else {
		j->metadata = *whole;
		j->metadata.segment[GT_SEGMENT_NUMBER] = number > 1 ? number : 0;
	}
	take_removed(j->metadata.segment, whole->segment);
	j->last_removed = j->metadata.segment[GT_SEGMENT_FILES_REMOVED];
	if (j->metadata.device_count < whole->device_count) {
		memcpy(j->metadata.devices, whole->devices, sizeof(j->metadata.devices));
		j->metadata.device_count = whole->device_count;
	}
	/* found by it again, should this be interrupted */
	snprintf(j->metadata.spool, sizeof(j->metadata.spool), "%s", j->spool);
}

/* ---- earlier files of the process ---- */

/* An earlier file, whose events are not recovered again. */
struct join_previous {
	struct join *join;
	bool may_have_them; /* it was still written when the first of the recovered events
			     * happened */
	struct gt_ledger ledger;
};

static int see_previous(const struct gt_event *event, void *data)
{
	struct join_previous *previous = data;
	struct join *j = previous->join;
	enum gt_ledger_key key = gt_ledger_key_of(event);

	if (key < GT_LEDGER_COUNT_)
		previous->ledger.count[key]++;
	if (previous->may_have_them && has_time(event))
		note_event(j, event);
	return 0;
}

static bool may_have_them(const struct join *j, const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) &&
	       (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec +
			       MARGIN_NS >=
		       j->first;
}

/* It had to go (--keep), and the process was killed before: the newest file has counted it already,
 * and the spool its losses. */
static void put_back(struct join *j, unsigned long number, const struct gt_ledger *ledger)
{
	const struct gt_ledger losses = gt_ledger_losses(ledger);

	if (number <= j->before.metadata.segment[GT_SEGMENT_FILES_REMOVED])
		gt_join_ledger_take_off(&j->session, &losses);
	gt_segment_put_back(j->metadata.segment, ledger);
}

/* What cannot be read counts nothing. */
static int read_previous(const char *path, void *data)
{
	struct join *j = data;
	struct join_previous previous = {.join = j, .may_have_them = may_have_them(j, path)};
	struct gt_events events = {.take_event = see_previous, .unjoined = true, .data = &previous};
	unsigned long number = gt_segment_number(path);
	bool is_unreported = number >= j->first_unreported;
	bool is_removed = number <= j->last_removed;
	uint64_t *count = previous.ledger.count;
	int rc;

	if (!previous.may_have_them && !is_unreported && !is_removed)
		return 0;
	rc = read_into(j, &events, path);
	count[GT_LEDGER_CALLS_SEEN] = count[GT_LEDGER_CALLS_WRITTEN];
	for (int i = 0; i < GT_LEDGER_KINDS_; i++)
		count[gt_ledger_kinds[i].received] = count[gt_ledger_kinds[i].written];
	if (!rc && is_unreported)
		gt_join_ledger_take_off(&j->session,
					events.has_ledger ? &events.ledger : &previous.ledger);
	if (!rc && is_removed && events.has_ledger)
		put_back(j, number, &events.ledger);
	gt_events_fini(&events);
	return rc == -ENOMEM ? rc : 0;
}

/* ---- writing ---- */

static int resume(struct join *j)
{
	struct gt_writer_past past = {.offset = j->events.end_byte,
				      .names = j->events.names,
				      .flows = j->events.flows,
				      .has_whole_step = j->events.has_whole_step,
				      .gpus_written = j->events.tells_gpus,
				      .tracks = j->tracks.at,
				      .track_count = j->tracks.count};
	int rc = 0, fd;

	if (!j->writer)
		rc = open_writer(j, &j->metadata);
	fd = rc ? -1 : gt_pin_write(j->trace);
	if (fd >= 0)
		j->sink = gt_sink_open_file(fd, j->trace->path, &rc);
	else if (!rc)
		rc = fd;
	return rc ? rc : j->writer->ops->resume(j->writer, j->sink, &j->metadata, &past);
}

/* A thread has its name once; what else has the same key is there as often as it happened. 1: it is
 * missing; negative errno. */
static int is_missing(struct join *j, const struct gt_event *event)
{
	struct gt_keymap_entry *have = gt_keymap_get(&j->have, gt_join_key(event));
	bool is_there;

	if (!have)
		return -ENOMEM;
	is_there = have->value > 0;
	if (!has_time(event))
		have->value = 1;
	else if (is_there)
		have->value--;
	return !is_there;
}

static int see_missing(const struct gt_event *event, void *data)
{
	struct join *j = data;
	struct gt_losses known = {0};
	int rc = is_loss(event, &known) ? 0 : is_missing(j, event);

	if (rc <= 0)
		return rc;
	rc = gt_join_count(&j->count, event);
	j->result->calls += event->kind == GT_EVENT_API;
	j->result->operations += gt_event_is_gpu(event->kind);
	return rc ? rc : j->writer->ops->event(j->writer, event);
}

static int write_missing(struct join *j, const char *recovered)
{
	int rc;

	j->events.take_metadata = NULL;
	j->events.take_event = see_missing;
	j->events.take_track = NULL;
	rc = j->form->read(&j->events, recovered);
	return rc ? rc : j->writer->ops->flush(j->writer, UINT64_MAX);
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static int close_trace(struct join *j)
{
	struct gt_file *file = j->writer->ops->file(j->writer);
	struct gt_join_written written = {.ledger = &file->written.ledger, .lost = j->lost};
	struct gt_ledger rest, ledger = gt_join_ledger(&j->session, &j->count, &written, &rest);

	if (gt_losses_sum(&j->reported))
		gt_losses_count(&written.lost, &rest); /* its note is there */
	else
		file->lost = written.lost;
	j->result->in_flight = ledger.count[GT_LEDGER_OPS_IN_FLIGHT];
	j->result->maybe_removed = smaller(j->before.metadata.repaired.maybe_removed,
					   j->result->calls + j->result->operations);
	*j->metadata.spool = 0;
	j->metadata.repaired =
		(struct gt_metadata_repaired){.done = true,
					      .events = j->result->events,
					      .cut_bytes = j->result->cut,
					      .calls = j->result->calls,
					      .operations = j->result->operations,
					      .in_flight = j->result->in_flight,
					      .maybe_removed = j->result->maybe_removed};
	return j->writer->ops->close(j->writer, &j->metadata, &rest);
}

static int join(struct join *j, const char *recovered)
{
	int rc = read_recovered(j, recovered);

	if (!rc)
		rc = read_trace(j);
	if (!rc && !j->result->was_closed)
		rc = check_block(j);
	if (rc || j->result->was_closed)
		return rc;
	choose_metadata(j);
	rc = gt_segments_before(j->trace->kin, read_previous, j);
	if (!rc)
		rc = resume(j);
	if (!rc)
		rc = write_missing(j, recovered);
	return rc ? rc : close_trace(j);
}

/* ---- without a spool ---- */

/* Of the latest earlier file that can be read. */
static int read_metadata_of(const char *path, void *data)
{
	struct join *j = data;
	struct gt_events events = {.unjoined = true, .data = j};
	int rc;

	if (gt_segment_number(path) < j->newest_segment)
		return 0;
	rc = read_into(j, &events, path);
	if (rc) {
		gt_events_fini(&events);
		return rc == -ENOMEM ? rc : 0;
	}
	gt_events_fini(&j->before);
	j->before = events;
	j->newest_segment = gt_segment_number(path);
	return 0;
}

/* Where there is nothing but a header, it is that of the file before. */
static int close_without_spool(struct join *j, bool is_told)
{
	int rc = read_trace(j);

	if (!rc && !j->events.torn && (!is_told || j->result->was_closed))
		return 0;
	if (!rc && !j->events.torn)
		rc = check_block(j);
	else if (!rc)
		rc = gt_segments_before(j->trace->kin, read_metadata_of, j);
	if (!rc && j->events.torn && !j->newest_segment)
		rc = fail(j, j->trace->path, "ends before its metadata, there is nothing to repair",
			  -ENODATA);
	if (rc)
		return rc;
	choose_metadata(j);
	j->first_unreported = UINT64_MAX; /* another file's ledger tells what these do not */
	rc = gt_segments_before(j->trace->kin, read_previous, j);
	if (!rc)
		rc = resume(j);
	return rc ? rc : close_trace(j);
}

/* ---- the two entries ---- */

static void forget(struct join *j)
{
	if (j->writer)
		j->writer->ops->fini(j->writer);
	gt_writer_free(j->writer);
	gt_sink_close(j->sink);
	gt_events_fini(&j->events);
	gt_events_fini(&j->before);
	gt_keymap_fini(&j->have);
	gt_keymap_fini(&j->calls);
	gt_join_count_fini(&j->count);
	gt_vec_free(&j->tracks);
}

int gt_join(const struct gt_pin *trace, const char *recovered, const char *spool,
	    struct gt_join *ret_join)
{
	static struct join j;
	int rc;

	*ret_join = (struct gt_join){0};
	j = (struct join){.trace = trace, .spool = spool, .result = ret_join, .first = UINT64_MAX};
	j.form = gt_join_is_pftrace(trace->content, trace->path) ? &pftrace : &json;
	rc = join(&j, recovered);
	if (rc)
		fail(&j, trace->path, strerror(-rc), rc);
	forget(&j);
	return rc;
}

int gt_join_without_spool(const struct gt_pin *trace, bool is_told, struct gt_join *ret_join)
{
	static struct join j;
	int rc;

	*ret_join = (struct gt_join){0};
	j = (struct join){.trace = trace, .spool = "", .result = ret_join, .first = UINT64_MAX};
	j.form = gt_join_is_pftrace(trace->content, trace->path) ? &pftrace : &json;
	rc = close_without_spool(&j, is_told);
	if (rc)
		fail(&j, trace->path, strerror(-rc), rc);
	forget(&j);
	return rc;
}

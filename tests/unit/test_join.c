/* SPDX-License-Identifier: Apache-2.0
 *
 * recover/join.h: joins a trace of either format, cut at any byte, with another that has its last
 * events and later ones; the result has each event once, unchanged.
 */
#include <criterion/criterion.h>

#include <errno.h>

#include "readers/perfetto/pftrace.h"
#include "analysis/verify/verify.h"
#include "recover/close.h"
#include "recover/join.h"
#include "recover/torn.h"
#include "tests/unit/trace_fixture.h"
#include "tests/pinned.h"

#define WRITTEN 40u /* events of each kind in the file */
#define FIRST   25u /* of what was recovered */
#define ALL     60u
/* Bytes between two cuts. A sanitizer makes each repair ten times slower. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define STEP 307u
#else
#define STEP 61u
#endif
#define AT_OF(i) AT(1000000 + (i)*1000ull)

enum what { CALL, KERNEL, COUNTER, RANGE, WHATS };

struct form {
	const char *writer, *suffix;
	int (*read)(struct gt_events *events, const char *path);
};

static const struct form pftrace = {"perfetto", ".pftrace", gt_events_read_pftrace};
static const struct form json = {"chrome", ".pt.trace.json", gt_events_read_json};
static const struct form *form;

static struct gt_stack_frame frames[4];
static struct gt_stack *stacks[2];
static const char *const names[] = {"alpha", "beta", "gamma"};

static void make_stacks(struct trace *t)
{
	frames[0] = (struct gt_stack_frame){.function = trace_string(t, "step"),
					    .module = trace_string(t, "/opt/app/train"),
					    .build_id = trace_string(t, "abcdef"),
					    .offset = 16};
	frames[1] = (struct gt_stack_frame){.kind = GT_FRAME_PYTHON,
					    .function = trace_string(t, "main"),
					    .file = trace_string(t, "/src/main.py"),
					    .line = 3};
	stacks[0] = trace_stack(1, frames, 2);
	stacks[1] = trace_stack(2, frames + 1, 1);
}

/* write_file() has ended the writer. */
static void end(struct trace *t)
{
	free(stacks[0]);
	free(stacks[1]);
	t->writer = NULL;
	t->sink = NULL;
	trace_end(t);
}

static struct gt_event make(struct trace *t, uint32_t i, enum what what)
{
	struct gt_event e = {.start = AT_OF(i) + what * 200u, .end = AT_OF(i) + what * 200u + 100};

	if (what == CALL) {
		e.kind = GT_EVENT_API;
		e.tid = 4100 + i % 3;
		e.correlation = i + 1;
		e.stack = stacks[i % 2];
		e.api = (struct gt_api_event){
			.cbid = i % 5, .enqueues = true, .name = trace_string(t, names[i % 3])};
	} else if (what == KERNEL) {
		e.kind = GT_EVENT_KERNEL;
		e.correlation = i + 1;
		e.launch = (struct gt_launch){.known = true,
					      .first = true,
					      .tid = 4100 + i % 3,
					      .start = AT_OF(i),
					      .stack = stacks[i % 2]};
		e.place = (struct gt_place){.context = 1, .stream = 7 + i % 2};
		e.kernel = (struct gt_kernel_event){.name = trace_string(t, names[(i + 1) % 3]),
						    .grid = {i % 4 + 1, 1, 1},
						    .block = {32, 1, 1}};
	} else if (what == COUNTER) {
		e.kind = GT_EVENT_COUNTER;
		e.end = e.start;
		e.place.device = i % 2;
		e.counter = (struct gt_counter_event){.name = trace_string(t, "GPU memory"),
						      .series = trace_string(t, "allocated"),
						      .value = i,
						      .on_gpu = i % 4 < 2};
	} else {
		e.kind = GT_EVENT_RANGE;
		e.tid = 4100 + i % 3;
		e.range = (struct gt_range_event){
			.name = trace_string(t, names[i % 2]), .id = i + 1, .detached = true};
	}
	return e;
}

/* A new file with what @put puts into it; its path, free(). */
static char *write_with(struct trace *t, const char *name, uint32_t first, uint32_t end,
			bool closed, void (*put)(struct trace *t, struct gt_writer *w, uint32_t i))
{
	struct gt_sink_options options = {.directory = t->folder,
					  .fallback = t->folder,
					  .name = name,
					  .suffix = form->suffix};
	struct gt_writer_options how = {.sync_tracks = true,
					.border = t->metadata.segment[GT_SEGMENT_BORDER]};
	struct gt_writer *w = gt_writer_new(form->writer);
	struct gt_ledger ledger = {0};
	int error = 0;
	struct gt_sink *sink = gt_sink_open(&options, &error);
	char *path = strdup(gt_sink_path(sink));

	snprintf(t->metadata.options, sizeof(t->metadata.options), "details=all");
	cr_assert_eq(w->ops->open(w, sink, &t->metadata, &how), 0);
	for (uint32_t i = first; i < end; i++)
		put(t, w, i);
	ledger.count[GT_LEDGER_CALLS_SEEN] = ALL;
	ledger.count[GT_LEDGER_OPS_IN_FLIGHT] = 2;
	cr_assert_eq(
		closed ? w->ops->close(w, &t->metadata, &ledger) : w->ops->flush(w, UINT64_MAX), 0);
	w->ops->fini(w);
	gt_writer_free(w);
	gt_sink_close(sink);
	return path;
}

static void put_all_kinds(struct trace *t, struct gt_writer *w, uint32_t i)
{
	for (unsigned int what = 0; what < WHATS; what++) {
		struct gt_event e = make(t, i, what);

		cr_assert_eq(w->ops->event(w, &e), 0);
	}
}

/* Events from @first to before @end into a new file; its path, free(). */
static char *write_file(struct trace *t, const char *name, uint32_t first, uint32_t end,
			bool closed)
{
	return write_with(t, name, first, end, closed, put_all_kinds);
}

#define TRACKS 64u

struct found {
	struct trace *t;
	struct gt_pftrace_track tracks[TRACKS];
	bool is_described[TRACKS];
	uint64_t threads[3];
	unsigned int counters;
	unsigned int count[WHATS][ALL];
};

static int take_metadata(const struct gt_metadata *metadata, void *data)
{
	return 0;
}

static int take_any(const struct gt_event *event, void *data)
{
	return 0;
}

/* A number means one track for ever, and a thread has one. */
static int take_track(uint64_t uuid, const struct gt_pftrace_track *track, void *data)
{
	struct found *found = data;
	const struct gt_pftrace_track *known = &found->tracks[uuid];
	uint64_t *thread = &found->threads[track->tid % 3];

	cr_assert_lt(uuid, TRACKS);
	if (found->is_described[uuid]) {
		cr_assert_eq(track->kind, known->kind);
		cr_assert_eq(track->tid, known->tid);
		cr_assert_eq(track->device, known->device);
		cr_assert_eq(track->on_gpu, known->on_gpu);
		cr_assert_eq(track->name, known->name);
	} else {
		found->counters += track->kind == GT_PFTRACE_COUNTER;
	}
	found->is_described[uuid] = true;
	found->tracks[uuid] = *track;
	if (track->kind == GT_PFTRACE_THREAD) {
		cr_assert(*thread == 0 || *thread == uuid);
		*thread = uuid;
	}
	return 0;
}

static bool is_text(const struct gt_string *found, const struct gt_string *wanted)
{
	return found && wanted && !strcmp(found->text, wanted->text);
}

static void expect_call(const struct gt_event *e, const struct gt_event *wanted)
{
	cr_assert(is_text(e->api.name, wanted->api.name));
	cr_assert_eq(e->api.cbid, wanted->api.cbid);
	cr_assert_eq(e->stack->id, wanted->stack->id);
	cr_assert_eq(e->stack->count, wanted->stack->count);
	for (uint32_t i = 0; i < e->stack->count; i++)
		cr_assert(
			is_text(e->stack->frames[i]->function, wanted->stack->frames[i]->function));
}

static void expect_kernel(const struct gt_event *e, const struct gt_event *wanted)
{
	cr_assert(is_text(e->kernel.name, wanted->kernel.name));
	cr_assert_eq(e->kernel.grid[0], wanted->kernel.grid[0]);
	cr_assert_eq(e->place.stream, wanted->place.stream);
	cr_assert(e->launch.known);
}

static void expect_counter(const struct gt_event *e, const struct gt_event *wanted)
{
	cr_assert(is_text(e->counter.name, wanted->counter.name));
	cr_assert(is_text(e->counter.series, wanted->counter.series));
	cr_assert_eq(e->counter.value, wanted->counter.value);
	cr_assert_eq(e->counter.on_gpu, wanted->counter.on_gpu);
	if (wanted->counter.on_gpu)
		cr_assert_eq(e->place.device, wanted->place.device);
}

static void expect_range(const struct gt_event *e, const struct gt_event *wanted)
{
	cr_assert(is_text(e->range.name, wanted->range.name));
	cr_assert_eq(e->range.id, wanted->range.id);
}

static void (*const expect[WHATS])(const struct gt_event *e, const struct gt_event *wanted) = {
	[CALL] = expect_call,
	[KERNEL] = expect_kernel,
	[COUNTER] = expect_counter,
	[RANGE] = expect_range,
};

static int take_event(const struct gt_event *e, void *data)
{
	struct found *found = data;
	uint32_t i = (uint32_t)((e->start - AT_OF(0)) / 1000);
	enum what what = (enum what)((e->start - AT_OF(i)) / 200);
	struct gt_event wanted;

	cr_assert_lt(i, ALL);
	wanted = make(found->t, i, what);
	cr_assert_eq(e->kind, wanted.kind);
	cr_assert_eq(e->end, wanted.end);
	cr_assert_eq(e->tid, wanted.tid);
	expect[what](e, &wanted);
	found->count[what][i]++;
	return 0;
}

/* Every event of the file is what it was. */
static struct gt_events read_file(struct trace *t, const char *path, struct found *ret_found)
{
	struct gt_events events = {
		.take_metadata = take_metadata, .take_event = take_event, .data = ret_found};

	if (form == &pftrace)
		events.take_track = take_track;
	*ret_found = (struct found){.t = t};
	cr_assert_eq(gt_events_init(&events), 0);
	cr_assert_eq(form->read(&events, path), 0, "%s", events.error);
	cr_assert_eq(events.strange, 0);
	return events;
}

static void put_file(const char *path, const char *data, size_t size)
{
	FILE *file = fopen(path, "wb");

	cr_assert_eq(fwrite(data, 1, size, file), size);
	fclose(file);
}

static char *get_file(const char *path, size_t *ret_size)
{
	char *data = calloc(1, 1 << 20);
	FILE *file = fopen(path, "rb");

	*ret_size = fread(data, 1, 1 << 20, file);
	fclose(file);
	return data;
}

/* As gputrace repair does it: what was closed but for its first block is closed without. */
static void repair(const char *path, const char *recovered, struct gt_join *ret_join)
{
	struct gt_torn torn;
	struct gt_close closed;

	if (form == &json)
		cr_assert_eq(PINNED(path, gt_torn_rebuild(&pin, recovered, &torn)), 0, "%s",
			     torn.error);
	cr_assert_eq(PINNED(path, gt_join(&pin, recovered, "/dev/shm/it", ret_join)), 0, "%s",
		     ret_join->error);
	if (form == &json && ret_join->was_closed)
		cr_assert_eq(PINNED(path, gt_close_file(&pin, &closed)), 0, "%s", closed.error);
}

static void expect_good(const char *path)
{
	struct gt_verify_options options = {.lines_per_check = 10};
	struct gt_verify_result result;
	char *found = NULL;
	size_t size;
	FILE *out;

	out = open_memstream(&found, &size);
	cr_assert_eq(gt_verify_file(path, &options, out, &result), 0);
	fclose(out);
	cr_assert_eq(result.findings, 0, "%s", found);
	free(found);
}

/* The events before the cut, and all recovered ones. */
static void expect_whole(struct trace *t, const char *path, const struct gt_join *joined)
{
	struct found found;
	struct gt_events events = read_file(t, path, &found);
	unsigned int count = 0;

	for (unsigned int what = 0; what < WHATS; what++)
		for (uint32_t i = 0; i < ALL; i++) {
			cr_assert_leq(found.count[what][i], 1);
			cr_assert(found.count[what][i] || i < FIRST, "%u of kind %u", i, what);
			count += found.count[what][i];
		}
	cr_assert(events.closed);
	cr_assert(events.metadata.repaired.done);
	cr_assert_eq(events.metadata.repaired.calls, joined->calls);
	cr_assert_str_eq(events.metadata.spool, "");
	cr_assert_eq(events.metadata.repaired.in_flight, 2);
	cr_assert_geq(count + (form == &json ? events.names + 2 * events.flows : 0),
		      joined->events);
	if (form == &pftrace)
		cr_assert_eq(found.counters, 3); /* of each device, of the process */
	cr_assert_eq(events.ledger.count[GT_LEDGER_CALLS_WRITTEN] +
			     events.ledger.count[GT_LEDGER_KERNELS_WRITTEN] +
			     events.ledger.count[GT_LEDGER_COUNTERS_WRITTEN] +
			     events.ledger.count[GT_LEDGER_RANGES_WRITTEN],
		     count);
	cr_assert_eq(events.ledger.count[GT_LEDGER_FLOWS_WRITTEN],
		     events.ledger.count[GT_LEDGER_KERNELS_WRITTEN]);
	cr_assert_eq(events.ledger.count[GT_LEDGER_CALLS_SEEN], ALL);
	cr_assert_eq(events.ledger.count[GT_LEDGER_STACKS_WRITTEN], 2);
	gt_events_fini(&events);
}

static void cut_at_any_byte(const char *name)
{
	struct gt_join joined;
	struct trace t;
	char *path, *recovered, *data, *whole, *again;
	size_t size, whole_size, again_size;

	trace_prepare(&t);
	make_stacks(&t);
	path = write_file(&t, name, 0, WRITTEN, false);
	recovered = write_file(&t, "recovered", FIRST, ALL, true);
	data = get_file(path, &size);
	for (size_t cut = 0; cut <= size;
	     cut = cut < size && cut + STEP > size ? size : cut + STEP) {
		put_file(path, data, cut);
		cr_assert_eq(gt_join_is_pftrace(path, path), form == &pftrace);
		repair(path, recovered, &joined);
		cr_assert(!joined.was_closed);
		expect_whole(&t, path, &joined);
		if (cut % (STEP * 16) == 0)
			expect_good(path);
		whole = get_file(path, &whole_size);
		repair(path, recovered, &joined);
		cr_assert(joined.was_closed);
		again = get_file(path, &again_size);
		cr_assert(whole_size == again_size && !memcmp(whole, again, again_size));
		free(whole);
		free(again);
	}
	/* and what an interrupted one left is gone on with: it closes the first block last */
	whole = get_file(path, &whole_size);
	if (form == &json)
		memcpy(whole, data, 16384);
	for (size_t cut = size; cut < whole_size; cut += STEP) {
		put_file(path, whole, cut);
		repair(path, recovered, &joined);
		if (!joined.was_closed)
			expect_whole(&t, path, &joined);
		expect_good(path);
	}
	free(whole);
	free(data);
	free(path);
	free(recovered);
	end(&t);
}

Test(join, pftrace_cut_at_any_byte)
{
	form = &pftrace;
	cut_at_any_byte("cut");
}

Test(join, json_cut_at_any_byte)
{
	form = &json;
	cut_at_any_byte("rank0_n3_4100.1782967788123");
}

/* The shadow of one more range around the same work, and one more operation without times. */
static void put_alike(struct trace *t, struct gt_writer *w, uint32_t i)
{
	struct gt_event shadow = {.kind = GT_EVENT_RANGE, .start = AT_OF(1), .end = AT_OF(2)};
	struct gt_event note = {.kind = GT_EVENT_NOTE, .start = AT_OF(1), .end = AT_OF(1)};

	shadow.place = (struct gt_place){.context = 1, .stream = 7};
	shadow.range = (struct gt_range_event){
		.name = trace_string(t, names[i]), .id = i + 1, .on_gpu = true};
	note.note = (struct gt_note_event){.name = "kernel (untimed)", .count = 1};
	cr_assert_eq(w->ops->event(w, &shadow), 0);
	cr_assert_eq(w->ops->event(w, &note), 0);
}

static void has_all_that_look_alike(void)
{
	struct gt_join joined;
	struct gt_events events;
	struct trace t;
	char *path, *recovered;

	trace_prepare(&t);
	make_stacks(&t);
	path = write_with(&t, "cut", 0, 1, false, put_alike);
	recovered = write_with(&t, "recovered", 0, 3, true, put_alike);
	repair(path, recovered, &joined);
	expect_good(path);
	events = (struct gt_events){.take_metadata = take_metadata, .take_event = take_any};
	cr_assert_eq(gt_events_init(&events), 0);
	cr_assert_eq(form->read(&events, path), 0, "%s", events.error);
	cr_assert_eq(events.ledger.count[GT_LEDGER_SHADOWS_WRITTEN], 3);
	cr_assert_eq(events.ledger.count[GT_LEDGER_NOTES_WRITTEN], 3);
	cr_assert_eq(events.count, 6);
	gt_events_fini(&events);
	free(path);
	free(recovered);
	end(&t);
}

Test(join, pftrace_has_all_that_look_alike)
{
	form = &pftrace;
	has_all_that_look_alike();
}

Test(join, json_has_all_that_look_alike)
{
	form = &json;
	has_all_that_look_alike();
}

/* A kernel that runs on, and one on the same stream that begins inside it. */
static void put_overlapping(struct trace *t, struct gt_writer *w, uint32_t i)
{
	struct gt_event e = make(t, 0, KERNEL);

	e.correlation = i + 1;
	e.launch.known = false;
	e.start = AT_OF(i);
	e.end = AT_OF(i) + (i ? 1500 : 100);
	cr_assert_eq(w->ops->event(w, &e), 0);
}

/* The file's last slice began before the first recovered event, and ends inside it: verify finds no
 * track with slices that overlap. */
Test(join, json_gives_what_overlaps_another_track)
{
	struct gt_join joined;
	struct trace t;
	char *path, *recovered;

	form = &json;
	trace_prepare(&t);
	make_stacks(&t);
	path = write_with(&t, "cut", 0, 2, false, put_overlapping);
	recovered = write_with(&t, "recovered", 2, 4, true, put_overlapping);
	repair(path, recovered, &joined);
	cr_assert_eq(joined.operations, 2);
	expect_good(path);
	free(path);
	free(recovered);
	end(&t);
}

/* Work whose call is in an earlier file of the process. */
static void put_late(struct trace *t, struct gt_writer *w, uint32_t i)
{
	struct gt_event e = make(t, i, KERNEL);

	cr_assert_eq(w->ops->event(w, &e), 0);
}

Test(join, json_keeps_the_stack_of_a_call_in_an_earlier_file)
{
	struct gt_join joined;
	struct trace t;
	char *path, *recovered, *text, *first;
	size_t size;

	form = &json;
	trace_prepare(&t);
	make_stacks(&t);
	t.metadata.segment[GT_SEGMENT_NUMBER] = 2;
	t.metadata.segment[GT_SEGMENT_BORDER] = 100;
	path = write_with(&t, "cut.part2", 0, 1, false, put_late);
	t.metadata.segment[GT_SEGMENT_BORDER] = 0; /* the spool does not know it */
	recovered = write_with(&t, "recovered", 0, 2, true, put_late);
	repair(path, recovered, &joined);
	cr_assert_eq(joined.operations, 1);
	expect_good(path);
	text = get_file(path, &size);
	first = strstr(text, "\"launched by\"");
	cr_assert(first && strstr(first + 1, "\"launched by\""));
	free(text);
	free(path);
	free(recovered);
	end(&t);
}

static void leaves(const char *data, size_t size)
{
	struct gt_join joined;
	struct trace t;
	char *path, *recovered, *now;
	size_t now_size;

	trace_prepare(&t);
	make_stacks(&t);
	path = write_file(&t, "damaged", 0, 1, false);
	recovered = write_file(&t, "recovered", 0, 2, true);
	put_file(path, data, size);
	cr_assert_lt(PINNED(path, gt_join(&pin, recovered, "/dev/shm/it", &joined)), 0);
	cr_assert(strstr(joined.error, path));
	now = get_file(path, &now_size);
	cr_assert(now_size == size && !memcmp(now, data, size));
	free(now);
	free(path);
	free(recovered);
	end(&t);
}

/* First all calls, then the work, which had come when they were forgotten: no flow leads to it. */
static void put_work_without_flows(struct trace *t, struct gt_writer *w, uint32_t what)
{
	for (uint32_t i = 0; i < WRITTEN; i++) {
		struct gt_event e = make(t, i, what);

		if (what == KERNEL)
			e.launch = (struct gt_launch){0};
		cr_assert_eq(w->ops->event(w, &e), 0);
	}
}

Test(join, json_keeps_work_without_flows)
{
	struct gt_events events;
	struct gt_join joined;
	struct found found;
	struct trace t;
	char *path, *recovered;

	form = &json;
	trace_prepare(&t);
	make_stacks(&t);
	path = write_with(&t, "cut", CALL, KERNEL + 1, false, put_work_without_flows);
	recovered = write_file(&t, "recovered", WRITTEN, ALL, true);
	repair(path, recovered, &joined);
	cr_assert_eq(joined.cut, 0, "%lu bytes", (unsigned long)joined.cut);
	events = read_file(&t, path, &found);
	gt_events_fini(&events);
	for (uint32_t i = 0; i < ALL; i++)
		cr_assert_eq(found.count[KERNEL][i], 1, "%u", i);
	free(path);
	free(recovered);
	end(&t);
}

Test(join, leaves_what_it_cannot_read)
{
	static const char other[] = "\n\x05 this is no packet", foreign[] = "[{\"ph\": \"X\"}\n";

	form = &pftrace;
	leaves(other, sizeof(other));
	form = &json;
	leaves(foreign, sizeof(foreign) - 1);
}

Test(join, without_spool_nothing_is_known_of_an_empty_file)
{
	struct gt_join joined;
	struct trace t;
	char *path;

	form = &pftrace;
	trace_prepare(&t);
	make_stacks(&t);
	path = write_file(&t, "empty", 0, 1, false);
	put_file(path, "", 0);
	cr_assert_eq(PINNED(path, gt_join_without_spool(&pin, false, &joined)), -ENODATA);
	free(path);
	end(&t);
}

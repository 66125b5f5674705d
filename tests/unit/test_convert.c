/* SPDX-License-Identifier: Apache-2.0
 *
 * Compares the two writers event by event: the same events are written as JSON, and as a .pftrace
 * that is read back and written as JSON. Both files must be equal byte by byte except for their
 * end. Also the other way: JSON to .pftrace to JSON. Events are random, of all kinds. The analysis
 * reads both as the same model.
 */
#include "readers/events.h"
#include "tests/unit/model_compare.h"
#include "tests/unit/random_event.h"
#include "tests/unit/trace_fixture.h"

#define EVENTS 3000u

struct side { /* a file that is being written */
	struct gt_sink *sink;
	struct gt_writer *writer;
	struct gt_ledger ledger;
};

static void side_open_with(struct side *side, struct trace *t, const char *format, const char *name,
			   const struct gt_metadata *metadata,
			   const struct gt_writer_options *options)
{
	struct gt_sink_options sink = {.directory = t->folder, .fallback = t->folder, .name = name};
	int error = 0;

	memset(side, 0, sizeof(*side));
	side->writer = gt_writer_new(format);
	cr_assert_not_null(side->writer);
	sink.suffix = side->writer->ops->suffix;
	side->sink = gt_sink_open(&sink, &error);
	cr_assert_not_null(side->sink, "error %d", error);
	cr_assert_eq(side->writer->ops->open(side->writer, side->sink, metadata, options), 0);
}

static void side_open(struct side *side, struct trace *t, const char *format, const char *name,
		      const struct gt_metadata *metadata)
{
	struct gt_writer_options options = {.sync_tracks = true};

	side_open_with(side, t, format, name, metadata, &options);
}

static void side_close(struct side *side, const struct gt_metadata *metadata)
{
	cr_assert_eq(side->writer->ops->close(side->writer, metadata, &side->ledger), 0);
	side->writer->ops->fini(side->writer);
	gt_writer_free(side->writer);
}

/* ---- the comparison ---- */

static int take_metadata(const struct gt_metadata *metadata, void *data)
{
	return 0;
}

static int take_event(const struct gt_event *event, void *data)
{
	struct side *side = data;

	return side->writer->ops->event(side->writer, event);
}

static char *slurp(const char *path)
{
	FILE *file = fopen(path, "r");
	static const size_t room = (size_t)32 << 20;
	char *text = calloc(1, room);

	cr_assert_not_null(file);
	cr_assert_not_null(text);
	cr_assert_lt(fread(text, 1, room - 1, file), room - 1);
	fclose(file);
	return text;
}

/* Reads @from and writes its events as @format; returns the path, which the caller frees. */
static char *again(struct trace *t, const char *from, bool is_json, const char *format,
		   const char *name)
{
	struct side side;
	struct gt_events events = {
		.take_metadata = take_metadata, .take_event = take_event, .data = &side};
	char *path;

	cr_assert_eq(gt_events_init(&events), 0);
	side_open(&side, t, format, name, &t->metadata);
	if (is_json)
		cr_assert_eq(gt_events_read_json(&events, from), 0, "%s", events.error);
	else
		cr_assert_eq(gt_events_read_pftrace(&events, from), 0, "%s", events.error);
	cr_assert_eq(events.strange, 0);
	cr_assert(events.closed);
	cr_assert_eq(events.metadata.pid, t->metadata.pid);
	cr_assert_eq(events.metadata.start, t->metadata.start);
	cr_assert_str_eq(events.metadata.host, t->metadata.host);
	cr_assert_eq(events.metadata.devices[0].shared_per_sm,
		     t->metadata.devices[0].shared_per_sm);
	side_close(&side, &t->metadata);
	path = strdup(gt_sink_path(side.sink));
	gt_sink_close(side.sink);
	gt_events_fini(&events);
	return path;
}

/* The same lines up to the ledger, which holds sizes and the name. */
static void expect_same(const char *path, const char *other)
{
	char *a = slurp(path), *b = slurp(other), *x = a, *y = b;
	size_t line = 0;

	for (; *x && *x != ']'; line++) {
		size_t n = strcspn(x, "\n"), m = strcspn(y, "\n");

		cr_assert(n == m && !memcmp(x, y, n), "line %zu:\n%.*s\n%.*s", line, (int)n, x,
			  (int)m, y);
		x += n + 1;
		y += m + 1;
	}
	cr_assert_gt(line, EVENTS);
	free(a);
	free(b);
}

/* A file of each form with the same events. */
struct both {
	struct trace t;
	struct side json, pf;
};

static void begin_both(struct both *both)
{
	struct trace *t = &both->t;

	trace_prepare(t);
	frames[0] = (struct gt_stack_frame){.kind = GT_FRAME_PYTHON,
					    .function = trace_string(t, "Net.forward"),
					    .file = trace_string(t, "/opt/app/net.py"),
					    .line = 7};
	frames[1] = (struct gt_stack_frame){.function = trace_string(t, "run(int (*)(char))"),
					    .module = trace_string(t, "/opt/app/train"),
					    .build_id = trace_string(t, "abcdef0123"),
					    .offset = 0x1a2b};
	frames[2] = (struct gt_stack_frame){.module = trace_string(t, "/opt/app/lib c++.so"),
					    .offset = 5};
	frames[3] = (struct gt_stack_frame){.kind = GT_FRAME_JIT, .offset = 0x7f12};
	stacks[0] = trace_stack(1, frames, 4);
	stacks[1] = trace_stack(2, frames, 2);
	stacks[2] = trace_stack(3, frames + 1, 3);
	side_open(&both->json, t, "chrome", "direct", &t->metadata);
	side_open(&both->pf, t, "perfetto", "native", &t->metadata);
}

static void put_both(struct both *both, const struct gt_event *e)
{
	cr_assert_eq(both->json.writer->ops->event(both->json.writer, e), 0);
	cr_assert_eq(both->pf.writer->ops->event(both->pf.writer, e), 0);
}

static void compare_both(struct both *both)
{
	const char *json = gt_sink_path(both->json.sink), *pf = gt_sink_path(both->pf.sink);
	char *from_pf, *back, *back_json;

	expect_same_models((char *)json, (char *)pf);
	from_pf = again(&both->t, pf, false, "chrome", "from_pf");
	expect_same(json, from_pf);
	back = again(&both->t, from_pf, true, "perfetto", "back");
	back_json = again(&both->t, back, false, "chrome", "back_json");
	expect_same(from_pf, back_json);
	free(from_pf);
	free(back);
	free(back_json);
}

static void close_both(struct both *both)
{
	side_close(&both->json, &both->t.metadata);
	side_close(&both->pf, &both->t.metadata);
	for (int i = 0; i < GT_LEDGER_COUNT_; i++)
		if (i != GT_LEDGER_BYTES_WRITTEN && i != GT_LEDGER_FLOWS_WRITTEN &&
		    i != GT_LEDGER_NAMES_WRITTEN) /* JSON's alone */
			cr_assert_eq(both->json.ledger.count[i], both->pf.ledger.count[i], "%s",
				     gt_ledger_rows[i].json);
}

static void free_both(struct both *both)
{
	gt_sink_close(both->json.sink);
	gt_sink_close(both->pf.sink);
	for (int i = 0; i < 3; i++)
		free(stacks[i]);
	both->t.writer = NULL;
	both->t.sink = NULL;
	trace_end(&both->t);
}

static void end_both(struct both *both)
{
	close_both(both);
	compare_both(both);
	free_both(both);
}

static void expect_the_same_of_both(void)
{
	static struct gt_launch launches[EVENTS + 1];
	uint32_t count = 0;
	struct both both;

	begin_both(&both);
	for (uint32_t i = 0; i < EVENTS; i++) {
		struct gt_event e = any(3) ? any_event(&both.t, i, launches, &count)
					   : any_call(&both.t, i, launches, &count);

		put_both(&both, &e);
	}
	end_both(&both);
}

/* Among them: calls of libraries on rows of ranges, work whose forward stack is that of its
 * creation. */
Test(convert, both_writers_tell_the_same)
{
	static const uint32_t seeds[] = {12345, 2, 3, 6, 7, 78, 228};

	for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++) {
		seed = seeds[i];
		expect_the_same_of_both();
	}
}

/* Of any kind, alone at the ends of a trace. */
Test(convert, whatever_begins_and_ends_a_trace_does_in_both)
{
	struct gt_launch launches[2];

	for (seed = 1; seed <= 200; seed++) {
		uint32_t first_seed = seed, count = 0;
		struct gt_event e;
		struct both both;

		begin_both(&both);
		e = any_event(&both.t, 0, launches, &count);
		put_both(&both, &e);
		e = any_call(&both.t, 1000, launches, &count);
		put_both(&both, &e);
		e = any_event(&both.t, 2000, launches, &count);
		put_both(&both, &e);
		close_both(&both);
		expect_same_models((char *)gt_sink_path(both.json.sink),
				   (char *)gt_sink_path(both.pf.sink));
		free_both(&both);
		seed = first_seed;
	}
}

/* Where the words of the event are in which work may differ from its like, and how many. */
static size_t words_of(enum gt_event_kind kind, size_t *ret_count)
{
	size_t begin = offsetof(struct gt_event, memory), end = begin;

	if (kind == GT_EVENT_KERNEL) {
		begin = offsetof(struct gt_event, kernel.grid);
		end = offsetof(struct gt_event, kernel.library);
	} else if (kind == GT_EVENT_MEMCPY || kind == GT_EVENT_MEMSET) {
		end += sizeof(struct gt_memory_event);
	} else if (kind == GT_EVENT_GRAPH) {
		end += sizeof(struct gt_graph_event);
	}
	*ret_count = (end - begin) / sizeof(uint64_t);
	return begin;
}

#define ALIKE_AT(i) AT(1000000 + (i)*1000ull)

/* By time: limits are in .pftrace files alone. */
static uint16_t limits_at[2 * EVENTS + 100];

static int take_limits(const struct gt_event *event, void *data)
{
	uint64_t i = (event->start - ALIKE_AT(0)) / 1000;

	if (event->kind == GT_EVENT_KERNEL)
		cr_assert_eq(event->kernel.resident_blocks, limits_at[i], "%u",
			     event->kernel.resident_blocks);
	return 0;
}

static void check_limits(const char *path)
{
	struct gt_events events = {.take_metadata = take_metadata, .take_event = take_limits};

	cr_assert_eq(gt_events_init(&events), 0);
	cr_assert_eq(gt_events_read_pftrace(&events, path), 0, "%s", events.error);
	gt_events_fini(&events);
}

/* Work after its like, from which it differs in one word: no argument is of another one. */
Test(convert, alike_is_not_the_same)
{
	static struct gt_launch launches[EVENTS + 1];
	uint32_t count = 0, events = 0;
	struct both both;

	begin_both(&both);
	while (events < 2 * EVENTS) {
		struct gt_event e = any_event(&both.t, events, launches, &count);
		struct gt_event other = any_event(&both.t, events, launches, &count);
		size_t words, at = words_of(e.kind, &words);

		for (size_t i = 0; other.kind == e.kind && i < words; i++) {
			struct gt_event alike = e;

			memcpy((char *)&alike + at + i * sizeof(uint64_t),
			       (char *)&other + at + i * sizeof(uint64_t), sizeof(uint64_t));
			alike.start = ALIKE_AT(++events);
			alike.end = alike.start + 500;
			if (alike.kind == GT_EVENT_KERNEL)
				limits_at[events] = alike.kernel.resident_blocks;
			put_both(&both, &alike);
		}
	}
	both.pf.writer->ops->flush(both.pf.writer, UINT64_MAX);
	check_limits(gt_sink_path(both.pf.sink));
	end_both(&both);
}

/* Frames are written once in a JSON file: on a mark, a graph node or a call. */
Test(convert, frames_are_known_wherever_they_stand)
{
	struct trace t;
	struct side json, pf;
	struct gt_event mark = {.kind = GT_EVENT_MARK, .tid = 4100};
	struct gt_event node = {.kind = GT_EVENT_KERNEL, .start = AT(2000), .end = AT(3000)};
	struct gt_event call = {.kind = GT_EVENT_API, .tid = 4100, .correlation = 1};
	struct gt_event range = {.kind = GT_EVENT_RANGE, .tid = 4100};
	const struct gt_event *events[] = {&mark, &node, &range, &call};

	trace_prepare(&t);
	for (int i = 0; i < 2; i++)
		frames[i] =
			(struct gt_stack_frame){.function = trace_string(&t, i ? "main" : "launch"),
						.module = trace_string(&t, "/opt/app/train")};
	stacks[0] = trace_stack(1, frames, 2);
	stacks[1] = trace_stack(2, frames + 1, 1);
	mark.range.name = range.range.name = node.kernel.name = trace_string(&t, "x");
	call.api.name = trace_string(&t, "cudaLaunchKernel");
	mark.start = mark.end = AT(1000);
	range.start = call.start = AT(10000000);
	range.end = call.end = AT(10000900);
	mark.stack = range.stack = stacks[0];
	node.kernel.created = call.stack = stacks[1];
	side_open(&json, &t, "chrome", "direct", &t.metadata);
	side_open(&pf, &t, "perfetto", "native", &t.metadata);
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		cr_assert_eq(json.writer->ops->event(json.writer, events[i]), 0);
		cr_assert_eq(pf.writer->ops->event(pf.writer, events[i]), 0);
		json.writer->ops->flush(json.writer, UINT64_MAX);
	}
	side_close(&json, &t.metadata);
	side_close(&pf, &t.metadata);
	expect_same_models((char *)gt_sink_path(json.sink), (char *)gt_sink_path(pf.sink));
	gt_sink_close(json.sink);
	gt_sink_close(pf.sink);
	free(stacks[0]);
	free(stacks[1]);
	t.writer = NULL;
	t.sink = NULL;
	trace_end(&t);
}

#define NODES   20000u /* more than there are kinds of work that a file remembers */
#define REPLAYS 10u

static int take_node(const struct gt_event *event, void *data)
{
	uint32_t *found = data;

	if (event->kind != GT_EVENT_KERNEL)
		return 0;
	cr_assert_eq(event->kernel.graph_node_id, (1ull << 32) + *found % NODES);
	cr_assert_eq(event->kernel.registers, 16);
	(*found)++;
	return 0;
}

/* Each slice of a large graph would bring a kind of its own, until the numbers of them run out. */
Test(convert, nodes_of_large_graphs_share_kinds)
{
	struct gt_events events = {.take_metadata = take_metadata, .take_event = take_node};
	uint32_t found = 0;
	struct stat st;
	struct side pf;
	struct trace t;

	trace_prepare(&t);
	side_open(&pf, &t, "perfetto", "graph", &t.metadata);
	for (uint32_t i = 0; i < NODES * REPLAYS; i++) {
		struct gt_event e = {.kind = GT_EVENT_KERNEL,
				     .start = AT(1000000 + i * 1000ull),
				     .end = AT(1000500 + i * 1000ull),
				     .correlation = 1 + i / NODES,
				     .place = {.context = 1, .stream = 7}};

		e.kernel = (struct gt_kernel_event){.name = trace_string(&t, "k"),
						    .grid = {1, 1, 1},
						    .block = {32, 1, 1},
						    .registers = 16,
						    .graph_id = 1,
						    .graph_node_id = (1ull << 32) + i % NODES};
		cr_assert_eq(pf.writer->ops->event(pf.writer, &e), 0);
	}
	side_close(&pf, &t.metadata);
	cr_assert_eq(stat(gt_sink_path(pf.sink), &st), 0);
	cr_assert_lt((uint64_t)st.st_size, 55ull * NODES * REPLAYS, "%ld", (long)st.st_size);
	events.data = &found;
	cr_assert_eq(gt_events_init(&events), 0);
	cr_assert_eq(gt_events_read_pftrace(&events, gt_sink_path(pf.sink)), 0, "%s", events.error);
	cr_assert_eq(found, NODES * REPLAYS);
	gt_events_fini(&events);
	gt_sink_close(pf.sink);
	t.sink = NULL;
	t.writer = NULL;
	trace_end(&t);
}

/* One for each call of the file whose work is in it, as the other form has them. */
Test(convert, flows_are_counted_as_in_json)
{
	static const struct {
		enum gt_event_kind kind;
		uint32_t correlation;
		bool first;
	} rows[] = {{GT_EVENT_KERNEL, 5, true},
		    {GT_EVENT_KERNEL, 11, true},
		    {GT_EVENT_KERNEL, 11, false},
		    {GT_EVENT_SYNC, 12, true}};
	static const char *const formats[] = {"chrome", "perfetto"};
	struct gt_writer_options options = {.sync_tracks = true, .border = 10};
	struct trace t;

	trace_prepare(&t);
	for (size_t i = 0; i < 4; i++) {
		struct side side;

		options.few_details = i > 1;
		side_open_with(&side, &t, formats[i % 2], "arrows", &t.metadata, &options);
		for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
			struct gt_event e = {
				.kind = rows[k].kind,
				.start = AT(1000000 + k * 1000),
				.end = AT(1000500 + k * 1000),
				.correlation = rows[k].correlation,
				.launch = {.known = true, .start = AT(1), .first = rows[k].first}};

			if (e.kind == GT_EVENT_KERNEL)
				e.kernel.name = trace_string(&t, "k");
			cr_assert_eq(side.writer->ops->event(side.writer, &e), 0);
		}
		side_close(&side, &t.metadata);
		cr_assert_eq(side.ledger.count[GT_LEDGER_FLOWS_WRITTEN], i < 2, "%s, %zu",
			     formats[i % 2], i);
		gt_sink_close(side.sink);
	}
	t.sink = NULL;
	t.writer = NULL;
	trace_end(&t);
}

/* What Perfetto looks symbols up by. */
Test(convert, build_ids_are_bytes)
{
	struct gt_event e = {.kind = GT_EVENT_API, .tid = 4100, .start = AT(1), .end = AT(2)};
	struct gt_stack_frame frame = {.offset = 16};
	struct side pf;
	struct trace t;
	struct stat st;
	char *text;

	trace_prepare(&t);
	frame.module = trace_string(&t, "/opt/app/train");
	frame.build_id = trace_string(&t, "abcdef0123");
	e.stack = stacks[0] = trace_stack(1, &frame, 1);
	e.api.name = trace_string(&t, "cudaFree");
	side_open(&pf, &t, "perfetto", "ids", &t.metadata);
	cr_assert_eq(pf.writer->ops->event(pf.writer, &e), 0);
	side_close(&pf, &t.metadata);
	cr_assert_eq(stat(gt_sink_path(pf.sink), &st), 0);
	text = slurp(gt_sink_path(pf.sink));
	cr_assert_not_null(memmem(text, (size_t)st.st_size, "\xab\xcd\xef\x01\x23", 5));
	cr_assert_null(memmem(text, (size_t)st.st_size, "abcdef", 6));
	free(text);
	free(stacks[0]);
	gt_sink_close(pf.sink);
	t.sink = NULL;
	t.writer = NULL;
	trace_end(&t);
}

static uint32_t count_bytes(const char *text, size_t size, const char *bytes)
{
	const char *at = text;
	uint32_t count = 0;

	while ((at = memmem(at, size - (size_t)(at - text), bytes, strlen(bytes)))) {
		count++;
		at++;
	}
	return count;
}

/* A string of Perfetto's is UTF-8: one that is not costs the packet that it stands in. */
Test(convert, all_text_is_utf8)
{
	static const char broken[] = "not \xff it";
	struct gt_event thread = {.kind = GT_EVENT_THREAD, .tid = 4100},
			counter = {.kind = GT_EVENT_COUNTER, .tid = 4100},
			range = {.kind = GT_EVENT_RANGE, .tid = 4100}, shadow;
	const struct gt_event *events[] = {&thread, &counter, &range, &shadow};
	struct side pf;
	struct trace t;
	struct stat st;
	char *text;

	trace_prepare(&t);
	strcpy(t.metadata.process, broken);
	thread.thread.name = trace_string(&t, broken);
	counter.counter = (struct gt_counter_event){.name = trace_string(&t, broken),
						    .series = trace_string(&t, broken)};
	range.range.name = trace_string(&t, "name");
	strcpy(range.range.payload, broken);
	shadow = range;
	shadow.range.on_gpu = true;
	side_open(&pf, &t, "perfetto", "texts", &t.metadata);
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		struct gt_event e = *events[i];

		e.start = e.end = AT(1000 + i);
		cr_assert_eq(pf.writer->ops->event(pf.writer, &e), 0);
	}
	side_close(&pf, &t.metadata);
	cr_assert_eq(stat(gt_sink_path(pf.sink), &st), 0);
	text = slurp(gt_sink_path(pf.sink));
	cr_assert_eq(count_bytes(text, (size_t)st.st_size, broken), 0);
	/* the facts at both ends, process, thread, counter with its series alone, payloads */
	cr_assert_eq(count_bytes(text, (size_t)st.st_size, "not \xef\xbf\xbd it"), 9);
	free(text);
	gt_sink_close(pf.sink);
	t.sink = NULL;
	t.writer = NULL;
	trace_end(&t);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Joining and routing of events, see the header. Drain thread only.
 */
#include "pipeline/emit.h"

#include <errno.h>
#include <string.h>

#include "core/guest/log.h"
#include "core/guest/memory.h"
#include "pipeline/ranges/ranges.h"
#include "pipeline/session.h"

#define CORRELATE_MAX    (1u << 18)
#define WAITING_FIRST    256u
#define WAITING_MAX      (1u << 16)

/* How long a record waits for its call to return before it is written without. Counted from its
 * arrival: its stamps may be of any time. */
#define UNLINKED_NS      (5ull * 1000000000u)

/* A GPU slice that starts this long before its call means that the clocks disagree. */
#define BEFORE_LAUNCH_NS 1000000u

static bool waiting_push(struct gt_waiting *waiting, const struct gt_event *event)
{
	if (waiting->count == waiting->capacity) {
		size_t capacity = waiting->capacity ? waiting->capacity * 2 : WAITING_FIRST;
		struct gt_waiting_event *events;

		if (capacity > WAITING_MAX)
			return false;
		events = gt_memory_grow(waiting->events, waiting->capacity * sizeof(*events),
					capacity * sizeof(*events));
		if (!events)
			return false;
		waiting->events = events;
		waiting->capacity = capacity;
	}
	waiting->events[waiting->count++] =
		(struct gt_waiting_event){.event = *event, .since = gt_clock_now()};
	return true;
}

static void waiting_free(struct gt_waiting *waiting)
{
	gt_memory_unmap(waiting->events, waiting->capacity * sizeof(*waiting->events));
	*waiting = (struct gt_waiting){0};
}

int gt_emit_init(struct gt_emit *emit, bool has_calls)
{
	*emit = (struct gt_emit){.calls = gt_correlate_new(CORRELATE_MAX), .has_calls = has_calls};
	return emit->calls ? 0 : -ENOMEM;
}

void gt_emit_fini(struct gt_emit *emit)
{
	gt_correlate_free(emit->calls);
	waiting_free(&emit->early);
	waiting_free(&emit->unlinked);
	*emit = (struct gt_emit){0};
}

/* The writer must know a device before the first event on it. */
static void update_metadata(struct gt_session *session)
{
	struct gt_output *output = &session->output;

	if (session->emit.metadata_written == session->metadata.generation)
		return;
	session->emit.metadata_written = session->metadata.generation;
	output->writer->ops->metadata(output->writer, &session->metadata);
}

/* What the writer refuses it counts itself. */
static void write_event(struct gt_session *session, const struct gt_event *event)
{
	struct gt_output *output = &session->output;

	if (!output->writer || output->failed) {
		gt_ledger_add(&session->ledger, GT_LEDGER_EVENTS_LOST_DISK, 1);
		return;
	}
	update_metadata(session);
	gt_output_event(output, event);
}

void gt_emit_open(struct gt_session *session)
{
	struct gt_waiting *early = &session->emit.early;

	if (session->output.writer || session->output.failed)
		return;
	gt_output_open(&session->output, &session->config, &session->metadata, &session->ledger);
	for (size_t i = 0; i < early->count; i++)
		write_event(session, &early->events[i].event);
	waiting_free(early);
}

/* What asks for a file: a process that only looked at the devices leaves none behind. */
static bool needs_file(const struct gt_session *session, const struct gt_event *event)
{
	if (event->kind == GT_EVENT_API)
		return !session->has_cupti || event->api.enqueues;
	return gt_event_is_gpu(event->kind);
}

static void route(struct gt_session *session, const struct gt_event *event)
{
	bool open = session->output.writer || session->output.failed;

	if (event->end > session->emit.newest)
		session->emit.newest = event->end;
	if (!open && needs_file(session, event)) {
		gt_emit_open(session);
		open = true;
	}
	if (open)
		write_event(session, event);
	else if (!waiting_push(&session->emit.early, event))
		gt_ledger_add(&session->ledger, GT_LEDGER_EVENTS_LOST_EARLY, 1);
}

static void count_launch(struct gt_session *session, const struct gt_emit_call *what)
{
	gt_ledger_add(&session->ledger, GT_LEDGER_LAUNCHES_SEEN, 1);
	gt_ledger_add(&session->ledger, GT_LEDGER_LAUNCHES_IN_GAPS, session->coexist.in_gap);
	session->emit.unexpected += what->own_id;
}

/* Kernels that were waited for and have no record are what another tool's taking of CUPTI looks
 * like. */
static void watch_call(struct gt_emit *emit, const struct gt_event *event,
		       const struct gt_emit_call *what)
{
	emit->idle = (emit->idle && !what->expects) || what->waits_for_all;
	emit->launched += what->kernels && what->expects && !what->own_id;
	if (what->kernels && what->expects && !what->own_id && !emit->unanswered)
		emit->unanswered = event->end;
	else if (what->waits && emit->unanswered && event->start >= emit->unanswered &&
		 !emit->waited)
		emit->waited = event->end;
}

static void see_record(struct gt_emit *emit)
{
	emit->unanswered = 0;
	emit->launched = 0;
	emit->waited = 0;
}

void gt_emit_call(struct gt_session *session, const struct gt_event *event,
		  const struct gt_emit_call *what)
{
	struct gt_launch launch = {.tid = event->tid, .start = event->start, .stack = event->stack};
	struct gt_event call = *event;

	if (what->expects)
		count_launch(session, what);
	watch_call(&session->emit, event, what);
	gt_ranges_launch(session, &launch, what->expects);
	if (!what->own_id)
		gt_correlate_put(session->emit.calls, event->correlation, &launch, what->expects,
				 what->many);
	call.api.op = launch.op;
	route(session, &call);
}

static const struct gt_stack *find_origin(struct gt_session *session, uint64_t node)
{
	uint64_t key = session->graph_nodes ? gt_graph_nodes_find(session->graph_nodes, node) : 0;

	return key ? gt_stacks_last(session->stacks, key) : NULL;
}

/* What a graph replays also says where its node was made. */
static void fill_origin(struct gt_session *session, struct gt_event *event)
{
	if (event->kind == GT_EVENT_KERNEL && event->kernel.graph_node_id)
		event->kernel.created = find_origin(session, event->kernel.graph_node_id);
	else if ((event->kind == GT_EVENT_MEMCPY || event->kind == GT_EVENT_MEMSET) &&
		 event->memory.graph_node_id)
		event->memory.created = find_origin(session, event->memory.graph_node_id);
}

static void write_record(struct gt_session *session, struct gt_event *event, bool linked)
{
	if (!gt_event_is_gpu(event->kind)) { /* work without times: when it was launched is known */
		if (linked)
			event->start = event->end = event->launch.start;
		route(session, event);
		return;
	}
	if (!linked)
		gt_ledger_add(&session->ledger, GT_LEDGER_OPS_UNLINKED, 1);
	else if (event->start + BEFORE_LAUNCH_NS < event->launch.start)
		gt_ledger_add(&session->ledger, GT_LEDGER_GPU_BEFORE_LAUNCH, 1);
	fill_origin(session, event);
	if (linked)
		gt_ranges_operation(session, event);
	route(session, event);
}

/* Another tool's id becomes ours, which may be known only when the call has returned. */
static bool join(struct gt_session *session, struct gt_event *event)
{
	event->correlation = gt_coexist_id(session, event->correlation);
	return gt_correlate_take(session->emit.calls, event->correlation, &event->launch);
}

static void fill_device_fact(struct gt_session *session, const struct gt_device_event *device)
{
	struct gt_metadata *metadata = &session->metadata;

	if (device->id >= GT_METADATA_DEVICES)
		return;
	while (metadata->device_count <= device->id)
		metadata->devices[metadata->device_count++].id = UINT32_MAX;
	metadata->devices[device->id] = *device;
	metadata->generation++;
}

/* A record of GPU work; one without usable times is a note. */
static bool is_of_call(const struct gt_event *event)
{
	return gt_event_is_gpu(event->kind) || event->kind == GT_EVENT_NOTE;
}

void gt_emit_event(void *context, const struct gt_event *event)
{
	struct gt_session *session = context;
	struct gt_event record = *event;
	bool linked;

	if (event->kind == GT_EVENT_DEVICE)
		fill_device_fact(session, &event->device);
	if (!is_of_call(event)) {
		route(session, event);
		return;
	}
	see_record(&session->emit);
	linked = join(session, &record);
	if (linked || !event->correlation || !session->emit.has_calls ||
	    !waiting_push(&session->emit.unlinked, event))
		write_record(session, &record, linked);
}

void gt_emit_settle(struct gt_session *session, bool all)
{
	struct gt_waiting *waiting = &session->emit.unlinked;
	uint64_t now = waiting->count ? gt_clock_now() : 0;
	size_t kept = 0;

	for (size_t i = 0; i < waiting->count; i++) {
		struct gt_waiting_event *record = &waiting->events[i];
		bool linked = join(session, &record->event);

		if (linked || all || record->since + UNLINKED_NS < now)
			write_record(session, &record->event, linked);
		else
			waiting->events[kept++] = *record;
	}
	waiting->count = kept;
}

void gt_emit_note(struct gt_session *session, const char *name, const char *what, const char *cause,
		  const char *of_what, uint64_t count)
{
	struct gt_event event = {.kind = GT_EVENT_NOTE};

	event.start = event.end = gt_clock_from_monotonic(&session->clock, gt_clock_now());
	event.note = (struct gt_note_event){
		.name = name, .what = what, .cause = cause, .of_what = of_what, .count = count};
	route(session, &event);
}

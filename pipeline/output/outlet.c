/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "pipeline/output/outlet.h"

#include "core/schema/cuda_api.h"
#include "core/schema/metadata.h"
#include "pipeline/spool/spooled.h"

void gt_outlet_fini(struct gt_outlet *outlet)
{
	gt_waiting_free(&outlet->early);
	*outlet = (struct gt_outlet){0};
}

static bool is_decided(const struct gt_outlet *outlet)
{
	return outlet->output->writer || outlet->output->failed;
}

static __attribute__((noinline)) void lose(struct gt_outlet *outlet, const struct gt_event *event,
					   uint64_t *cause)
{
	enum gt_ledger_key key = gt_ledger_key_of(event);

	*cause += key < GT_LEDGER_COUNT_; /* a name is no event of a file */
	gt_losses_add_kind(&outlet->output->lost, key, 1);
}

static void write_event(struct gt_outlet *outlet, const struct gt_event *event)
{
	if (gt_output_is_open(outlet->output))
		gt_output_event(outlet->output, event);
	else
		lose(outlet, event, &outlet->output->lost.disk);
}

static __attribute__((noinline)) void write_by_gate(struct gt_outlet *outlet, struct gt_event event)
{
	if (outlet->gate->pass(outlet->gate->context, &event))
		write_event(outlet, &event);
}

/* What the writer refuses it counts itself. */
void gt_outlet_write(struct gt_outlet *outlet, const struct gt_event *event)
{
	if (outlet->gate)
		write_by_gate(outlet, *event);
	else
		write_event(outlet, event);
}

void gt_outlet_open(struct gt_outlet *outlet)
{
	struct gt_waiting *early = &outlet->early;

	if (is_decided(outlet) || outlet->recorder)
		return;
	gt_output_open(outlet->output);
	for (size_t i = 0; i < early->count; i++)
		gt_outlet_write(outlet, &early->events[i].event);
	gt_waiting_free(early);
}

/* What asks for a file: a process that only looked at the devices leaves none behind, one that
 * allocated memory does, also if it failed before its first launch. */
static bool needs_file(const struct gt_outlet *outlet, const struct gt_event *event)
{
	const struct gt_cuda_api *api;

	if (event->kind == GT_EVENT_API) {
		api = gt_cuda_api_find(event->api.domain, event->api.cbid);
		return !*outlet->has_cupti || event->api.enqueues ||
		       (api && api->flags & GT_CUDA_DEFAULT);
	}
	if (event->kind == GT_EVENT_RANGE && event->range.is_library)
		return true; /* a rank whose kernels others launch has its messages all the same */
	return gt_event_is_gpu(event->kind);
}

bool gt_outlet_is_outside(const struct gt_outlet *outlet, const struct gt_event *event)
{
	const struct gt_metadata *metadata = outlet->metadata;

	if (event->kind != GT_EVENT_API)
		return event->end < metadata->window_begin ||
		       (metadata->window_end && event->start >= metadata->window_end);
	return event->start < metadata->window_begin ||
	       (metadata->window_end && event->end > metadata->window_end);
}

/* Calls and GPU work are not recorded before the window. */
static bool is_left_out(const struct gt_outlet *outlet, const struct gt_event *event)
{
	static const enum gt_ledger_key keys[GT_EVENT_COUNT_] = {
		[GT_EVENT_RANGE] = GT_LEDGER_RANGES_OUTSIDE,
		[GT_EVENT_MARK] = GT_LEDGER_RANGES_OUTSIDE,
		[GT_EVENT_SAMPLE] = GT_LEDGER_SAMPLES_OUTSIDE,
	};

	if (!keys[event->kind] || !gt_outlet_is_outside(outlet, event))
		return false;
	gt_ledger_add(outlet->ledger, keys[event->kind], 1);
	return true;
}

bool gt_outlet_filter(struct gt_outlet *outlet, const struct gt_event *event)
{
	if (!gt_filters_leave_out(outlet->filters, event))
		return false;
	if (needs_file(outlet, event))
		gt_outlet_open(outlet);
	return true;
}

/* Each file has the names. */
static __attribute__((noinline)) void keep_event(struct gt_outlet *outlet,
						 const struct gt_event *event)
{
	if (event->kind == GT_EVENT_THREAD || event->kind == GT_EVENT_STREAM) {
		gt_segments_see(&outlet->output->segments, event);
		gt_recorder_name(outlet->recorder, event);
	} else if (!gt_recorder_keep(outlet->recorder, event)) {
		lose(outlet, event, &outlet->output->lost.memory);
	}
}

/* Until there is a file, or none can be. */
static __attribute__((noinline)) void take_early(struct gt_outlet *outlet,
						 const struct gt_event *event)
{
	if (needs_file(outlet, event))
		gt_outlet_open(outlet);
	if (is_decided(outlet))
		gt_outlet_write(outlet, event);
	else if (!gt_waiting_push(&outlet->early, event))
		lose(outlet, event, &outlet->output->lost.early);
}

void gt_outlet_event(struct gt_outlet *outlet, const struct gt_event *event)
{
	if (is_left_out(outlet, event))
		return;
	if (outlet->filters)
		gt_filters_see(outlet->filters, event);
	if (event->end > outlet->newest)
		outlet->newest = event->end;
	if (outlet->recorder)
		keep_event(outlet, event);
	else if (is_decided(outlet))
		gt_outlet_write(outlet, event);
	else
		take_early(outlet, event);
}

void gt_outlet_note(struct gt_outlet *outlet, const struct gt_note_event *note)
{
	struct gt_event event = {.kind = GT_EVENT_NOTE};

	event.start = event.end = gt_clock_from_monotonic(outlet->clock, gt_clock_now());
	event.note = *note;
	gt_outlet_event(outlet, &event);
}

void gt_outlet_flush(struct gt_outlet *outlet, bool everything)
{
	uint64_t now = gt_clock_from_monotonic(outlet->clock, gt_clock_now());

	if (gt_output_is_open(outlet->output))
		gt_output_flush(outlet->output,
				everything ? UINT64_MAX : now - GT_SPOOLED_SETTLE_NS);
}

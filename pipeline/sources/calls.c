/* SPDX-License-Identifier: Apache-2.0
 *
 * Call records -> API events, see the header.
 */
#include "pipeline/sources/calls.h"

#include <string.h>

#include "collectors/call/call.h"
#include "collectors/cupti/cupti.h"
#include "core/config.h"
#include "core/guest/clock.h"
#include "core/guest/text.h"
#include "core/intern.h"
#include "pipeline/join/join.h"
#include "pipeline/output/outlet.h"
#include "pipeline/sources/collector.h"
#include "pipeline/sources/holdings.h"
#include "pipeline/sources/stack_lane.h"
#include "pipeline/sources/stacks.h"
#include "pipeline/sources/stores.h"
#include "pipeline/sources/thread_names.h"

#define LANES_MAX ((size_t)16 << 20) /* bytes of --max-rss, see gt_stores_share */

/* The name without the version that CUPTI puts behind it: "cudaFoo_v12000" -> "cudaFoo"; short
 * versions like _v2 belong to the name (Kineto's rule). */
static const struct gt_string *strip_version(struct gt_intern *strings, const char *name)
{
	const char *version = NULL;

	for (const char *p = strstr(name, "_v"); p; p = strstr(p + 2, "_v"))
		version = p;
	if (version && strspn(version + 2, "0123456789") >= 4 &&
	    version[2 + strspn(version + 2, "0123456789")] == 0)
		return gt_intern_get(strings, name, (size_t)(version - name));
	return gt_intern_cstr(strings, name);
}

static const struct gt_string *find_name(struct gt_calls *calls, enum gt_api_domain domain,
					 uint32_t cbid)
{
	const struct gt_cuda_api *api = gt_cuda_api_find(domain, cbid);
	const char *name = api ? gt_cuda_api_name(api) : NULL;
	char text[32];

	if (name)
		return gt_intern_cstr(calls->strings, name);
	if (*calls->has_cupti)
		name = gt_cupti_call_name(domain, cbid);
	if (name)
		return strip_version(calls->strings, name);
	gt_text_format(text, sizeof(text), "%s call %u",
		       domain == GT_API_RUNTIME ? "runtime" : "driver", cbid);
	return gt_intern_cstr(calls->strings, text);
}

const struct gt_string *gt_calls_name(struct gt_calls *calls, enum gt_api_domain domain,
				      uint32_t cbid)
{
	const struct gt_string **slot;

	if (cbid >= GT_CUDA_SET_BITS)
		return find_name(calls, domain, cbid);
	slot = &calls->names[domain][cbid];
	if (!*slot)
		*slot = find_name(calls, domain, cbid);
	return *slot;
}

static struct gt_correlate_aim aim_of(const struct gt_call_record *record)
{
	struct gt_correlate_aim aim = {.cbid = (uint16_t)record->cbid,
				       .domain = (uint8_t)record->domain};

	if (!(record->head.flags & GT_CALL_AIMED))
		return aim;
	aim.aimed = true;
	aim.stream = record->stream;
	aim.symbol = record->symbol;
	aim.context = record->context;
	return aim;
}

/* Few calls have one: it is zeroed behind these. */
static void fill_block(struct gt_api_event *api, const struct gt_call_record *record)
{
	const struct gt_block *block = gt_call_block(record);

	if (block)
		api->block = *block;
	else if (api->block.op)
		api->block = (struct gt_block){0};
}

static struct gt_call_effect effect_of(const struct gt_call_record *record,
				       const struct gt_cuda_api *api)
{
	bool is_done = api && record->result == 0;

	return (struct gt_call_effect){
		.expects = is_done && api->flags & GT_CUDA_ENQUEUES &&
			   !(record->head.flags & (GT_CALL_CAPTURED | GT_CALL_EMPTY)),
		.many = api && api->class == GT_CUDA_GRAPH_LAUNCH,
		.kernels = api && api->class == GT_CUDA_LAUNCH,
		.waits = is_done && api->flags & GT_CUDA_WAITS,
		.waits_for_all = is_done && api->flags & GT_CUDA_WAITS_FOR_ALL,
		.own_id =
			(record->head.flags & (GT_CALL_OWN_ID | GT_CALL_TAGGED)) == GT_CALL_OWN_ID,
		.host_function = is_done && api->class == GT_CUDA_HOST_FUNC,
		.is_query = api && !(api->flags & GT_CUDA_DEFAULT),
		.aim = aim_of(record),
	};
}

/* --thin: the slice and arrow of a call that starts work; not of a block of memory, which is
 * held. */
static bool is_thinned(const struct gt_calls *calls, const struct gt_event *event,
		       const struct gt_call_effect *what)
{
	return calls->leaves_slices && what->expects && !what->left_out && !event->api.block.op;
}

/* Of a call that lies in a window and is recorded. */
static void take_recorded(struct gt_calls *calls, struct gt_event *event,
			  struct gt_call_effect *what)
{
	struct gt_outlet *outlet = calls->join->outlet;

	gt_holdings_see(calls->holdings, event);
	what->left_out = gt_outlet_leaves_out(outlet, event);
	if (is_thinned(calls, event, what)) {
		gt_ledger_add(calls->ledger, GT_LEDGER_CALLS_THINNED_LATER, 1);
		gt_outlet_open(outlet);
		what->left_out = true;
	}
	if (what->expects && gt_filters_has_gpu(outlet->filters)) {
		gt_outlet_open(outlet);
		event->api.enqueues = false; /* what it starts may not be there to show the stack */
	}
	if (calls->lane && !what->left_out)
		gt_stack_lane_call(calls->lane, event);
	gt_call_join_call(calls->join, event, what);
}

void gt_calls_take(struct gt_calls *calls, const struct gt_call_record *record)
{
	enum gt_api_domain domain = (enum gt_api_domain)record->domain;
	struct gt_call_effect what = effect_of(record, gt_cuda_api_find(domain, record->cbid));
	struct gt_event *event = &calls->event;

	event->kind = GT_EVENT_API;
	event->tid = record->tid;
	event->start = gt_clock_from_monotonic(calls->clock, record->start);
	event->end = gt_clock_from_monotonic(calls->clock, record->end);
	event->correlation = record->correlation;
	event->stack = gt_call_stacks_of_call(calls->stacks, record);
	event->api.domain = domain;
	event->api.cbid = record->cbid;
	event->api.result = record->result;
	event->api.enqueues = what.expects;
	event->api.op = 0;
	event->api.name = gt_calls_name(calls, domain, record->cbid);
	fill_block(&event->api, record);
	gt_ledger_add(calls->ledger, GT_LEDGER_CALLS_RECEIVED, 1);
	gt_thread_names_see(calls->threads, record->tid, record->start);
	if (gt_outlet_is_outside(calls->join->outlet, event)) {
		gt_ledger_add(calls->ledger, GT_LEDGER_CALLS_OUTSIDE, 1);
		gt_call_join_call_outside(calls->join, event, &what);
	} else if (record->head.flags & GT_CALL_GOVERNED) {
		gt_ledger_add(calls->ledger, GT_LEDGER_CALLS_GOVERNED_LATER, 1);
		gt_call_join_call_governed(calls->join, event, &what);
	} else {
		take_recorded(calls, event, &what);
	}
}

bool gt_calls_leave_out(const struct gt_calls *calls, const struct gt_event *event)
{
	bool is_outside = gt_outlet_is_outside(calls->join->outlet, event);

	if (is_outside)
		gt_ledger_add(calls->ledger, GT_LEDGER_RANGES_OUTSIDE, 1);
	return is_outside;
}

void gt_calls_thread_ended(struct gt_calls *calls, uint32_t tid)
{
	if (calls->lane)
		gt_stack_lane_thread_ended(calls->lane, tid);
}

void gt_calls_finish(struct gt_calls *calls)
{
	if (calls->lane)
		gt_stack_lane_finish(calls->lane);
}

/* ---- --stack-lane ---- */

static void take_slice(void *context, const struct gt_event *event)
{
	gt_outlet_event(context, event);
}

static int start(void *part)
{
	struct gt_calls *calls = part;
	const struct gt_config *config = calls->config;
	uint32_t depth = (uint32_t)gt_config_number(config, GT_CONFIG_STACK_DEPTH);

	if (strcmp(gt_config_text(config, GT_CONFIG_STACKS), "off") != 0 &&
	    gt_config_bool(config, GT_CONFIG_STACK_LANE))
		calls->lane = gt_stack_lane_new(depth, gt_stores_share(config, LANES_MAX),
						take_slice, calls->join->outlet);
	return 0;
}

static uint64_t lost_slices(const void *part)
{
	const struct gt_calls *calls = part;

	return calls->lane ? gt_stack_lane_lost(calls->lane) : 0;
}

static const struct gt_collector_count counts[] = {
	{lost_slices, GT_LEDGER_FRAMES_LOST, NULL, NULL, NULL, NULL},
};

/* The track of --stack-lane, made of the calls. */
const struct gt_collector gt_stack_lane_collector = {
	.name = "stack lane",
	.start = start,
	.counts = counts,
	.count_count = sizeof(counts) / sizeof(counts[0]),
};

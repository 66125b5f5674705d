/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "pipeline/sources/tensors.h"

#include "collectors/call/tensor.h"
#include "core/guest/clock.h"
#include "pipeline/join/join.h"
#include "pipeline/output/outlet.h"
#include "pipeline/sources/calls.h"
#include "pipeline/sources/holdings.h"
#include "pipeline/sources/stacks.h"
#include "pipeline/sources/thread_names.h"

void gt_tensors_take(struct gt_calls *calls, const struct gt_call_record *record)
{
	const struct gt_tensor *tensor = gt_call_tensor(record);
	struct gt_event event = {
		.kind = GT_EVENT_TENSOR,
		.tid = record->tid,
		.start = gt_clock_from_monotonic(calls->clock, record->start),
		.stack = gt_call_stacks_of_call(calls->stacks, record),
		.tensor = {.address = tensor->address,
			   .bytes = tensor->bytes,
			   .allocated = tensor->allocated,
			   .reserved = tensor->reserved,
			   .device_type = tensor->device_type,
			   .device = tensor->device},
	};

	event.end = event.start;
	gt_thread_names_see(calls->threads, record->tid, record->start);
	if (gt_calls_leave_out(calls, &event))
		return;
	gt_outlet_event(calls->join->outlet, &event);
	gt_holdings_see_tensor(calls->holdings, &event);
}

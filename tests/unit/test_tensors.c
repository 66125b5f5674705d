/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocks of PyTorch at the edges of a window.
 */
#include "pipeline/sources/tensors.h"

#include <criterion/criterion.h>

#include "collectors/call/call.h"
#include "core/guest/clock.h"
#include "core/schema/ledger.h"
#include "core/schema/metadata.h"
#include "core/schema/tensor_sink.h"
#include "pipeline/join/join.h"
#include "pipeline/output/outlet.h"
#include "pipeline/sources/calls.h"
#include "pipeline/sources/thread_names.h"

#define TID 7u

Test(tensors, outside_of_the_window_they_are_counted)
{
	static struct gt_thread_names threads = {.written = {[TID] = TID}};
	static union {
		struct gt_call_record record;
		char room[sizeof(struct gt_call_record) + sizeof(struct gt_tensor)];
	} block = {.record = {.tid = TID}};
	static struct gt_metadata metadata;
	static struct gt_ledger ledger;
	static struct gt_clock trace_clock;
	static struct gt_outlet outlet = {.metadata = &metadata};
	static struct gt_call_join join = {.outlet = &outlet};
	static struct gt_calls calls = {
		.clock = &trace_clock, .ledger = &ledger, .threads = &threads, .join = &join};

	gt_clock_init(&trace_clock);
	block.record.start = gt_clock_now();
	metadata.window_begin = gt_clock_from_monotonic(&trace_clock, block.record.start) + 1;
	gt_tensors_take(&calls, &block.record);
	cr_assert_eq(ledger.count[GT_LEDGER_RANGES_OUTSIDE], 1);
}

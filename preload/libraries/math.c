/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "preload/libraries/math.h"

#include <stdatomic.h>

#include "core/schema/library_sink.h"

#define EXPORTED __attribute__((visibility("default")))

EXPORTED _Atomic(const struct gt_library_sink *) gputrace_library_sink;

/* Preloaded, so that its room is there from the beginning. */
static __thread __attribute__((tls_model("initial-exec"))) struct gt_library_inside inside;

bool math_is_told_in(const void *frame)
{
	return gt_library_is_outermost(&inside, frame) &&
	       atomic_load_explicit(&gputrace_library_sink, memory_order_relaxed);
}

static void begin(const void *frame, struct math_entry *entry, struct gt_math_call *call,
		  bool counted)
{
	bool is_outermost = gt_library_is_outermost(&inside, frame);
	const struct gt_library_sink *sink =
		atomic_load_explicit(&gputrace_library_sink, memory_order_acquire);
	struct gt_library_call whole;

	*entry = (struct math_entry){.before = inside.depth++};
	if (!is_outermost)
		return;
	inside.frame = (uintptr_t)frame;
	inside.sink = NULL;
	if (!sink)
		return;
	if (!counted)
		gt_math_count(call);
	if (!call->unknown && gt_math_is_out_of_range(call))
		call->unknown = GT_MATH_OUT_OF_RANGE;
	/* here, not where records are read: what recovery reads once more keeps its number */
	call->number = atomic_fetch_add_explicit(sink->numbers, 1, memory_order_relaxed) + 1;
	whole = (struct gt_library_call){.math = *call, .is_math = true};
	entry->sink = inside.sink = sink->begin(&whole) ? sink : NULL;
}

void math_begin_in(const void *frame, struct math_entry *entry, struct gt_math_call *call)
{
	begin(frame, entry, call, false);
}

void math_begin_counted_in(const void *frame, struct math_entry *entry, struct gt_math_call *call)
{
	begin(frame, entry, call, true);
}

void math_end(struct math_entry *entry, int result)
{
	inside.depth = entry->before;
	if (!entry->before)
		inside.sink = NULL;
	if (entry->sink)
		entry->sink->end(result);
}

void math_unknown(const char *library, uint64_t version)
{
	const struct gt_library_sink *sink =
		atomic_load_explicit(&gputrace_library_sink, memory_order_acquire);

	if (sink)
		sink->unknown(library, version);
}

void math_missing(const char *symbol, const char *library)
{
	const struct gt_library_sink *sink =
		atomic_load_explicit(&gputrace_library_sink, memory_order_acquire);

	if (sink)
		sink->missing(symbol, library);
}

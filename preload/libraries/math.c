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
static __thread __attribute__((tls_model("initial-exec"))) uint32_t inside;

bool math_is_told(void)
{
	return !inside && atomic_load_explicit(&gputrace_library_sink, memory_order_relaxed);
}

static void begin(struct math_entry *entry, struct gt_math_call *call, bool counted)
{
	const struct gt_library_sink *sink =
		atomic_load_explicit(&gputrace_library_sink, memory_order_acquire);
	struct gt_library_call whole;

	entry->sink = NULL;
	if (inside++ || !sink)
		return;
	if (!counted)
		gt_math_count(call);
	if (!call->unknown && gt_math_is_out_of_range(call))
		call->unknown = GT_MATH_OUT_OF_RANGE;
	/* here, not where records are read: what recovery reads once more keeps its number */
	call->number = atomic_fetch_add_explicit(sink->numbers, 1, memory_order_relaxed) + 1;
	whole = (struct gt_library_call){.math = *call, .is_math = true};
	entry->sink = sink->begin(&whole) ? sink : NULL;
}

void math_begin(struct math_entry *entry, struct gt_math_call *call)
{
	begin(entry, call, false);
}

void math_begin_counted(struct math_entry *entry, struct gt_math_call *call)
{
	begin(entry, call, true);
}

void math_end(struct math_entry *entry, int result)
{
	inside--;
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

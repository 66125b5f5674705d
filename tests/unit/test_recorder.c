/* SPDX-License-Identifier: Apache-2.0
 *
 * The flight recorder: what it keeps comes out as it went in, in its limits of time and memory; of
 * strangers' bytes it makes nothing that cannot be used.
 */
#include <errno.h>

#include <criterion/criterion.h>

#include "core/guest/memory.h"
#include "pipeline/recorder/flows.h"
#include "pipeline/recorder/recorder.h"
#include "tests/unit/random_event.h"

#define EVENTS 20000u
#define S_NS   1000000000ull

static struct trace t;
static struct gt_launch launches[EVENTS + 1];

static void make_fixture(void)
{
	t.strings = gt_intern_new(0);
	frames[0] = (struct gt_stack_frame){.function = trace_string(&t, "step")};
	for (uint32_t i = 0; i < 3; i++) {
		stacks[i] = calloc(1, sizeof(*stacks[i]) + sizeof(frames[0]));
		stacks[i]->id = i + 1;
	}
}

static struct gt_event make_event(uint32_t i, uint32_t *calls)
{
	return any(2) ? any_call(&t, i, launches, calls) : any_event(&t, i, launches, calls);
}

/* Padding does not count. */
static bool are_equal(const struct gt_event *a, const struct gt_event *b)
{
	static uint8_t one[GT_EVENT_CODE_MAX], other[GT_EVENT_CODE_MAX];
	struct gt_event_code first = {0}, second = {0};
	size_t n = gt_event_code_put(&first, a, t.strings, one);

	return n == gt_event_code_put(&second, b, t.strings, other) && !memcmp(one, other, n);
}

Test(recorder, events_come_out_as_they_went_in, .init = make_fixture)
{
	struct gt_event_code in = {0}, out = {0};
	uint8_t bytes[GT_EVENT_CODE_MAX];
	uint32_t calls = 0;

	for (uint32_t i = 0; i < EVENTS; i++) {
		struct gt_event event = make_event(i, &calls), back;
		size_t n = gt_event_code_put(&in, &event, t.strings, bytes);

		cr_assert(n <= sizeof(bytes));
		cr_assert_eq(gt_event_code_get(&out, bytes, n, NULL, &back), n);
		cr_assert_eq(back.kind, event.kind);
		cr_assert_eq(back.start, event.start);
		cr_assert_eq(back.end, event.end);
		cr_assert_eq(back.launch.stack, event.launch.stack);
		cr_assert(are_equal(&back, &event), "event %u of kind %d", i, (int)event.kind);
	}
}

static const struct gt_string *no_string(void *context, const struct gt_string *pointer)
{
	(void)pointer;
	return context;
}

static const struct gt_stack *no_stack(void *context, const struct gt_stack *pointer)
{
	(void)context, (void)pointer;
	return NULL;
}

static const struct gt_stack_frame *no_frame(void *context, const struct gt_stack_frame *pointer)
{
	(void)context, (void)pointer;
	return NULL;
}

Test(recorder, any_bytes_are_survived, .init = make_fixture)
{
	const struct gt_event_addresses addresses = {.context = (void *)trace_string(&t, "x"),
						     .string = no_string,
						     .stack = no_stack,
						     .frame = no_frame};
	uint8_t bytes[4096];

	for (uint32_t round = 0; round < 3000; round++) {
		struct gt_event_code code = {0};
		struct gt_event event;
		size_t at = 0, n;

		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = (uint8_t)(any(3) ? any(20) : any(256));
		while ((n = gt_event_code_get(&code, bytes + at, sizeof(bytes) - at, &addresses,
					      &event))) {
			at += n;
			cr_assert(at <= sizeof(bytes));
			if (event.kind == GT_EVENT_COUNT_)
				continue;
			cr_assert(event.end >= event.start);
			if (event.kind == GT_EVENT_API) {
				cr_assert(event.api.name != NULL);
				cr_assert_lt(event.api.domain, GT_API_DOMAIN_COUNT_);
			}
		}
	}
}

static void count_event(void *context, const struct gt_event *event)
{
	uint64_t *count = context;

	count[event->kind]++;
	if (event->start > count[GT_EVENT_COUNT_])
		count[GT_EVENT_COUNT_] = event->start;
}

static struct gt_recorder make_recorder(uint64_t keep_ns, uint64_t bytes)
{
	struct gt_recorder recorder = {.plan = {keep_ns, bytes}, .strings = t.strings};

	cr_assert_eq(gt_recorder_start(&recorder), 0);
	return recorder;
}

static uint64_t calls_older(const struct gt_recorder *recorder)
{
	struct gt_ledger ledger = {0};

	gt_recorder_count(recorder->store, recorder->old, &ledger);
	return ledger.count[GT_LEDGER_CALLS_OLDER];
}

Test(recorder, memory_is_a_limit, .init = make_fixture)
{
	struct gt_recorder recorder = make_recorder(S_NS, 1 << 20);
	size_t before = gt_memory_count().now;
	uint64_t kept[GT_EVENT_COUNT_ + 1] = {0}, seal;
	uint32_t calls = 0;

	for (uint32_t i = 0; i < 50 * EVENTS; i++) {
		struct gt_event event;

		calls %= EVENTS;
		event = any_call(&t, i, launches, &calls);
		cr_assert(gt_recorder_keep(&recorder, &event));
	}
	cr_assert_leq(gt_memory_count().now, before + (1 << 20));
	cr_assert_gt(gt_memory_count().now, before + (1 << 19));
	seal = gt_recorder_seal(&recorder);
	while (gt_recorder_read(&recorder, seal, 0, count_event, kept))
		continue;
	cr_assert_gt(kept[GT_EVENT_API], EVENTS);
	cr_assert_eq(kept[GT_EVENT_API] + calls_older(&recorder), 50 * EVENTS);
	cr_assert_eq(kept[GT_EVENT_COUNT_], AT(1000000 + (50 * EVENTS - 1) * 1000ull));
	gt_recorder_done(&recorder, 0);
	cr_assert(gt_recorder_is_empty(&recorder));
	cr_assert_eq(kept[GT_EVENT_API] + calls_older(&recorder), 50 * EVENTS);
	gt_recorder_fini(&recorder);
	cr_assert_leq(gt_memory_count().now, before);
}

Test(recorder, time_is_a_limit, .init = make_fixture)
{
	struct gt_recorder recorder = make_recorder(S_NS, 64 << 20);
	uint64_t kept[GT_EVENT_COUNT_ + 1] = {0}, now = AT(0), seal;
	struct gt_event event = {.kind = GT_EVENT_API, .tid = 1};

	event.api.name = trace_string(&t, "cudaMalloc");
	for (uint32_t i = 0; i < 100000; i++) { /* ten seconds */
		now += 100000;
		event.start = event.end = now;
		cr_assert(gt_recorder_keep(&recorder, &event));
		if (i % 100 == 0)
			gt_recorder_age(&recorder, now);
	}
	seal = gt_recorder_seal(&recorder);
	while (gt_recorder_read(&recorder, seal, now - S_NS, count_event, kept))
		continue;
	cr_assert_eq(kept[GT_EVENT_API], 10001);
	cr_assert_eq(calls_older(&recorder), 100000 - 10001);
	cr_assert_lt(recorder.made, 40u); /* what has gone is used again */
	gt_recorder_done(&recorder, 0);
	gt_recorder_age(&recorder, now + 10 * S_NS);
	cr_assert_eq(calls_older(&recorder), 100000 - 10001);
	gt_recorder_fini(&recorder);
}

/* What comes while a dump is written is not in it, even where memory is short. */
Test(recorder, a_dump_ends_at_its_seal, .init = make_fixture)
{
	struct gt_recorder recorder = make_recorder(S_NS, 1 << 20);
	uint64_t kept[GT_EVENT_COUNT_ + 1] = {0}, seal, first;
	struct gt_event event = {.kind = GT_EVENT_API, .tid = 1};

	event.api.name = trace_string(&t, "cudaMalloc");
	for (uint32_t i = 0; i < 20000; i++) {
		event.end = event.start += any(1u << 20);
		cr_assert(gt_recorder_keep(&recorder, &event));
	}
	first = event.start;
	seal = gt_recorder_seal(&recorder);
	while (gt_recorder_read(&recorder, seal, 0, count_event, kept))
		for (uint32_t i = 0; i < 20000; i++) {
			event.end = event.start += any(1u << 20);
			cr_assert(gt_recorder_keep(&recorder, &event));
		}
	cr_assert_leq(kept[GT_EVENT_COUNT_], first);
	gt_recorder_done(&recorder, 0);
	cr_assert_not(gt_recorder_is_empty(&recorder));
	gt_recorder_fini(&recorder);
}

Test(recorder, flows_come_from_calls_that_are_there, .init = make_fixture)
{
	struct gt_recorder_flows flows = {0};
	struct gt_event work = {.kind = GT_EVENT_KERNEL}, call = {.kind = GT_EVENT_API};

	for (uint32_t tid = 1; tid < 3000; tid++) {
		call.tid = work.launch.tid = tid;
		call.start = 1000 + tid;
		gt_recorder_flows_see(&flows, &call);
		work.launch.start = call.start;
		gt_recorder_flows_see(&flows, &work);
		cr_assert_eq(work.launch.start, call.start);
		work.launch.start = call.start - 1;
		gt_recorder_flows_see(&flows, &work);
		cr_assert_eq(work.launch.start, 0);
	}
	work.launch.tid = 99999;
	work.launch.start = 1000000;
	gt_recorder_flows_see(&flows, &work);
	cr_assert_eq(work.launch.start, 0);
	gt_recorder_flows_fini(&flows);
}

Test(recorder, options)
{
	static const struct {
		const char *text;
		int rc;
		uint64_t ns, bytes;
	} rows[] = {
		{"", 0, 0, 0},
		{"off", 0, 0, 0},
		{"30s", 0, 30 * S_NS, 256 << 20},
		{"30,1G", 0, 30 * S_NS, 1 << 30},
		{"500ms,64MiB", 0, S_NS / 2, 64 << 20},
		{"30x", -EINVAL, 0, 0},
		{"30s,", -EINVAL, 0, 0},
		{"30s,256M,1", -EINVAL, 0, 0},
		{"30s, 1M", -EINVAL, 0, 0},
		{"0", -ERANGE, 0, 0},
		{"30s,1K", -ERANGE, 0, 0},
		{"2d", -ERANGE, 0, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct gt_flight_plan plan;

		cr_assert_eq(gt_flight_plan_parse(rows[i].text, &plan), rows[i].rc, "%s",
			     rows[i].text);
		cr_assert_eq(plan.keep_ns, rows[i].ns, "%s", rows[i].text);
		cr_assert_eq(plan.bytes, rows[i].bytes, "%s", rows[i].text);
	}
}

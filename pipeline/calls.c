/* SPDX-License-Identifier: Apache-2.0
 *
 * Ring records -> API events, see the header. Drain thread only.
 */
#include "pipeline/calls.h"

#include <string.h>

#include "collectors/call/call.h"
#include "collectors/call/records.h"
#include "collectors/nvtx/record.h"
#include "core/guest/descriptor.h"
#include "core/guest/text.h"
#include "core/schema/cuda_api.h"
#include "core/thread.h"
#include "pipeline/collector.h"
#include "pipeline/ranges/ranges.h"
#include "pipeline/release.h"
#include "pipeline/samples.h"
#include "pipeline/session.h"
#include "pipeline/spooled.h"
#include "pipeline/stack_lane.h"
#include "pipeline/stacks.h"

/* The name without the version that CUPTI puts behind it: "cudaFoo_v12000" -> "cudaFoo"; short
 * versions like _v2 belong to the name (Kineto's rule). */
static const struct gt_string *strip_version(struct gt_session *s, const char *name)
{
	const char *version = NULL;

	for (const char *p = strstr(name, "_v"); p; p = strstr(p + 2, "_v"))
		version = p;
	if (version && strspn(version + 2, "0123456789") >= 4 &&
	    version[2 + strspn(version + 2, "0123456789")] == 0)
		return gt_intern_get(s->strings, name, (size_t)(version - name));
	return gt_intern_cstr(s->strings, name);
}

static const struct gt_string *find_name(struct gt_session *s, enum gt_api_domain domain,
					 uint32_t cbid)
{
	const struct gt_cuda_api *api = gt_cuda_api_find(domain, cbid);
	const char *name = api ? gt_cuda_api_name(api) : NULL;
	char text[32];

	if (name)
		return gt_intern_cstr(s->strings, name);
	if (s->has_cupti)
		name = gt_cupti_call_name(domain, cbid);
	if (name)
		return strip_version(s, name);
	gt_text_format(text, sizeof(text), "%s call %u",
		       domain == GT_API_RUNTIME ? "runtime" : "driver", cbid);
	return gt_intern_cstr(s->strings, text);
}

static const struct gt_string *call_name(struct gt_session *s, enum gt_api_domain domain,
					 uint32_t cbid)
{
	const struct gt_string **slot;

	if (cbid >= GT_CUDA_SET_BITS)
		return find_name(s, domain, cbid);
	slot = &s->calls.names[domain][cbid];
	if (!*slot)
		*slot = find_name(s, domain, cbid);
	return *slot;
}

/* As the kernel has it; the program may have told NVTX a better one. */
static const struct gt_string *thread_name(struct gt_session *s, uint32_t tid)
{
	const struct gt_string *reported = gt_ranges_thread_name(s, tid);
	char path[64], name[64];
	size_t n;

	if (reported)
		return reported;
	gt_text_format(path, sizeof(path), "/proc/self/task/%u/comm", tid);
	n = gt_descriptor_read_file(path, name, sizeof(name));
	while (n > 0 && name[n - 1] == '\n')
		n--;
	if (n == 0) /* gone already */
		n = gt_text_format(name, sizeof(name), "thread %u", tid);
	return gt_intern_get(s->strings, name, n);
}

/* @time: of the first record of it, monotonic. What is recovered later has no time of its own. */
static void see_thread(struct gt_session *s, uint32_t tid, uint64_t time)
{
	struct gt_event event = {.kind = GT_EVENT_THREAD, .tid = tid};
	uint32_t *named = &s->calls.threads[tid % GT_CALLS_THREADS];

	if (*named == tid)
		return;
	*named = tid;
	event.start = event.end = gt_clock_from_monotonic(&s->clock, time);
	event.thread.name = thread_name(s, tid);
	gt_emit_event(s, &event);
}

void gt_calls_take(struct gt_session *s, const struct gt_call_record *record)
{
	const struct gt_cuda_api *api =
		gt_cuda_api_find((enum gt_api_domain)record->domain, record->cbid);
	bool enqueues = api && api->flags & GT_CUDA_ENQUEUES && record->result == 0 &&
			!(record->head.flags & GT_CALL_CAPTURED);
	struct gt_event event = {
		.kind = GT_EVENT_API,
		.tid = record->tid,
		.start = gt_clock_from_monotonic(&s->clock, record->start),
		.end = gt_clock_from_monotonic(&s->clock, record->end),
		.correlation = record->correlation,
		.stack = gt_stacks_of_call(s, record),
	};
	struct gt_emit_call what;

	event.api = (struct gt_api_event){
		.domain = (enum gt_api_domain)record->domain,
		.cbid = record->cbid,
		.result = record->result,
		.enqueues = enqueues,
		.name = call_name(s, (enum gt_api_domain)record->domain, record->cbid),
	};
	gt_ledger_add(&s->ledger, GT_LEDGER_CALLS_RECEIVED, 1);
	see_thread(s, record->tid, record->start);
	if (s->stack_lane)
		gt_stack_lane_call(s->stack_lane, &event);
	what = (struct gt_emit_call){
		.expects = enqueues,
		.many = api && api->class == GT_CUDA_GRAPH_LAUNCH,
		.kernels = api && api->class == GT_CUDA_LAUNCH,
		.waits = api && api->flags & GT_CUDA_WAITS && record->result == 0,
		.waits_for_all = api && api->flags & GT_CUDA_WAITS_FOR_ALL && record->result == 0,
		.own_id =
			(record->head.flags & (GT_CALL_OWN_ID | GT_CALL_TAGGED)) == GT_CALL_OWN_ID,
	};
	gt_emit_call(s, &event, &what);
}

static void take_nvtx(struct gt_session *s, const struct gt_nvtx_record *record)
{
	see_thread(s, record->tid, record->time);
	gt_ranges_record(s, record);
}

static void take_sample(struct gt_session *s, const struct gt_call_record *record)
{
	see_thread(s, record->tid, record->start);
	gt_samples_take(s, record);
}

static uint64_t drain_ring(struct gt_session *s, struct gt_thread *thread)
{
	uint64_t end = gt_ring_end(&thread->ring); /* its thread may be faster than we are */
	const struct gt_ring_record *record;
	uint64_t count = 0;

	for (; gt_ring_has_before(&thread->ring, end); count++) {
		record = gt_ring_next(&thread->ring);
		if (!record)
			break;
		gt_ranges_take_early(s); /* what the thread opened before it had a ring */
		if (record->type == GT_RECORD_CALL)
			gt_calls_take(s, (const struct gt_call_record *)(const void *)record);
		else if (record->type == GT_RECORD_NVTX)
			take_nvtx(s, (const struct gt_nvtx_record *)(const void *)record);
		else if (record->type == GT_RECORD_SAMPLE)
			take_sample(s, (const struct gt_call_record *)(const void *)record);
		gt_ring_pass(&thread->ring, record);
	}
	return count;
}

uint64_t gt_calls_drain(struct gt_session *session)
{
	uint64_t count = 0;

	gt_ranges_take_early(session);
	for (struct gt_thread *t = gt_threads_first(); t; t = t->next) {
		int ended = GT_THREAD_ENDED;
		bool was_ended = atomic_load_explicit(&t->life, memory_order_acquire) == ended;

		count += drain_ring(session, t);
		if (!was_ended)
			continue;
		gt_ranges_thread_ended(session, t->tid); /* drained after its end: all is here */
		if (session->stack_lane)
			gt_stack_lane_thread_ended(session->stack_lane, t->tid);
		atomic_compare_exchange_strong(&t->life, &ended, GT_THREAD_FREE);
	}
	gt_ranges_round(session);
	gt_release_rings(session);
	return count;
}

/* Half of --max-memory is the rings', half the activity buffers' (collectors/cupti/cupti.c). */
static int start(struct gt_session *s)
{
	struct gt_thread_limits limits = {
		.ring_bytes = (size_t)gt_config_number(&s->config, GT_CONFIG_RING_SIZE),
		.extra_bytes = gt_call_state_bytes(),
		.max_bytes = (size_t)gt_config_number(&s->config, GT_CONFIG_MAX_MEMORY) / 2,
		.signal_stacks = gt_config_bool(&s->config, GT_CONFIG_ON_CRASH),
	};

	return gt_threads_start(&limits);
}

static uint64_t lost_calls(const struct gt_session *s)
{
	(void)s;
	return gt_threads_sum(GT_THREAD_CALLS_LOST);
}

static uint64_t refused_threads(const struct gt_session *s)
{
	(void)s;
	return gt_threads_refused();
}

static uint64_t degraded_threads(const struct gt_session *s)
{
	(void)s;
	return gt_threads_degraded();
}

static const struct gt_collector_count counts[] = {
	{lost_calls, GT_LEDGER_COUNT_, "LOST", "ring full", "API calls",
	 "a thread's ring was full: raise --ring-size"},
	{refused_threads, GT_LEDGER_COUNT_, "LOST", "no thread block", "API calls",
	 "no memory for more threads: raise --max-memory"},
	{degraded_threads, GT_LEDGER_RINGS_THINNED, "thinned", "--max-rss", "rings",
	 "threads have smaller rings: raise --max-memory"},
};

/* Other threads may still be calling: what they count first is read last. */
static void count_calls(struct gt_session *s)
{
	uint64_t *count = s->ledger.count;

	count[GT_LEDGER_CALLS_NESTED] = gt_threads_sum(GT_THREAD_CALLS_NESTED);
	count[GT_LEDGER_CALLS_LOST_RING] = gt_threads_sum(GT_THREAD_CALLS_LOST);
	count[GT_LEDGER_CALLS_LOST_THREAD] = gt_threads_refused();
	count[GT_LEDGER_CALLS_SEEN] =
		gt_threads_sum(GT_THREAD_CALLS_SEEN) + count[GT_LEDGER_CALLS_LOST_THREAD];
	count[GT_LEDGER_CALLS_OPEN] = count[GT_LEDGER_CALLS_SEEN] - count[GT_LEDGER_CALLS_NESTED] -
				      count[GT_LEDGER_CALLS_LOST_RING] -
				      count[GT_LEDGER_CALLS_LOST_THREAD] -
				      count[GT_LEDGER_CALLS_RECEIVED];
}

/* CUDA calls, and all else that lies in the rings of threads. */
const struct gt_collector gt_calls_collector = {
	.name = "calls",
	.start = start,
	.drain = gt_calls_drain,
	.counts = counts,
	.count_count = sizeof(counts) / sizeof(counts[0]),
	.count = count_calls,
	.release = gt_threads_stop,
};

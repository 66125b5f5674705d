/* SPDX-License-Identifier: Apache-2.0
 *
 * Ring records to their parts, see the header.
 */
#include "pipeline/sources/rings.h"

#include <string.h>

#include "collectors/call/call.h"
#include "collectors/call/passed.h"
#include "collectors/call/records.h"
#include "collectors/cupti/buffers.h"
#include "collectors/nvtx/nvtx.h"
#include "collectors/nvtx/record.h"
#include "collectors/trigger/trigger.h"
#include "core/config.h"
#include "core/guest/clock.h"
#include "core/guest/log.h"
#include "core/guest/text.h"
#include "core/intern.h"
#include "core/schema/cuda_api.h"
#include "core/schema/metadata.h"
#include "core/thread.h"
#include "core/window/capture_filter.h"
#include "pipeline/join/join.h"
#include "pipeline/output/outlet.h"
#include "pipeline/ranges/ranges.h"
#include "pipeline/sources/calls.h"
#include "pipeline/sources/collector.h"
#include "pipeline/sources/release.h"
#include "pipeline/sources/samples.h"
#include "pipeline/sources/tensors.h"
#include "pipeline/sources/thread_names.h"

static void take_call(const struct gt_rings *rings, const struct gt_ring_record *record)
{
	gt_calls_take(rings->calls, (const void *)record);
}

static void take_nvtx(const struct gt_rings *rings, const struct gt_ring_record *record)
{
	const struct gt_nvtx_record *nvtx = (const void *)record;

	gt_thread_names_see(rings->threads, nvtx->tid, nvtx->time);
	gt_ranges_record(rings->ranges, nvtx);
}

static void take_sample(const struct gt_rings *rings, const struct gt_ring_record *record)
{
	const struct gt_call_record *sample = (const void *)record;

	gt_thread_names_see(rings->threads, sample->tid, sample->start);
	gt_samples_take(rings->samples, sample);
}

static void take_tensor(const struct gt_rings *rings, const struct gt_ring_record *record)
{
	gt_tensors_take(rings->calls, (const void *)record);
}

/* By the type of the record. */
static void (*const takers[])(const struct gt_rings *, const struct gt_ring_record *) = {
	[GT_RECORD_CALL] = take_call,
	[GT_RECORD_NVTX] = take_nvtx,
	[GT_RECORD_SAMPLE] = take_sample,
	[GT_RECORD_TENSOR] = take_tensor,
};

static void take(const struct gt_rings *rings, const struct gt_ring_record *record)
{
	if (record->type < sizeof(takers) / sizeof(takers[0]) && takers[record->type])
		takers[record->type](rings, record);
}

/* Counts of the calls so far, to tell what one record adds. */
struct rings_launches {
	uint64_t all, unexpected;
};

static struct rings_launches launches_of(const struct gt_calls *calls)
{
	return (struct rings_launches){.all = calls->ledger->count[GT_LEDGER_LAUNCHES_SEEN],
				       .unexpected = calls->join->unexpected};
}

static void take_and_count(const struct gt_rings *rings, struct gt_ring *ring,
			   const struct gt_ring_record *record)
{
	struct rings_launches before = launches_of(rings->calls), after;

	take(rings, record);
	after = launches_of(rings->calls);
	gt_ring_count(ring, GT_RECORD_LAUNCHES, (uint32_t)(after.all - before.all));
	gt_ring_count(ring, GT_RECORD_UNEXPECTED, (uint32_t)(after.unexpected - before.unexpected));
}

/* The window ends where its range does. A record behind that was put into its ring later, so it is
 * read when this is known. */
static void see_range_end(const struct gt_rings *rings)
{
	struct gt_metadata *metadata = rings->metadata;
	uint64_t ended;

	if (metadata->window_begin == UINT64_MAX || metadata->window_end ||
	    gt_trigger_look(&ended) != GT_TRIGGER_ENDED)
		return;
	metadata->window_end = gt_clock_from_monotonic(rings->calls->clock, ended);
	if (metadata->window_end < metadata->window_begin)
		metadata->window_end = metadata->window_begin;
}

#define GROWS_AT 125 /* thousandths */

static uint32_t thousandths(uint64_t part, uint64_t whole)
{
	return whole ? (uint32_t)(part * 1000 / whole) : 0;
}

/* By what its thread has written since it was drained last: what is kept longer is no sign of
 * haste. A ring that fills up grows, as far as there is memory; then it is full when that is. */
static void see_fill(struct gt_rings *rings, struct gt_thread *thread, uint64_t end)
{
	const struct gt_ring *ring = &thread->ring;
	uint64_t unread = end - ring->read;
	uint32_t fill = thousandths(unread, ring->from.capacity);

	if (fill > rings->fullest)
		rings->fullest = fill;
	if (fill >= GROWS_AT)
		gt_thread_grow(thread);
	fill = thousandths(unread, gt_ring_reach(ring));
	if (fill > rings->period.fullest)
		rings->period.fullest = fill;
}

uint32_t gt_rings_fullest(struct gt_rings *rings)
{
	uint32_t fullest = rings->fullest;

	rings->fullest = 0;
	return fullest;
}

/* ---- --thin ---- */

#define PERIOD_NS 25000000u

static void apply_thinning(const struct gt_rings *rings)
{
	uint32_t level = rings->thinning.level;

	gt_nvtx_thin(level >= GT_THINNING_RANGES);
	gt_call_thin(level >= GT_THINNING_CALLS);
	rings->calls->leaves_slices = level >= GT_THINNING_SLICES;
}

static void end_thinning(struct gt_rings *rings)
{
	rings->thinning = (struct gt_thinning){0};
	rings->period.fullest = 0;
	apply_thinning(rings);
}

static void note_thinning(const struct gt_rings *rings, const struct gt_thinning_load *load,
			  uint32_t before)
{
	uint32_t level = rings->thinning.level;
	char text[160];

	gt_text_format(text, sizeof(text), "rings %u %%, GPU work %u %%, ranges %u %% full: %s: %s",
		       load->rings / 10, load->work / 10, load->ranges / 10,
		       level > before ? "left out" : "recorded again",
		       gt_thinning_name(level > before ? level : before));
	gt_outlet_note(
		rings->calls->join->outlet,
		&(struct gt_note_event){.name = "thinning",
					.what = gt_intern_cstr(rings->calls->strings, text)->text,
					.cause = "--thin"});
	gt_log_verbose("%s", text);
}

/* Half of --max-memory is the activity buffers'. */
static struct gt_thinning_load load_of(struct gt_rings *rings)
{
	uint64_t lost = gt_threads_sum(GT_THREAD_CALLS_LOST);
	uint64_t room = (uint64_t)gt_config_number(rings->config, GT_CONFIG_MAX_MEMORY) / 2;
	struct gt_thinning_load load = {.rings = rings->period.fullest,
					.work = thousandths(gt_cupti_buffers_waiting(), room),
					.ranges = gt_ranges_fill(rings->ranges),
					.has_lost = lost > rings->period.lost};

	rings->period.lost = lost;
	rings->period.fullest = 0;
	return load;
}

/* Behind each look at the rings: a round may take long. */
static void thin(struct gt_rings *rings)
{
	uint32_t before = rings->thinning.level;
	uint64_t now = gt_clock_now();
	struct gt_thinning_load load;

	if (!rings->thins || now < rings->period.next)
		return;
	rings->period.next = now + PERIOD_NS;
	load = load_of(rings);
	if (rings->metadata->window_begin != UINT64_MAX && !rings->metadata->window_end &&
	    gt_thinning_period(&rings->thinning, &load)) {
		apply_thinning(rings);
		note_thinning(rings, &load, before);
	}
}

/* ---- reading ---- */

#define FETCHED_AHEAD 512u /* bytes: some calls */

/* Up to @end, or to where it turns out that the thread runs backward. */
static uint64_t drain_ring(struct gt_rings *rings, struct gt_thread *thread, uint64_t end)
{
	uint32_t backward = gt_ranges_backward_threads(rings->ranges);
	const struct gt_ring_record *record;
	uint64_t count = 0;

	see_fill(rings, thread, end);
	see_range_end(rings);
	for (; gt_ring_has_before(&thread->ring, end); count++) {
		record = gt_ring_next(&thread->ring);
		if (!record)
			break;
		/* of another processor, too: what is read soon is fetched */
		__builtin_prefetch((const char *)record + FETCHED_AHEAD);
		/* what the thread opened before it had a ring */
		gt_ranges_take_early(rings->ranges);
		take_and_count(rings, &thread->ring, record);
		gt_ring_pass(&thread->ring, record);
		if (gt_ranges_backward_threads(rings->ranges) != backward)
			break;
	}
	see_fill(rings, thread, gt_ring_end(&thread->ring)); /* it may have taken long */
	return count;
}

/* Drained after its end: all of it is here. What it left open ends behind its last call of the
 * operating system, which lies in no ring. */
static void end_thread(const struct gt_rings *rings, struct gt_thread *thread)
{
	int ended = GT_THREAD_ENDED;

	gt_os_calls_take(rings->calls);
	gt_ranges_thread_ended(rings->ranges, thread->tid);
	gt_calls_thread_ended(rings->calls, thread->tid);
	atomic_compare_exchange_strong(&thread->life, &ended, GT_THREAD_FREE);
}

static uint64_t drain_thread(struct gt_rings *rings, struct gt_thread *thread, uint64_t end)
{
	bool ended = atomic_load_explicit(&thread->life, memory_order_acquire) == GT_THREAD_ENDED;
	uint64_t count = drain_ring(rings, thread, end);

	if (ended && !gt_ring_has_before(&thread->ring, gt_ring_end(&thread->ring)))
		end_thread(rings, thread);
	return count;
}

static bool runs_backward(const struct gt_rings *rings, const struct gt_thread *thread)
{
	return gt_ranges_backward_threads(rings->ranges) &&
	       gt_ranges_runs_backward(rings->ranges, thread->tid);
}

/* What ran forward lies in its ring before what runs backward does: those are read to where they
 * are before all others, but behind them. */
static uint64_t drain_threads(struct gt_rings *rings)
{
	uint64_t count = 0;

	for (struct gt_thread *t = gt_threads_first(); t; t = t->next)
		if (runs_backward(rings, t))
			t->until = gt_ring_end(&t->ring);
	for (struct gt_thread *t = gt_threads_first(); t; t = t->next)
		if (!runs_backward(rings, t)) {
			t->until = gt_ring_end(&t->ring); /* its thread may be faster than we are */
			count += drain_thread(rings, t, t->until);
		}
	for (struct gt_thread *t = gt_threads_first(); t; t = t->next)
		if (runs_backward(rings, t))
			count += drain_thread(rings, t, t->until);
	return count;
}

static void see_passed(const struct gt_rings *rings)
{
	struct gt_call_passed passed =
		gt_call_passed_get(rings->metadata->window_begin != UINT64_MAX);

	rings->calls->join->last_passed = passed.before;
	rings->calls->join->first_behind = passed.behind;
	rings->calls->join->has_lost =
		rings->metadata->window_end && gt_threads_lost_launches() > 0;
}

/* Empties every ring. Returns how many records there were. */
static uint64_t drain(void *part)
{
	struct gt_rings *rings = part;
	uint64_t count;

	gt_ranges_round_begins(rings->ranges);
	gt_ranges_take_early(rings->ranges);
	see_passed(rings);
	count = drain_threads(rings);
	gt_ranges_round(rings->ranges);
	gt_release_rings(rings->release);
	thin(rings);
	return count;
}

static bool is_of_memory(const struct gt_cuda_api *api)
{
	return api->class == GT_CUDA_ALLOC || api->class == GT_CUDA_FREE;
}

/* With --memory all that allocates and releases stays, too.
 *
 * Of what a call starts a record will come, which looks for the call: it is recorded all the same,
 * and left out when it is written (calls.c). With --sync there are more of these. */
static bool is_awaited(const struct gt_rings *rings, const struct gt_cuda_api *api)
{
	return api->flags & GT_CUDA_ENQUEUES ||
	       (is_of_memory(api) ? gt_config_records_memory(rings->config)
				  : gt_config_bool(rings->config, GT_CONFIG_SYNC));
}

/* What need not be recorded is not, which costs the least. */
static void filter_calls(const struct gt_rings *rings)
{
	const struct gt_capture_filter *asked = rings->filter;
	struct gt_cuda_set left_out = {0}, droppable = {0};

	for (enum gt_api_domain domain = 0; domain < GT_API_DOMAIN_COUNT_; domain++)
		for (uint32_t cbid = 0; cbid < gt_cuda_api_end(domain); cbid++) {
			const struct gt_cuda_api *api = gt_cuda_api_find(domain, cbid);
			const char *name = api ? gt_cuda_api_name(api) : NULL;

			if (!api || is_awaited(rings, api))
				continue;
			gt_cuda_set_add(&droppable, domain, cbid);
			if (!gt_capture_filter_keeps(asked, GT_CAPTURE_CALLS, &name, 1))
				gt_cuda_set_add(&left_out, domain, cbid);
		}
	gt_call_set_filter(&left_out, &droppable, asked->min_duration);
}

/* Half of --max-memory is the rings', half the activity buffers' (collectors/cupti/cupti.c). */
static int start(void *part)
{
	struct gt_rings *rings = part;
	const struct gt_config *config = rings->config;
	bool thins = strcmp(gt_config_text(config, GT_CONFIG_THIN), "off") != 0;
	struct gt_thread_limits limits = {
		.ring_bytes = (size_t)gt_config_number(config, GT_CONFIG_RING_SIZE),
		.extra_bytes = gt_call_state_bytes(),
		.max_bytes = (size_t)gt_config_number(config, GT_CONFIG_MAX_MEMORY) / 2,
		.signal_stacks = gt_config_bool(config, GT_CONFIG_ON_CRASH),
		.keep_room = thins,
		.grow = config->value[GT_CONFIG_RING_SIZE].is_default,
	};

	rings->thins = thins;
	end_thinning(rings);

	gt_call_pause(rings->waits);
	filter_calls(rings);
	return gt_threads_start(&limits);
}

static uint64_t lost_calls(const void *part)
{
	(void)part;
	return gt_threads_sum(GT_THREAD_CALLS_LOST);
}

static uint64_t refused_threads(const void *part)
{
	(void)part;
	return gt_threads_refused()->calls;
}

static uint64_t degraded_threads(const void *part)
{
	(void)part;
	return gt_threads_degraded();
}

static uint64_t thinned_ranges(const void *part)
{
	(void)part;
	return gt_threads_sum(GT_THREAD_RANGES_THINNED);
}

static uint64_t thinned_calls(const void *part)
{
	(void)part;
	return gt_threads_sum(GT_THREAD_CALLS_THINNED);
}

static uint64_t thinned_slices(const void *part)
{
	const struct gt_rings *rings = part;

	return rings->calls->ledger->count[GT_LEDGER_CALLS_THINNED_LATER];
}

/* Of the fullest ring, in percent of the size that it has at last. */
static uint64_t peak_ring(const void *part)
{
	uint64_t peak = 0;

	(void)part;
	for (const struct gt_thread *t = gt_threads_first(); t; t = t->next) {
		uint64_t fill = atomic_load_explicit(&t->ring.was_full, memory_order_relaxed)
					? 100
					: thousandths(t->ring.peak, t->ring.from.capacity) / 10;

		peak = fill > peak ? fill : peak;
	}
	return peak;
}

static const struct gt_collector_count counts[] = {
	{lost_calls, GT_LEDGER_COUNT_, "LOST", "ring full", "API calls", GT_COLLECTOR_RING_FULL},
	{refused_threads, GT_LEDGER_COUNT_, "LOST", "no thread block", "API calls",
	 "no memory for more threads: raise --max-memory"},
	{peak_ring, GT_LEDGER_RING_PEAK, NULL, NULL, NULL, NULL},
	{degraded_threads, GT_LEDGER_RINGS_THINNED, "thinned", NULL, "rings",
	 "threads have smaller rings: more memory is needed (--max-memory)"},
	{thinned_ranges, GT_LEDGER_RANGES_THINNED, "left out", "--thin", "NVTX ranges",
	 "rings were filling up: ranges that follow closely were left out"},
	{thinned_calls, GT_LEDGER_COUNT_, "left out", "--thin", "API calls",
	 "rings were filling up: calls that start no GPU work were left out"},
	{thinned_slices, GT_LEDGER_COUNT_, "left out", "--thin", "API calls",
	 "rings were filling up: slices of calls that start GPU work were left out"},
};

/* Other threads may still be calling: what they count first is read last. */
static void count_calls(void *part, struct gt_ledger *ledger)
{
	const struct gt_rings *rings = part;
	uint64_t *count = ledger->count;

	count[GT_LEDGER_CALLS_NESTED] = gt_threads_sum(GT_THREAD_CALLS_NESTED);
	count[GT_LEDGER_CALLS_LOST_RING] = gt_threads_sum(GT_THREAD_CALLS_LOST);
	count[GT_LEDGER_CALLS_LOST_THREAD] = gt_threads_refused()->calls;
	count[GT_LEDGER_LAUNCHES_LOST] = gt_threads_lost_launches();
	count[GT_LEDGER_CALLS_LATE] = gt_threads_sum(GT_THREAD_CALLS_LATE);
	count[GT_LEDGER_CALLS_PASSED] = gt_threads_sum(GT_THREAD_CALLS_PASSED);
	count[GT_LEDGER_LAUNCHES_PASSED] = gt_threads_sum(GT_THREAD_LAUNCHES_PASSED);
	count[GT_LEDGER_CALLS_FILTERED] = gt_threads_sum(GT_THREAD_CALLS_FILTERED);
	count[GT_LEDGER_CALLS_GOVERNED] = gt_threads_sum(GT_THREAD_CALLS_GOVERNED);
	count[GT_LEDGER_CALLS_THINNED] = gt_threads_sum(GT_THREAD_CALLS_THINNED);
	count[GT_LEDGER_CALLS_SEEN] = gt_threads_sum(GT_THREAD_CALLS_SEEN);
	count[GT_LEDGER_CALLS_OPEN] = count[GT_LEDGER_CALLS_SEEN] - gt_ledger_ended_calls(ledger);
	if (rings->metadata->window_end && rings->metadata->window_number) {
		count[GT_LEDGER_CALLS_SEEN] -= count[GT_LEDGER_CALLS_OPEN]; /* by the next one */
		count[GT_LEDGER_CALLS_OPEN] = 0;
	} else if (rings->metadata->window_end) { /* the program goes on, and they return */
		count[GT_LEDGER_CALLS_PASSED] += count[GT_LEDGER_CALLS_OPEN];
		count[GT_LEDGER_CALLS_OPEN] = 0;
	}
}

static void begin_window(void *part)
{
	(void)part;
	gt_call_pause(false);
}

static void rest(void *part)
{
	gt_call_pause(true);
	end_thinning(part);
}

/* The drain thread still leaves out the slices of calls that lie in the rings: it may be at work.
 */
static void stop(void *part)
{
	(void)part;
	gt_nvtx_thin(false);
	gt_call_thin(false);
}

/* CUDA calls, and all else that lies in the rings of threads. */
const struct gt_collector gt_rings_collector = {
	.name = "calls",
	.start = start,
	.drain = drain,
	.counts = counts,
	.count_count = sizeof(counts) / sizeof(counts[0]),
	.count = count_calls,
	.begin = begin_window,
	.rest = rest,
	.stop = stop,
	.release = gt_threads_stop,
};

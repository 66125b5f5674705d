/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "pipeline/sources/cost.h"

#include <string.h>
#include <time.h>

#include "collectors/call/call.h"
#include "collectors/nvtx/asked.h"
#include "core/config.h"
#include "core/guest/background.h"
#include "core/guest/clock.h"
#include "core/guest/log.h"
#include "core/guest/text.h"
#include "core/intern.h"
#include "core/schema/metadata.h"
#include "core/thread.h"
#include "pipeline/output/outlet.h"
#include "pipeline/sources/collector.h"

#define MS_NS 1000000ull

/* ---- readings ---- */

static uint64_t process_time(void)
{
	struct timespec ts;

	if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts))
		return 0;
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static uint64_t launching_threads(void)
{
	uint64_t count = 0;

	for (const struct gt_thread *t = gt_threads_first(); t; t = t->next)
		count += atomic_load_explicit(&t->life, memory_order_relaxed) == GT_THREAD_LIVE &&
			 atomic_load_explicit(&t->counters[GT_THREAD_CALLS_SEEN],
					      memory_order_relaxed);
	return count;
}

static struct gt_cost_reading read_now(const struct gt_cost *cost)
{
	struct gt_cost_reading now = {
		.at = gt_clock_now(),
		.added = gt_threads_sum(GT_THREAD_COST_NS),
		.own = gt_background_time(),
		.process = process_time(),
		.calls = gt_threads_sum(GT_THREAD_CALLS_SEEN),
	};

	now.threads = cost->last.threads + (now.at - cost->last.at) * launching_threads();
	return now;
}

struct gt_cost_shares gt_cost_between(const struct gt_cost_reading *from,
				      const struct gt_cost_reading *to)
{
	return gt_cost_shares_of(&(struct gt_cost_sums){
		.added = to->added - from->added,
		.own = to->own - from->own,
		.process = to->process - from->process,
		.elapsed = to->at - from->at,
		.threads = to->threads - from->threads,
	});
}

/* ---- the counter track ---- */

static void put_counter(struct gt_cost *cost, uint64_t at, const char *series, uint32_t hundredths)
{
	struct gt_event event = {.kind = GT_EVENT_COUNTER};

	event.start = event.end = gt_clock_from_monotonic(cost->clock, at);
	event.counter.name = gt_intern_cstr(cost->strings, "tracer cost");
	event.counter.series = gt_intern_cstr(cost->strings, series);
	event.counter.real = (double)hundredths / 100;
	event.counter.is_real = true;
	gt_outlet_event(cost->outlet, &event);
}

static bool is_in_window(const struct gt_metadata *metadata)
{
	return metadata->window_begin != UINT64_MAX && !metadata->window_end;
}

static void put_counters(struct gt_cost *cost, uint64_t at, const struct gt_cost_shares *shares)
{
	if (!gt_output_is_open(cost->outlet->output) || !is_in_window(cost->metadata))
		return;
	put_counter(cost, at, "overhead %", shares->overhead);
	put_counter(cost, at, "launching threads %", shares->threads);
	put_counter(cost, at, "writing % of a core", shares->writing);
}

/* ---- --max-overhead ---- */

static void percent(uint32_t hundredths, char text[24])
{
	gt_text_format(text, 24, "%u.%u%u", hundredths / 100, hundredths / 10 % 10,
		       hundredths % 10);
}

static void note_change(struct gt_cost *cost, uint32_t level, uint32_t overhead)
{
	const struct gt_governor *governor = &cost->governor;
	bool lowers = governor->level > level;
	char measured[24], max[24], text[200];

	percent(overhead, measured);
	percent(governor->max, max);
	gt_text_format(text, sizeof(text), "overhead %s %%, --max-overhead=%s%%: %s: %s", measured,
		       max, lowers ? "no longer recorded" : "recorded again",
		       gt_governor_name(lowers ? governor->level : level));
	gt_outlet_note(cost->outlet,
		       &(struct gt_note_event){.name = "governor",
					       .what = gt_intern_cstr(cost->strings, text)->text,
					       .cause = "--max-overhead"});
	gt_log_verbose("%s", text);
}

static void apply(uint32_t level)
{
	gt_call_lower(&(struct gt_call_lowered){.stacks = level >= GT_GOVERNOR_STACKS,
						.python = level >= GT_GOVERNOR_PYTHON,
						.calls = level >= GT_GOVERNOR_CALLS,
						.steps = gt_governor_steps(level)});
}

void gt_cost_set_max(struct gt_cost *cost, uint32_t max)
{
	gt_governor_set_max(&cost->governor, max);
	apply(cost->governor.level);
}

/* A program without steps has periods for steps. */
static void take_step(struct gt_cost *cost)
{
	uint32_t named = gt_call_steps();

	if (cost->governor.level >= GT_GOVERNOR_STEPS && named == cost->named_steps)
		gt_call_next_step(false);
	cost->named_steps = named;
}

static void govern(struct gt_cost *cost, uint32_t overhead, bool is_active)
{
	uint32_t level = cost->governor.level;

	if (!is_in_window(cost->metadata))
		return;
	if (gt_governor_period(&cost->governor, overhead, is_active)) {
		apply(cost->governor.level);
		note_change(cost, level, overhead);
	}
	take_step(cost);
}

/* ---- the collector ---- */

static void check(void *part, uint64_t now)
{
	struct gt_cost *cost = part;
	struct gt_cost_reading reading;
	struct gt_cost_shares shares;

	if (now < cost->next)
		return;
	cost->next = now + (uint64_t)gt_config_number(cost->config, GT_CONFIG_FLUSH_PERIOD) * MS_NS;
	reading = read_now(cost);
	shares = gt_cost_between(&cost->last, &reading);
	put_counters(cost, reading.at, &shares);
	govern(cost, shares.overhead, reading.calls != cost->last.calls);
	cost->last = reading;
}

static int start(void *part)
{
	struct gt_cost *cost = part;
	const char *text = gt_config_text(cost->config, GT_CONFIG_MAX_OVERHEAD);
	uint32_t max;

	if (gt_governor_parse(text, &max))
		gt_log_say("'%s' is no value for GPUTRACE_MAX_OVERHEAD: it takes a percentage from "
			   "0.1 to 100; there is no maximum",
			   text);
	gt_governor_init(&cost->governor, max);
	apply(GT_GOVERNOR_NONE);
	gt_nvtx_asked_steps(gt_config_text(cost->config, GT_CONFIG_STEP_RANGE));
	cost->last = (struct gt_cost_reading){.at = gt_clock_now()};
	cost->first = cost->since = cost->last = read_now(cost);
	cost->next = cost->last.at +
		     (uint64_t)gt_config_number(cost->config, GT_CONFIG_FLUSH_PERIOD) * MS_NS;
	return 0;
}

void gt_cost_finish(struct gt_cost *cost)
{
	struct gt_cost_reading now = read_now(cost);
	struct gt_cost_shares shares = gt_cost_between(&cost->since, &now);
	char overhead[24], threads[24], writing[24];
	size_t n;

	percent(shares.overhead, overhead);
	percent(shares.threads, threads);
	percent(shares.writing, writing);
	n = gt_text_format(cost->metadata->cost, sizeof(cost->metadata->cost),
			   "overhead %s %%: %s %% of the launching threads' time, %s %% of a core "
			   "for writing",
			   overhead, threads, writing);
	if (cost->governor.max)
		gt_text_format(cost->metadata->cost + n, sizeof(cost->metadata->cost) - n,
			       "; --max-overhead: %u changes, not recorded at the end: %s",
			       cost->governor.changes, gt_governor_name(cost->governor.level));
	cost->metadata->generation++;
	cost->since = cost->last = now;
}

/* The last reading, so that the ledger of a trace says what its metadata.cost does. */
static uint64_t added(const void *part)
{
	const struct gt_cost *cost = part;

	return cost->last.added - cost->first.added;
}

static uint64_t own(const void *part)
{
	const struct gt_cost *cost = part;

	return cost->last.own - cost->first.own;
}

static uint64_t process(const void *part)
{
	const struct gt_cost *cost = part;

	return cost->last.process - cost->first.process;
}

static uint64_t elapsed(const void *part)
{
	const struct gt_cost *cost = part;

	return cost->last.at - cost->first.at;
}

static uint64_t threads(const void *part)
{
	const struct gt_cost *cost = part;

	return cost->last.threads - cost->first.threads;
}

static uint64_t stacks_governed(const void *part)
{
	(void)part;
	return gt_threads_sum(GT_THREAD_STACKS_GOVERNED);
}

static uint64_t python_governed(const void *part)
{
	(void)part;
	return gt_threads_sum(GT_THREAD_PYTHON_GOVERNED);
}

static const struct gt_collector_count counts[] = {
	{added, GT_LEDGER_COST_ADDED, NULL, NULL, NULL, NULL},
	{own, GT_LEDGER_COST_OWN, NULL, NULL, NULL, NULL},
	{process, GT_LEDGER_COST_PROCESS, NULL, NULL, NULL, NULL},
	{elapsed, GT_LEDGER_COST_ELAPSED, NULL, NULL, NULL, NULL},
	{threads, GT_LEDGER_COST_THREADS, NULL, NULL, NULL, NULL},
	{stacks_governed, GT_LEDGER_STACKS_GOVERNED, NULL, NULL, NULL, NULL},
	{python_governed, GT_LEDGER_PYTHON_GOVERNED, NULL, NULL, NULL, NULL},
};

static void stop(void *part)
{
	(void)part;
	apply(GT_GOVERNOR_NONE);
}

/* What tracing costs. */
const struct gt_collector gt_cost_collector = {
	.name = "cost",
	.start = start,
	.check = check,
	.counts = counts,
	.count_count = sizeof(counts) / sizeof(counts[0]),
	.stop = stop,
};

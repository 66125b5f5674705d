/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "pipeline/hang/watchdog.h"

#include "collectors/call/call.h"
#include "core/config.h"
#include "core/thread.h"
#include "pipeline/join/join.h"

/* The drain thread looks every 50 ms or more often. If it did not, the process was stopped, or the
 * machine slept: that time does not count. */
#define LONGEST_NS 2000000000u
#define DEFAULT_NS 2000000000u /* without --watchdog, for gputrace hang */

static void see_progress(struct gt_watchdog *w, const struct gt_call_join *join, uint64_t now)
{
	uint64_t records = join->flight.records;
	/* calls that are not recorded count when they begin */
	uint64_t calls = join->flight.calls + gt_threads_sum(GT_THREAD_CALLS_PASSED) +
			 gt_threads_sum(GT_THREAD_CALLS_FILTERED) +
			 gt_threads_sum(GT_THREAD_CALLS_LOST);

	if (records != w->records)
		w->gpu_at = w->since = now;
	if (calls != w->calls)
		w->call_at = w->since = now;
	w->records = records;
	w->calls = calls;
}

/* Work may be done that CUPTI has not delivered: a buffer comes back when all in it is done. Looked
 * at while nothing else moves, as often as makes four looks in --watchdog's time. */
static void see_buffers(struct gt_watchdog *w, const struct gt_call_join *join, uint64_t patience,
			uint64_t now)
{
	uint64_t every = (patience ? patience : DEFAULT_NS) / 4, done;
	bool is_first = w->asked_at < w->since;

	if (now - (is_first ? w->since : w->asked_at) < every || !*join->has_cupti ||
	    !gt_call_join_in_flight(join))
		return;
	done = w->done(w->of);
	if (done > w->done_count && !is_first)
		w->gpu_at = w->since = now;
	w->done_count = done;
	w->asked_at = now;
}

static void note_one(void *context, const struct gt_in_flight_launch *launch)
{
	bool *found = context;

	/* a graph of which some work came is done, as far as is known */
	*found |= launch->operations == 0;
}

static bool is_work_in_flight(const struct gt_call_join *join)
{
	bool found = false;

	if (*join->has_cupti && gt_call_join_in_flight(join))
		gt_in_flight_each(&join->flight, join->calls, note_one, &found);
	return found;
}

static bool is_thread_inside(void)
{
	struct gt_call_under_way call;

	for (struct gt_thread *t = gt_threads_first(); t; t = t->next)
		if (atomic_load_explicit(&t->life, memory_order_acquire) == GT_THREAD_LIVE &&
		    gt_call_find_under_way(t, &call))
			return true;
	return false;
}

enum gt_watchdog_state gt_watchdog_look(struct gt_watchdog *w, const struct gt_config *config,
					const struct gt_call_join *join, uint64_t now)
{
	uint64_t patience = (uint64_t)gt_config_number(config, GT_CONFIG_WATCHDOG);
	bool told = w->told;

	if (w->looked && now - w->looked > LONGEST_NS)
		w->since += now - w->looked;
	if (!w->since)
		w->since = now;
	w->looked = now;
	see_progress(w, join, now);
	see_buffers(w, join, patience, now);
	w->told &= w->since != now;
	if (told && !w->told)
		return GT_WATCHDOG_MOVES_AGAIN;
	if (!patience || told || now - w->since < patience)
		return GT_WATCHDOG_MOVES;
	w->told = gt_config_bool(config, GT_CONFIG_WATCHDOG_IDLE) || is_thread_inside() ||
		  is_work_in_flight(join);
	return w->told ? GT_WATCHDOG_STALLS : GT_WATCHDOG_MOVES;
}

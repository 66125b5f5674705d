/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "pipeline/window.h"

#include <string.h>

#include "collectors/trigger/trigger.h"
#include "core/config.h"
#include "core/guest/clock.h"
#include "core/guest/log.h"
#include "core/guest/text.h"
#include "core/schema/metadata.h"
#include "core/window/attached.h"
#include "core/window/capture_plan.h"
#include "core/window/when.h"

#define MS_NS 1000000u

/* The moment of --start-at; @now if there is none. A moment that has passed is now. */
static uint64_t start_at(const struct gt_config *config, const struct gt_clock_sample *now)
{
	const char *text = gt_config_text(config, GT_CONFIG_START_AT);
	uint64_t moment;

	if (!*text)
		return now->monotonic;
	if (gt_when_moment(text, now->realtime, &moment)) {
		gt_log_say("'%s' is no value for GPUTRACE_START_AT: it takes @SECONDS or "
			   "@YYYY-MM-DDTHH:MM:SS with Z or +HH:MM; recording starts now",
			   text);
		return now->monotonic;
	}
	if (moment >= now->realtime)
		return now->monotonic + (moment - now->realtime);
	gt_log_say("GPUTRACE_START_AT=%s has passed: recording starts now", text);
	return now->monotonic;
}

/* A range of the program's has begun. */
static bool is_in_range(void)
{
	uint64_t ended;

	return gt_trigger_look(&ended) >= GT_TRIGGER_ASKED;
}

static bool is_warming_up(void)
{
	uint64_t ended;

	return gt_trigger_look(&ended) == GT_TRIGGER_WARMS;
}

/* What is wrong was left out at the start of the program. */
static void make_plan(const struct gt_config *config, struct gt_capture_plan *ret_plan)
{
	static const struct {
		enum gt_option_id option;
		const char *takes;
	} rows[] = {
		{GT_CONFIG_CAPTURE_RANGE,
		 "it takes cudaProfilerApi, nvtx:NAME[@DOMAIN], python:FUNCTION or "
		 "cudaGraphLaunch[:N]; all is recorded"},
		{GT_CONFIG_CAPTURE_RANGE_END,
		 "it takes stop, none, repeat, repeat:N, stop-shutdown or repeat-shutdown:N; the "
		 "first range is recorded"},
		{GT_CONFIG_SCHEDULE,
		 "it takes SKIP_FIRST,WAIT,WARMUP,ACTIVE[,REPEAT]; there is no schedule"},
		{GT_CONFIG_STEP_RANGE,
		 "with --schedule it takes a name of 255 bytes at most; all is recorded"},
	};
	int wrong;

	gt_capture_plan_make(gt_config_text(config, GT_CONFIG_CAPTURE_RANGE),
			     gt_config_text(config, GT_CONFIG_CAPTURE_RANGE_END),
			     gt_config_text(config, GT_CONFIG_SCHEDULE),
			     gt_config_text(config, GT_CONFIG_STEP_RANGE), ret_plan, &wrong);
	if (wrong >= 0)
		gt_log_say("'%s' is no value for %s: %s",
			   gt_config_text(config, rows[wrong].option),
			   gt_options[rows[wrong].option].env, rows[wrong].takes);
}

/* A range that began before the session is recorded from its start on. */
static bool waits_for_range(void)
{
	if (!gt_window_is_of_ranges())
		return false;
	if (!is_in_range())
		return true;
	gt_trigger_begun();
	return false;
}

/* Which one of several. */
static void add_number(struct gt_metadata *metadata)
{
	size_t used = strlen(metadata->window);

	if (metadata->window_number)
		gt_text_format(metadata->window + used, sizeof(metadata->window) - used,
			       ", window %u", metadata->window_number);
}

bool gt_window_is_of_ranges(void)
{
	return gt_trigger_kind != GT_CAPTURE_ALL;
}

/* Of --wait: for a command. */
static bool waits_for_command(const struct gt_window *window, const struct gt_config *config)
{
	const char *why = NULL;

	if (!gt_config_bool(config, GT_CONFIG_WAIT))
		return false;
	if (gt_window_is_of_ranges())
		why = "the ranges of --capture-range begin the recording";
	else if (!window->is_controlled)
		why = "nobody can control this process (--control): recording starts now";
	if (why)
		gt_log_say("--wait: %s", why);
	return !why;
}

/* How many there may be. */
static uint32_t most_windows(const struct gt_window *window, const struct gt_capture_plan *plan)
{
	if (gt_window_is_of_ranges())
		return plan->windows;
	return window->is_controlled ? 0 : 1;
}

/* `gputrace attach` lets it begin, once the session has started. */
static void plan_attached(struct gt_window *window, const struct gt_config *config,
			  struct gt_metadata *metadata)
{
	*window =
		(struct gt_window){.begin = UINT64_MAX,
				   .length = (uint64_t)gt_config_number(config, GT_CONFIG_DURATION),
				   .is_attached = true};
	metadata->window_number = 1;
	metadata->window_begin = UINT64_MAX;
}

void gt_window_plan(struct gt_window *window, const struct gt_config *config, uint64_t loaded,
		    const struct gt_clock *clock, struct gt_metadata *metadata)
{
	const struct gt_clock_sample *now = &clock->first;
	uint64_t delayed = loaded + (uint64_t)gt_config_number(config, GT_CONFIG_DELAY);
	uint64_t begin = start_at(config, now);
	bool waits = waits_for_command(window, config);
	struct gt_capture_plan plan;

	if (gt_attached_is_on()) {
		plan_attached(window, config, metadata);
		return;
	}
	make_plan(config, &plan);
	if (delayed > begin)
		begin = delayed;
	if (waits_for_range() || waits)
		begin = UINT64_MAX;
	window->length = (uint64_t)gt_config_number(config, GT_CONFIG_DURATION);
	window->most = most_windows(window, &plan);
	window->shuts_down = gt_window_is_of_ranges() && plan.shuts_down;
	metadata->window_number = waits || (gt_window_is_of_ranges() && window->most != 1);
	if (begin > now->monotonic) {
		window->begin = begin;
		metadata->window_begin = UINT64_MAX;
		return;
	}
	window->began = now->monotonic;
	if (metadata->window_number) {
		gt_text_format(metadata->window, sizeof(metadata->window), "from 0 ms on");
		add_number(metadata);
	}
}

bool gt_window_waits(const struct gt_window *window)
{
	return !window->began;
}

/* The range's, or that of --duration. UINT64_MAX: none. */
static uint64_t end_of(const struct gt_window *window)
{
	uint64_t end = window->length ? window->began + window->length : UINT64_MAX, range_end;

	if (window->is_attached)
		return gt_attached_wants_records() ? end : 0;
	if (gt_trigger_look(&range_end) != GT_TRIGGER_ENDED)
		return end;
	if (range_end < window->began)
		range_end = window->began;
	return range_end < end ? range_end : end;
}

void gt_window_ask(struct gt_window *window, enum gt_window_request request)
{
	window->request = request;
}

/* UINT64_MAX: none. */
static uint64_t next_change(const struct gt_window *window)
{
	if (window->request ==
	    (gt_window_waits(window) ? GT_WINDOW_ASKED_BEGIN : GT_WINDOW_ASKED_END))
		return 0;
	if (!gt_window_waits(window))
		return end_of(window);
	if (window->is_attached)
		return gt_attached_wants_records() ? 0 : UINT64_MAX;
	return window->begin == UINT64_MAX && is_in_range() ? 0 : window->begin;
}

bool gt_window_repeats(const struct gt_window *window, const struct gt_metadata *metadata)
{
	uint32_t number = metadata->window_number ? metadata->window_number : 1; /* one alone: 0 */

	return !window->most || number < window->most;
}

enum gt_window_step gt_window_step(const struct gt_window *window, uint64_t now)
{
	if (window->ended)
		return GT_WINDOW_STAYS;
	if (gt_window_waits(window) && !window->is_warm && is_warming_up())
		return GT_WINDOW_WARMS;
	if (now < next_change(window))
		return GT_WINDOW_STAYS;
	return gt_window_waits(window) ? GT_WINDOW_BEGINS : GT_WINDOW_ENDS;
}

uint64_t gt_window_holds(const struct gt_window *window, uint64_t now)
{
	uint64_t change = next_change(window);

	return change > now ? change - now : 0;
}

/* Trace clock ns since the start of the session, in ms. */
static uint64_t since_start(const struct gt_metadata *metadata, uint64_t time)
{
	return time > metadata->start ? (time - metadata->start) / MS_NS : 0;
}

void gt_window_begun(struct gt_window *window, uint64_t now, const struct gt_clock *clock,
		     struct gt_metadata *metadata)
{
	uint64_t ms;

	window->began = now;
	window->request = GT_WINDOW_ASKED_NOTHING;
	metadata->window_begin = gt_clock_from_monotonic(clock, now);
	ms = since_start(metadata, metadata->window_begin);
	gt_text_format(metadata->window, sizeof(metadata->window), "from %lu ms on",
		       (unsigned long)ms);
	add_number(metadata);
	metadata->generation++;
}

void gt_window_ended(struct gt_window *window, uint64_t now, const struct gt_clock *clock,
		     struct gt_metadata *metadata)
{
	bool is_of_ranges = gt_window_is_of_ranges() && !window->is_attached;
	uint64_t end = is_of_ranges ? end_of(window) : now;
	uint64_t from = gt_clock_from_monotonic(clock, window->began);
	uint64_t to = gt_clock_from_monotonic(clock, end < now ? end : now);

	if (!metadata->window_number && window->most != 1) /* another one may follow */
		metadata->window_number = 1;
	gt_text_format(metadata->window, sizeof(metadata->window), "from %lu ms to %lu ms",
		       (unsigned long)since_start(metadata, from),
		       (unsigned long)since_start(metadata, to));
	add_number(metadata);
	metadata->window_end = to;
	metadata->generation++;
	window->ended = true;
}

uint64_t gt_window_from(const struct gt_metadata *metadata, uint64_t from, uint64_t to)
{
	uint64_t begin = metadata->window_begin; /* UINT64_MAX: it waits */

	if (begin > to)
		return to;
	return begin > from ? begin : from;
}

void gt_window_again(struct gt_window *window, struct gt_metadata *metadata)
{
	window->begin = UINT64_MAX;
	window->began = 0;
	window->is_warm = window->ended = false;
	window->request = GT_WINDOW_ASKED_NOTHING;
	metadata->window_begin = UINT64_MAX;
	metadata->window_end = 0;
	metadata->window_number++;
	*metadata->window = 0;
	metadata->generation++;
}

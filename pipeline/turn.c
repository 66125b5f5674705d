/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "pipeline/turn.h"

#include <string.h>

#include "collectors/cupti/buffers.h"
#include "collectors/cupti/contexts.h"
#include "core/guest/log.h"
#include "core/guest/seccomp.h"
#include "core/guest/text.h"
#include "core/intern.h"
#include "core/spool.h"
#include "core/window/attached.h"
#include "pipeline/dump_signal.h"
#include "pipeline/pipeline.h"
#include "pipeline/ranges/ranges.h"
#include "pipeline/sources/crash_stack.h"

#define MS_NS           1000000ull
#define SOON_FLUSHES    5
#define SOON_NS         (20 * MS_NS)
#define CLOCK_EVERY_NS  (1000 * MS_NS)
#define CLOCK_SECOND_NS (20 * MS_NS) /* two samples tell the rate of the processor's counter */
#define CLOCK_THIRD_NS  (40 * MS_NS) /* and soon better */
#define CLOCK_FOURTH_NS (140 * MS_NS)

/* The flush period with --hw-trace=on, unless one is given. */
#define HW_TRACE_MS     200u

/* Flush periods in one, outside of a window. */
#define REST_FLUSHES    4u

/* Some tenths of a second's work, however much there is: the clock, the file and a crash want their
 * turn. */
#define ROUND_BYTES     ((size_t)16 << 20)

int gt_turn_start(struct gt_pipeline *p)
{
	int error = gt_collectors_start(&p->collectors);

	if (error)
		return error;
	if (gt_spool_is_open()) /* recovery needs them, however early the process is killed */
		gt_call_stacks_refresh(&p->stacks);
	gt_spooling_recorder(&p->spooling, p->recorder.store);
	gt_spooling_begun(&p->spooling);
	return 0;
}

static uint64_t take(struct gt_pipeline *p, size_t bytes)
{
	uint64_t work;

	gt_call_stacks_refresh(&p->stacks);
	work = gt_collectors_read(&p->collectors, bytes);
	gt_call_join_settle(&p->join, false);
	gt_ranges_settle(p->ranges, false);
	gt_release_buffers(&p->release);
	return work;
}

uint64_t gt_turn_round(struct gt_pipeline *p)
{
	return take(p, ROUND_BYTES);
}

void gt_turn_all(struct gt_pipeline *p)
{
	take(p, gt_collectors_waiting(&p->collectors));
}

uint32_t gt_turn_fullest(struct gt_pipeline *p)
{
	return gt_rings_fullest(&p->rings);
}

static uint64_t clock_pause(const struct gt_clock *clock)
{
	return clock->count == 1   ? CLOCK_SECOND_NS
	       : clock->count == 2 ? CLOCK_THIRD_NS
	       : clock->count == 3 ? CLOCK_FOURTH_NS
				   : CLOCK_EVERY_NS;
}

static void steer(struct gt_pipeline *p)
{
	struct gt_fast_clock_sample sample = gt_fast_clock_sample();
	bool changed = gt_fast_clock_steer(&p->fast_clock, &sample, gt_arch_ticks());

	gt_fast_clock_describe(&p->fast_clock, p->metadata.clock, sizeof(p->metadata.clock));
	p->metadata.generation += changed;
	if (changed && p->fast_clock.state == GT_FAST_CLOCK_LEFT)
		gt_outlet_note(&p->outlet, &(struct gt_note_event){.name = "clock",
								   .what = p->metadata.clock,
								   .cause = "clock"});
}

void gt_turn_clock(struct gt_pipeline *p, uint64_t now)
{
	struct gt_clock *clock = &p->clock;
	int64_t step;

	if (now < p->next_clock)
		return;
	gt_dump_signal_watch();
	p->next_clock = now + clock_pause(clock);
	steer(p);
	gt_clock_sample(clock, &step);
	gt_spooling_clock(&p->spooling);
	p->metadata.clock_last = clock->samples[clock->count - 1];
	if (step)
		gt_outlet_note(&p->outlet, &(struct gt_note_event){
						   .name = "clock step",
						   .what = "CLOCK_REALTIME was set",
						   .cause = "clock step",
						   .of_what = "ns",
						   .count = (uint64_t)(step < 0 ? -step : step)});
}

void gt_turn_clock_ends(struct gt_pipeline *p)
{
	gt_fast_clock_stop(&p->fast_clock);
}

/* What the trace says about a filter. */
static const char *const filters[] = {
	[GT_SECCOMP_NONE] = "",
	[GT_SECCOMP_INHERITED] = "filter since the start: memory is read through /proc/self/mem",
	[GT_SECCOMP_OWN] = ("filter of the program: new folders, a new spool, samples of running "
			    "threads, and priority and processors of our threads are left out"),
};

void gt_turn_seccomp(struct gt_pipeline *p, bool started)
{
	enum gt_seccomp now = gt_seccomp_seen();

	if (now == p->seccomp)
		return;
	p->seccomp = now;
	gt_text_format(p->metadata.seccomp, sizeof(p->metadata.seccomp), "%s", filters[now]);
	p->metadata.generation++;
	if (started)
		gt_outlet_note(&p->outlet, &(struct gt_note_event){.name = "seccomp filter",
								   .what = filters[now],
								   .cause = "seccomp filter"});
}

void gt_turn_range_ended(const struct gt_pipeline *p, uint64_t time)
{
	gt_spooling_range_ended(&p->spooling, time);
}

enum gt_window_step gt_turn_window(const struct gt_pipeline *p, uint64_t now)
{
	return gt_window_step(&p->window, now);
}

uint64_t gt_turn_window_holds(const struct gt_pipeline *p, uint64_t now)
{
	return gt_window_holds(&p->window, now);
}

void gt_turn_window_ask(struct gt_pipeline *p, enum gt_window_request request)
{
	gt_window_ask(&p->window, request);
}

bool gt_turn_window_is_warm(const struct gt_pipeline *p)
{
	return p->window.is_warm;
}

void gt_turn_window_warms(struct gt_pipeline *p)
{
	p->window.is_warm = true;
	p->next_flush = 0;
}

bool gt_turn_shuts_down(const struct gt_pipeline *p)
{
	return p->window.shuts_down;
}

bool gt_turn_window_repeats(const struct gt_pipeline *p)
{
	const struct gt_sink *sink = p->output.sink;

	/* a pipe has one trace */
	return gt_window_repeats(&p->window, &p->metadata) && (!sink || gt_sink_can_patch(sink));
}

static void begin_filters(struct gt_pipeline *p)
{
	if (!gt_filters_begin(&p->filters))
		return;
	p->outlet.filters = gt_capture_filter_is_set(&p->filters.asked) ? &p->filters : NULL;
	gt_capture_filter_describe(&p->filters.asked, p->metadata.filters);
	p->metadata.generation++;
}

/* CUPTI's hardware event system overwrites without a word what is not fetched in time. */
static uint64_t flush_period(const struct gt_pipeline *p)
{
	uint64_t chosen = (uint64_t)gt_config_number(&p->config, GT_CONFIG_FLUSH_PERIOD);
	bool is_limited = p->config.value[GT_CONFIG_FLUSH_PERIOD].is_default &&
			  !strcmp(p->metadata.hw_trace, "on");

	return (is_limited && chosen > HW_TRACE_MS ? HW_TRACE_MS : chosen) * MS_NS;
}

/* What was set for the next trace. */
static void show_options(struct gt_pipeline *p)
{
	if (!p->has_shown)
		return;
	p->shown = p->config;
	gt_config_describe(&p->config, p->metadata.options, sizeof(p->metadata.options));
	p->metadata.generation++;
}

/* Into the folder that this attach gave, which the next one may not. */
static void move_output(struct gt_pipeline *p)
{
	const char *given = gt_attached_option(gt_options[GT_CONFIG_OUTPUT].env);

	gt_output_move(&p->output, given);
	if (given && !gt_config_set(&p->config, GT_CONFIG_OUTPUT,
				    gt_intern_cstr(p->stores.strings, given)->text))
		p->has_shown = true;
}

void gt_turn_window_begun(struct gt_pipeline *p, uint64_t now)
{
	gt_spooling_range_ended(&p->spooling, 0);
	if (p->window.is_attached)
		move_output(p);
	begin_filters(p);
	show_options(p);
	gt_window_begun(&p->window, now, &p->clock, &p->metadata);
	p->next_flush = now + flush_period(p);
	gt_outlet_open(&p->outlet);      /* also for nothing: it was asked for */
	gt_release_buffers(&p->release); /* a kill may come next: the spool knows of the window */
}

bool gt_turn_is_attached(const struct gt_pipeline *p)
{
	return p->window.is_attached;
}

bool gt_turn_window_waits(const struct gt_pipeline *p)
{
	return gt_window_waits(&p->window);
}

/* The warm-up is none: CUPTI records. */
bool gt_turn_rests(const struct gt_pipeline *p)
{
	return gt_window_waits(&p->window) && !p->window.is_warm;
}

void gt_turn_window_ended(struct gt_pipeline *p, uint64_t now)
{
	gt_window_ended(&p->window, now, &p->clock, &p->metadata);
	gt_release_buffers(&p->release); /* as above */
}

bool gt_turn_watch(struct gt_pipeline *p, uint64_t now)
{
	return gt_hang_watch(&p->hang, now);
}

uint64_t gt_turn_flush_soon(struct gt_pipeline *p, bool is_under_way)
{
	p->next_flush = 0;
	return p->flushes + 1 + is_under_way;
}

uint64_t gt_turn_flushes(const struct gt_pipeline *p)
{
	return p->flushes;
}

uint64_t gt_turn_undelivered(const struct gt_pipeline *p)
{
	return p->hang.watchdog.done(p->hang.watchdog.of);
}

/* A GPU is known by CUPTI's record of it, which comes with a context; a short run must not wait for
 * the flush period until its power is read. */
static bool awaits_devices(struct gt_pipeline *p, uint64_t now)
{
	uint32_t made = gt_cupti_contexts_made();

	if (!p->health.has_thread)
		return false;
	if (made != p->soon.made) {
		p->soon.made = made;
		p->soon.left = SOON_FLUSHES;
		p->soon.next = now;
	}
	if (!p->soon.left || now < p->soon.next)
		return false;
	p->soon.left--;
	p->soon.next = now + SOON_NS;
	return true;
}

bool gt_turn_flush_is_due(struct gt_pipeline *p, uint64_t now)
{
	if (awaits_devices(p, now) || gt_cupti_buffers_are_many())
		return true;
	if (now < p->next_flush)
		return false;
	p->next_flush = now + flush_period(p) * (gt_turn_rests(p) ? REST_FLUSHES : 1);
	return true;
}

void gt_turn_tell(struct gt_pipeline *p, uint64_t now)
{
	if (now < p->next_tell || gt_turn_rests(p))
		return;
	p->next_tell = now + flush_period(p);
	gt_collectors_report(&p->collectors);
	gt_outlet_flush(&p->outlet, false);
}

void gt_turn_report(struct gt_pipeline *p)
{
	p->flushes++;
	gt_collectors_report(&p->collectors);
	gt_frameworks_notify(&p->frameworks);
	gt_outlet_flush(&p->outlet, false);
}

void gt_turn_write(struct gt_pipeline *p, bool everything)
{
	gt_outlet_flush(&p->outlet, everything);
}

static void finish_events(struct gt_pipeline *p)
{
	gt_calls_finish(&p->calls);
	gt_holdings_finish(&p->holdings);
	gt_call_stacks_finish(&p->stacks);
	gt_cost_finish(&p->cost);
	gt_collectors_report(&p->collectors);
}

void gt_turn_cut(struct gt_pipeline *p)
{
	gt_collectors_check(&p->collectors, gt_clock_now());
	gt_ranges_cut(p->ranges);
	finish_events(p);
}

void gt_turn_close_window(struct gt_pipeline *p)
{
	struct gt_ledger ledger;

	gt_turn_all(p);
	gt_call_join_settle(&p->join, true);
	gt_turn_cut(p);
	gt_outlet_flush(&p->outlet, true);
	ledger = p->ledger;
	gt_collectors_count(&p->collectors, &ledger);
	gt_frameworks_notify(&p->frameworks);
	gt_output_end_window(&p->output, &ledger,
			     gt_call_join_give_up(&p->join, ledger.count[GT_LEDGER_OPS_IN_FLIGHT]));
	gt_spooling_given_up(&p->spooling, p->join.given_up);
	p->closed = ledger;
	gt_release_all(&p->release);
	gt_output_set_name(""); /* from here on a kill leaves nothing of the window to recover */
	gt_window_again(&p->window, &p->metadata);
}

void gt_turn_last(struct gt_pipeline *p)
{
	gt_turn_all(p);
	gt_collectors_check(&p->collectors, gt_clock_now());
	gt_hang_end(&p->hang, gt_clock_now());
	gt_call_join_settle(&p->join, true);
	gt_ranges_settle(p->ranges, true);
	finish_events(p);
}

void gt_turn_close(struct gt_pipeline *p)
{
	gt_seccomp_check(); /* removing the spool is no common call */
	gt_turn_seccomp(p, true);
	gt_turn_last(p);
	if (!p->output.writer && p->outlet.early.count)
		gt_log_verbose("%lu CUDA events and no GPU work: no trace is written",
			       (unsigned long)p->outlet.early.count);
	/* files that become full now close with what was counted so far */
	gt_outlet_flush(&p->outlet, true);
	gt_collectors_count(&p->collectors, &p->ledger);
	gt_frameworks_notify(&p->frameworks);
	if (*p->metadata.spool == '/')
		*p->metadata.spool = 0;
	if (!gt_output_close(&p->output)) /* else repair needs it */
		gt_spool_remove();
}

const struct gt_output_end *gt_turn_ended(const struct gt_pipeline *p)
{
	return &p->output.ended;
}

void gt_turn_crash(struct gt_pipeline *p, const struct gt_crash_report *crash)
{
	struct gt_event event = {.kind = GT_EVENT_NOTE, .tid = crash->tid};

	event.start = event.end = gt_clock_from_monotonic(&p->clock, gt_clock_now());
	event.stack = gt_crash_stack(&p->stacks, &crash->regs, crash->thread);
	event.note =
		(struct gt_note_event){.name = "crash", .what = crash->what, .cause = crash->cause};
	gt_outlet_event(&p->outlet, &event);
}

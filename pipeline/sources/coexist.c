/* SPDX-License-Identifier: Apache-2.0
 *
 * Other tools in the process, see the header. Drain thread, but for what other tools call.
 */
#include "pipeline/sources/coexist.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "collectors/call/call.h"
#include "collectors/cupti/buffers.h"
#include "collectors/cupti/foreign.h"
#include "core/guest/clock.h"
#include "core/guest/forkguard.h"
#include "core/guest/log.h"
#include "core/guest/text.h"
#include "core/intern.h"
#include "core/thread.h"
#include "core/window/attached.h"
#include "pipeline/output/outlet.h"
#include "pipeline/sources/collector.h"
#include "pipeline/sources/gpu.h"
#include "pipeline/sources/state.h"

/* At most so often: what GPU work was waited for must have had the time to be fetched twice. */
#define POLL_EVERY_NS 500000000ull

#define LEAST_RECORD  144u /* bytes of a kernel's, CUpti_ActivityKernel8 */

static _Atomic bool yields; /* --coexist=yield, for threads of other tools */

/* ---- who records calls ---- */

/* A forked child and the end of the session have other plans with the state. */
static void switch_calls(int from, int to)
{
	atomic_compare_exchange_strong(&gt_session_state, &from, to);
}

static void calls_from_hooks(void)
{
	switch_calls(GT_SESSION_CUPTI, GT_SESSION_HOOKS);
	gt_call_change_source();
}

void gt_coexist_on_failure(void)
{
	calls_from_hooks();
}

void gt_coexist_before_subscribe(const char *library)
{
	gt_cupti_foreign_subscribing(library);
	if (!gt_forkguard_holds() || atomic_load(&gt_session_state) != GT_SESSION_CUPTI ||
	    !atomic_load(&yields))
		return;
	gt_cupti_yield();
	calls_from_hooks();
}

/* ---- gaps ---- */

/* The reason and, where it is known, who or what. */
static const char *reason_text(const struct gt_coexist *c, enum gt_cupti_hold reason)
{
	const char *what = gt_cupti_foreign_library();
	char text[256];

	if (reason == GT_CUPTI_REFUSED)
		return gt_intern_cstr(c->strings, c->gpu->status.why)->text;
	if (reason == GT_CUPTI_FAILED)
		what = gt_cupti_fatal();
	if (!what || !*what)
		return gt_cupti_hold_text(reason);
	gt_text_format(text, sizeof(text), "%s: %s", gt_cupti_hold_text(reason), what);
	return gt_intern_cstr(c->strings, text)->text;
}

static void write_note(const struct gt_coexist *c, const struct gt_note_event *note)
{
	gt_outlet_note(c->gpu->join->outlet, note);
}

/* Since when another tool has the buffers, trace ns; 0: not known. Calls of before may still be in
 * the rings. */
static uint64_t gap_from(const struct gt_coexist *c, enum gt_cupti_hold reason)
{
	uint64_t at = gt_cupti_foreign_get().registered_at;

	if (reason != GT_CUPTI_BUFFERS_TAKEN || !at)
		return 0;
	return gt_clock_from_monotonic(c->gpu->translate.clock, at);
}

/* In the ledger from here on: every launch of the gap that is received, until it ends. */
static void begin_gap(struct gt_coexist *c, enum gt_cupti_hold reason)
{
	const char *text = reason_text(c, reason);
	struct gt_call_join *join = c->gpu->join;

	if (!join->in_gap) {
		c->launches_begin = c->gpu->ledger->count[GT_LEDGER_LAUNCHES_IN_GAPS];
		join->gap_from = gap_from(c, reason);
	}
	join->in_gap = true;
	if (reason != GT_CUPTI_REFUSED) /* that was said at the start */
		gt_log_say("%s: GPU work is not recorded now", text);
	write_note(c, &(struct gt_note_event){.name = "capture gap",
					      .what = text,
					      .cause = reason == GT_CUPTI_FAILED ? "fatal"
										 : "other tool"});
}

static void end_gap(struct gt_coexist *c)
{
	const char *text = gt_cupti_hold_text(c->hold);
	struct gt_gpu *gpu = c->gpu;
	uint64_t launches = gpu->ledger->count[GT_LEDGER_LAUNCHES_IN_GAPS] - c->launches_begin;

	gpu->join->in_gap = false;
	c->unanswered = gt_call_join_in_flight(gpu->join);
	/* no callback has told when the driver was up: it is by now */
	if (!gpu->has_cupti && gpu->watch_end)
		gpu->watch_end();
	gpu->has_cupti = true;
	gpu->metadata->mode = "cupti";
	/* too late for whole graphs and the hardware event system: says so where asked for */
	gt_text_format(gpu->metadata->graphs, sizeof(gpu->metadata->graphs), "%s",
		       gpu->status.graphs);
	gt_text_format(gpu->metadata->hw_trace, sizeof(gpu->metadata->hw_trace), "%s",
		       gpu->status.hw_trace);
	gt_log_say("%s: GPU work is recorded again", text);
	write_note(c, &(struct gt_note_event){.name = "capture resumed",
					      .what = text,
					      .cause = "other tool",
					      .of_what = "launches",
					      .count = launches});
}

static void report_clock(struct gt_coexist *c)
{
	static const struct gt_note_event note = {
		.name = "foreign clock",
		.what = "CUPTI's records have the stamps of another clock: converted",
		.cause = "CUPTI's clock",
	};

	if (c->clock_reported || !c->gpu->ledger->count[GT_LEDGER_TIME_FOREIGN])
		return;
	c->clock_reported = true;
	write_note(c, &note);
}

/* Who has asked for cuptiFinalize got it for itself. */
static void report_detached(struct gt_coexist *c)
{
	uint64_t detached = gt_cupti_foreign_get().detached;
	char text[256];

	if (detached == c->detached)
		return;
	c->detached = detached;
	gt_text_format(text, sizeof(text), "cuptiFinalize detached %s alone",
		       gt_cupti_foreign_library());
	gt_log_say("%s: CUPTI is in use", text);
	write_note(c, &(struct gt_note_event){.name = "CUPTI kept",
					      .what = gt_intern_cstr(c->strings, text)->text,
					      .cause = "other tool"});
}

/* Writes it into the trace, and switches between callbacks and hooks. */
static void report(struct gt_coexist *c)
{
	const struct gt_cupti_watch *watch = &c->watch;

	report_clock(c);
	report_detached(c);
	if (watch->gaps != c->gaps ||
	    (watch->hold != c->hold && !gt_cupti_watch_has_records(watch)))
		begin_gap(c, watch->reason);
	c->gpu->ledger->count[GT_LEDGER_CAPTURE_GAPS] = c->gaps = watch->gaps;
	c->hold = watch->hold;
	if (gt_cupti_watch_has_records(watch) && c->gpu->join->in_gap)
		end_gap(c);
	if (gt_cupti_watch_has_calls(watch))
		switch_calls(GT_SESSION_HOOKS, GT_SESSION_CUPTI);
	else if (atomic_load(&gt_session_state) == GT_SESSION_CUPTI)
		calls_from_hooks();
}

/* ---- as a collector, behind CUPTI's ---- */

static int start(void *part)
{
	struct gt_coexist *c = part;
	struct gt_gpu *gpu = c->gpu;

	atomic_store(&yields, !strcmp(gt_config_text(gpu->config, GT_CONFIG_COEXIST), "yield"));
	c->watches = gt_cupti_watch_start(&c->watch, gpu->config, &gpu->status, gpu->started,
					  gt_clock_now());
	if (c->watches)
		report(c);
	return 0;
}

/* What is known of CUPTI's doings. */
static struct gt_cupti_signs make_signs(const struct gt_gpu *gpu, uint64_t now, bool flushed)
{
	const uint64_t *count = gpu->ledger->count;
	uint64_t flush = gt_clock_from_monotonic(gpu->translate.clock, now);
	uint64_t most = gt_cupti_buffers_lent_bytes() / LEAST_RECORD;

	return (struct gt_cupti_signs){
		.now = now,
		.calls = gt_threads_sum(GT_THREAD_CALLS_SEEN),
		.records = count[GT_LEDGER_RECORDS_KERNEL] + count[GT_LEDGER_RECORDS_MEMCPY] +
			   count[GT_LEDGER_RECORDS_MEMSET] + count[GT_LEDGER_RECORDS_GRAPH],
		.unanswered =
			flushed && gt_unanswered_is_certain(&gpu->join->unanswered, flush, most),
	};
}

static bool poll_is_due(void *part, uint64_t now, bool flushed)
{
	struct gt_coexist *c = part;
	uint64_t changes = gt_cupti_foreign_get().changes;

	if (!c->watches || (changes == c->changes && (!flushed || now < c->next_poll)))
		return false;
	if (flushed)
		c->next_poll = now + POLL_EVERY_NS;
	c->changes = changes;
	c->signs = make_signs(c->gpu, now, flushed);
	return true;
}

static void poll_cupti(void *part)
{
	struct gt_coexist *c = part;

	gt_cupti_watch_poll(&c->watch, &c->signs);
}

static void polled(void *part)
{
	report(part);
}

/* A fatal error inside CUPTI, told at once. */
static void check(void *part, uint64_t now)
{
	struct gt_coexist *c = part;

	if (c->watches && gt_cupti_watch_poll_failure(&c->watch, now))
		report(c);
}

/* Launches whose record may still come. */
static uint64_t outstanding(const void *part)
{
	const struct gt_coexist *c = part;
	uint64_t in_flight = gt_call_join_in_flight(c->gpu->join);

	if (!c->gpu->has_cupti || c->gpu->join->in_gap || in_flight < c->unanswered)
		return 0;
	return in_flight - c->unanswered;
}

static void leave(void *part, bool stuck)
{
	struct gt_coexist *c = part;

	if (stuck)
		c->watches = false;
}

/* Behind CUPTI's own, which has subscribed again, or was refused. */
static void begin(void *part)
{
	struct gt_coexist *c = part;
	struct gt_gpu *gpu = c->gpu;

	if (c->watches || !gt_attached_is_on())
		return;
	c->watches = gt_cupti_watch_start(&c->watch, gpu->config, &gpu->status,
					  *gpu->status.why ? -EBUSY : 0, gt_clock_now());
}

static void part_with(void *part)
{
	struct gt_coexist *c = part;

	c->watches = false;
	c->gaps = 0;
}

/* Other tools that use CUPTI. */
const struct gt_collector gt_coexist_collector = {
	.name = "coexistence",
	.start = start,
	.begin = begin,
	.part_with = part_with,
	.check = check,
	.poll_is_due = poll_is_due,
	.poll = poll_cupti,
	.polled = polled,
	.outstanding = outstanding,
	.leave = leave,
};

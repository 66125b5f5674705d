/* SPDX-License-Identifier: Apache-2.0
 *
 * Other tools in the process, see the header. Drain thread, but for what other tools call.
 */
#include "pipeline/coexist.h"

#include <string.h>

#include "collectors/call/call.h"
#include "collectors/cupti/buffers.h"
#include "collectors/cupti/foreign.h"
#include "core/guest/forkguard.h"
#include "core/guest/log.h"
#include "core/guest/memory.h"
#include "core/guest/text.h"
#include "core/thread.h"
#include "pipeline/session.h"

/* At most so often: what GPU work was waited for must have had the time to be fetched twice. */
#define LOOK_EVERY_NS 500000000ull

void gt_coexist_start(struct gt_session *s, int started)
{
	struct gt_coexist *c = &s->coexist;

	c->watches =
		gt_cupti_watch_start(&c->watch, &s->config, &s->cupti, started, gt_clock_now());
	if (c->watches)
		gt_coexist_report(s);
}

bool gt_coexist_is_due(struct gt_session *s, uint64_t now, bool flushed)
{
	struct gt_coexist *c = &s->coexist;
	uint64_t changes = gt_cupti_foreign_get().changes;

	if (!c->watches || (changes == c->changes && (!flushed || now < c->next_poll)))
		return false;
	if (flushed)
		c->next_poll = now + LOOK_EVERY_NS;
	c->changes = changes;
	return true;
}

#define LEAST_RECORD 144u /* bytes of a kernel's, CUpti_ActivityKernel8 */

/* What was waited for before the flush began must have come with it, unless CUPTI keeps its buffer
 * for work that is under way: when there may be some, more than fits into a buffer must be
 * missing. */
static bool is_unanswered(const struct gt_session *s, uint64_t flush)
{
	const struct gt_emit *emit = &s->emit;

	if (!emit->waited || emit->waited >= gt_clock_from_monotonic(&s->clock, flush))
		return false;
	return emit->idle || emit->launched > gt_cupti_buffers_given() / LEAST_RECORD;
}

struct gt_cupti_signs gt_coexist_signs(const struct gt_session *s, uint64_t now, bool flushed)
{
	const uint64_t *count = s->ledger.count;

	return (struct gt_cupti_signs){
		.now = now,
		.calls = gt_threads_sum(GT_THREAD_CALLS_SEEN),
		.records = count[GT_LEDGER_RECORDS_KERNEL] + count[GT_LEDGER_RECORDS_MEMCPY] +
			   count[GT_LEDGER_RECORDS_MEMSET],
		.unanswered = flushed && is_unanswered(s, now),
	};
}

void gt_coexist_poll(struct gt_session *s, const struct gt_cupti_signs *signs)
{
	gt_cupti_watch_poll(&s->coexist.watch, signs);
}

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

/* The reason and, where it is known, who or what. */
static const char *reason_text(struct gt_session *s, enum gt_cupti_hold reason)
{
	const char *what = gt_cupti_foreign_library();
	char text[256];

	if (reason == GT_CUPTI_REFUSED)
		return gt_intern_cstr(s->strings, s->cupti.why)->text;
	if (reason == GT_CUPTI_FAILED)
		what = gt_cupti_fatal();
	if (!what || !*what)
		return gt_cupti_hold_text(reason);
	gt_text_format(text, sizeof(text), "%s: %s", gt_cupti_hold_text(reason), what);
	return gt_intern_cstr(s->strings, text)->text;
}

/* In the ledger from here on: every launch that is received, until the gap ends. */
static void begin_gap(struct gt_session *s, enum gt_cupti_hold reason)
{
	struct gt_coexist *c = &s->coexist;
	const char *text = reason_text(s, reason);

	if (!c->in_gap)
		c->launches_begin = s->ledger.count[GT_LEDGER_LAUNCHES_IN_GAPS];
	c->in_gap = true;
	if (reason != GT_CUPTI_REFUSED) /* that was said at the start */
		gt_log_say("%s: GPU work is not recorded now", text);
	gt_emit_note(s, "capture gap", text, reason == GT_CUPTI_FAILED ? "fatal" : "other tool",
		     NULL, 0);
}

static void end_gap(struct gt_session *s)
{
	struct gt_coexist *c = &s->coexist;
	const char *text = gt_cupti_hold_text(c->hold);
	uint64_t launches = s->ledger.count[GT_LEDGER_LAUNCHES_IN_GAPS] - c->launches_begin;

	c->in_gap = false;
	c->unanswered = gt_correlate_count(s->emit.calls).in_flight;
	if (!s->has_cupti &&
	    s->watch_end) /* no callback has told when the driver was up: it is by now */
		s->watch_end();
	s->has_cupti = true;
	s->metadata.mode = "cupti";
	gt_log_say("%s: GPU work is recorded again", text);
	gt_emit_note(s, "capture resumed", text, "other tool", "launches", launches);
}

static void report_clock(struct gt_session *s)
{
	if (s->coexist.clock_reported || !s->ledger.count[GT_LEDGER_TIME_FOREIGN])
		return;
	s->coexist.clock_reported = true;
	gt_emit_note(s, "foreign clock", "another tool's clock stamps CUPTI's records: converted",
		     "other tool", NULL, 0);
}

/* Who has asked for cuptiFinalize got it for itself. */
static void report_detached(struct gt_session *s)
{
	struct gt_coexist *c = &s->coexist;
	uint64_t detached = gt_cupti_foreign_get().detached;
	char text[256];

	if (detached == c->detached)
		return;
	c->detached = detached;
	gt_text_format(text, sizeof(text), "cuptiFinalize detached %s alone",
		       gt_cupti_foreign_library());
	gt_log_say("%s: CUPTI is in use", text);
	gt_emit_note(s, "CUPTI kept", gt_intern_cstr(s->strings, text)->text, "other tool", NULL,
		     0);
}

void gt_coexist_report(struct gt_session *s)
{
	struct gt_coexist *c = &s->coexist;
	const struct gt_cupti_watch *watch = &c->watch;

	report_clock(s);
	report_detached(s);
	if (watch->gaps != c->gaps ||
	    (watch->hold != c->hold && !gt_cupti_watch_has_records(watch)))
		begin_gap(s, watch->reason);
	s->ledger.count[GT_LEDGER_CAPTURE_GAPS] = c->gaps = watch->gaps;
	c->hold = watch->hold;
	if (gt_cupti_watch_has_records(watch) && c->in_gap)
		end_gap(s);
	if (gt_cupti_watch_has_calls(watch))
		switch_calls(GT_SESSION_HOOKS, GT_SESSION_CUPTI);
	else if (atomic_load(&gt_session_state) == GT_SESSION_CUPTI)
		calls_from_hooks();
}

uint64_t gt_coexist_outstanding(const struct gt_session *s)
{
	uint64_t in_flight = gt_correlate_count(s->emit.calls).in_flight;

	if (s->coexist.in_gap || in_flight < s->coexist.unanswered)
		return 0;
	return in_flight - s->coexist.unanswered;
}

void gt_coexist_poll_failure(struct gt_session *s, uint64_t now)
{
	if (s->coexist.watches && gt_cupti_watch_poll_failure(&s->coexist.watch, now))
		gt_coexist_report(s);
}

void gt_coexist_on_failure(void)
{
	calls_from_hooks();
}

void gt_coexist_before_subscribe(const char *library)
{
	gt_cupti_foreign_subscribing(library);
	if (!gt_forkguard_holds() || atomic_load(&gt_session_state) != GT_SESSION_CUPTI ||
	    strcmp(gt_config_text(&gt_session.config, GT_CONFIG_COEXIST), "yield") != 0)
		return;
	gt_cupti_yield();
	calls_from_hooks();
}

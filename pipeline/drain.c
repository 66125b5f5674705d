/* SPDX-License-Identifier: Apache-2.0
 *
 * The drain thread, see the header. `busy` guards the session's parts: the drain thread holds it
 * while it works and not while it sleeps or is inside CUPTI's flush, which has been seen to hang;
 * the exiting thread can then take the session over and close the file.
 */
#include "pipeline/drain.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "collectors/call/call.h"
#include "collectors/cupti/buffers.h"
#include "collectors/cupti/replay.h"
#include "core/guest/background.h"
#include "core/guest/forkguard.h"
#include "core/guest/futex.h"
#include "core/guest/log.h"
#include "core/guest/write_signals.h"
#include "core/identity.h"
#include "core/spool.h"
#include "pipeline/calls.h"
#include "pipeline/coexist.h"
#include "pipeline/collector.h"
#include "pipeline/crash_stack.h"
#include "pipeline/emit.h"
#include "pipeline/frameworks.h"
#include "pipeline/ranges/ranges.h"
#include "pipeline/release.h"
#include "pipeline/session.h"
#include "pipeline/spooled.h"
#include "pipeline/stack_lane.h"
#include "pipeline/stacks.h"

#define MS_NS           1000000ull
#define SLEEP_MIN_NS    (1 * MS_NS)
#define SLEEP_BUSY_NS   (10 * MS_NS) /* there was work a moment ago */
#define SLEEP_IDLE_NS   (50 * MS_NS)
#define CLOCK_EVERY_NS  (1000 * MS_NS)
#define CLOCK_SECOND_NS (20 * MS_NS)    /* two samples tell the rate of the processor's counter */
#define STACK_BYTES     (1024u * 1024u) /* the demangler is deeply recursive */

/* Some tenths of a second's work, however much there is: the clock, the file and a crash want their
 * turn. */
#define ROUND_BYTES     ((size_t)16 << 20)

/* The last records: completed ones are awaited this long, then unfinished ones are forced out. */
#define OUTSTANDING_NS  (500 * MS_NS)

static struct {
	struct gt_session *session;
	_Atomic uint32_t running;                   /* 1: there is a thread */
	_Atomic uint32_t wake;                      /* futex: changed to wake the thread */
	_Atomic uint32_t stop;                      /* 1: finish */
	_Atomic uint32_t finished;                  /* futex: 1: the file is closed */
	const struct gt_drain_crash *_Atomic crash; /* to be answered */
	_Atomic uint32_t crashes;                   /* futex: answered so far */
	_Atomic bool leaves_cupti;                  /* who ends the process may hold its locks */
	_Atomic int busy;                           /* 1: somebody holds the session's parts */
	bool is_repaired;                           /* afterwards, by gputrace run */
	uint64_t next_flush, next_clock;
} drain;

static bool try_hold(void)
{
	int expected = 0;

	return atomic_compare_exchange_strong(&drain.busy, &expected, 1);
}

/* Between the two the exiting thread may have taken over: then the drain thread must not go on. */
static void let_go(void)
{
	atomic_store(&drain.busy, 0);
}

static void sample_clock(struct gt_session *s, uint64_t now)
{
	int64_t step;

	if (now < drain.next_clock)
		return;
	drain.next_clock = now + (s->clock.count == 1 ? CLOCK_SECOND_NS : CLOCK_EVERY_NS);
	gt_clock_sample(&s->clock, &step);
	gt_spooled_clock(s);
	s->metadata.clock_last = s->clock.samples[s->clock.count - 1];
	if (step)
		gt_emit_note(s, "clock step", "CLOCK_REALTIME was set", "clock step", "ns",
			     (uint64_t)(step < 0 ? -step : step));
}

static void flush_writer(struct gt_session *s, bool everything)
{
	struct gt_output *output = &s->output;
	uint64_t now = gt_clock_from_monotonic(&s->clock, gt_clock_now());

	if (!output->writer || output->failed)
		return;
	gt_output_flush(output, everything ? UINT64_MAX : now - GT_SPOOLED_SETTLE_NS);
}

/* One buffer. The rings come between its parts: they are small and their threads do not wait. But
 * for each call that is taken a record is read first: calls alone, more than we can take, would
 * keep us busy and be forgotten before their records are read. */
static uint64_t read_buffer(struct gt_session *s, struct gt_cupti_reading *reading)
{
	uint64_t records = 0, calls = 0;

	while (gt_cupti_read_part(reading, &s->translate, &records))
		if (records >= calls)
			calls += gt_calls_drain(s);
	return records + calls;
}

/* One round over what was delivered, about @bytes of it. Returns how much there was. */
static uint64_t drain_once(struct gt_session *s, size_t bytes)
{
	struct gt_cupti_reading reading;
	uint64_t work = 0;
	size_t cost;

	gt_stacks_refresh_modules(s);
	while (bytes && s->has_cupti && gt_cupti_read_begin(&reading)) {
		cost = gt_cupti_buffer_cost(reading.buffer.valid);
		bytes -= bytes > cost ? cost : bytes;
		work += gt_collectors_drain(s); /* what returned before the buffer was full */
		work += read_buffer(s, &reading);
	}
	work += gt_collectors_drain(
		s); /* calls that returned while we read: their records were there */
	gt_emit_settle(s, false);
	gt_ranges_settle(s, false);
	gt_release_buffers(s);
	return work;
}

/* What was delivered until now: threads that go on launching while the file is closed have no
 * end. */
static void drain_all(struct gt_session *s)
{
	drain_once(s, s->has_cupti ? gt_cupti_buffers_waiting() : 0);
}

static bool flush_is_due(struct gt_session *s, uint64_t now)
{
	if (now < drain.next_flush)
		return false;
	drain.next_flush =
		now + (uint64_t)gt_config_number(&s->config, GT_CONFIG_FLUSH_PERIOD) * MS_NS;
	return true;
}

/* Is CUPTI still ours? False: the exiting thread has taken over. */
static bool look_for_others(struct gt_session *s, uint64_t now, bool flushed)
{
	struct gt_cupti_signs signs;

	if (!gt_coexist_is_due(s, now, flushed))
		return true;
	signs = gt_coexist_signs(s, now, flushed);
	let_go();
	gt_coexist_poll(s, &signs);
	if (!try_hold())
		return false;
	gt_coexist_report(s);
	return true;
}

/* False: the exiting thread has taken over. */
static bool flush_cupti(struct gt_session *s, bool forced)
{
	let_go();
	if (s->has_cupti)
		gt_cupti_flush(forced);
	return try_hold();
}

static bool work_once(struct gt_session *s, uint64_t *ret_work)
{
	uint64_t now = gt_clock_now();
	bool flushed;

	if (!try_hold())
		return false;
	sample_clock(s, now);
	*ret_work = drain_once(s, ROUND_BYTES);
	gt_coexist_poll_failure(s, now);
	flushed = flush_is_due(s, now);
	if (flushed) {
		if (!flush_cupti(s, false))
			return false;
		*ret_work += drain_once(s, ROUND_BYTES);
	}
	if (!look_for_others(s, now, flushed))
		return false;
	if (flushed) {
		gt_collectors_report(s);
		gt_frameworks_notify(s);
		flush_writer(s, false);
	}
	let_go();
	return true;
}

/* Everything that was delivered goes into the file, and the file is closed. Caller holds. */
static void close_session(struct gt_session *s)
{
	drain_all(s);
	gt_coexist_poll_failure(s, gt_clock_now());
	gt_emit_settle(s, true);
	gt_ranges_settle(s, true);
	if (s->stack_lane)
		gt_stack_lane_finish(s->stack_lane);
	gt_collectors_report(s);
	if (!s->output.writer && s->emit.early.count)
		gt_log_verbose("%lu CUDA events and no GPU work: no trace is written",
			       (unsigned long)s->emit.early.count);
	flush_writer(s, true); /* files that become full now close with what was counted so far */
	gt_collectors_count(s);
	gt_frameworks_notify(s);
	if (*s->metadata.spool == '/')
		*s->metadata.spool = 0;
	gt_output_close(&s->output, &s->ledger);
	gt_spool_remove();
}

/* Completed records for as long as launches are outstanding, then forced ones. */
static bool fetch_last(struct gt_session *s)
{
	uint64_t until = gt_clock_now() + OUTSTANDING_NS;

	do {
		if (!flush_cupti(s, false))
			return false;
		drain_once(s, ROUND_BYTES);
		if (gt_coexist_outstanding(s) == 0)
			break;
		let_go();
		gt_futex_wait(&drain.finished, 0, SLEEP_BUSY_NS);
		if (!try_hold())
			return false;
	} while (gt_clock_now() < until);
	return flush_cupti(s, true);
}

static void finish(struct gt_session *s)
{
	if (!try_hold())
		return;
	if (s->has_cupti && !atomic_load(&drain.leaves_cupti) && !fetch_last(s))
		return;
	close_session(s); /* and stays busy: nobody may follow */
	atomic_store(&drain.finished, 1);
	gt_futex_wake(&drain.finished);
}

static void emit_crash(struct gt_session *s, const struct gt_drain_crash *crash)
{
	struct gt_event event = {.kind = GT_EVENT_NOTE, .tid = crash->tid};

	event.start = event.end = gt_clock_from_monotonic(&s->clock, gt_clock_now());
	event.stack = gt_crash_stack(s, &crash->regs, crash->thread);
	event.note =
		(struct gt_note_event){.name = "crash", .what = crash->what, .cause = crash->cause};
	gt_emit_event(s, &event);
}

/* Whoever broke inside a call may hold locks of CUPTI's; so may a thread that has never made one,
 * which may be CUPTI's own. */
static bool may_ask_cupti(const struct gt_drain_crash *crash)
{
	struct gt_call_view view;

	return crash->thread && gt_call_view(crash->thread, &view) && !view.depth;
}

/* The calls first: reading buffers is a call of CUPTI. Then the stack, for which the loader is
 * asked, and what CUPTI still has: by then all else is in the file. False: the file is closed, or
 * the exiting thread has taken over. */
static bool write_crash(struct gt_session *s, const struct gt_drain_crash *crash)
{
	gt_calls_drain(s);
	flush_writer(s, false);
	drain_all(s);
	flush_writer(s, true);
	emit_crash(s, crash);
	flush_writer(s, true);
	if (may_ask_cupti(crash)) {
		if (!flush_cupti(s, false))
			return false;
		drain_all(s);
		flush_writer(s, true);
	}
	if (!crash->is_last)
		return true;
	s->has_cupti = false; /* nothing is asked for any more */
	close_session(s);
	atomic_store(&drain.finished, 1);
	return false;
}

/* False: the thread has nothing more to do. */
static bool answer_crash(struct gt_session *s)
{
	const struct gt_drain_crash *crash = atomic_exchange(&drain.crash, NULL);
	bool goes_on;

	if (!crash)
		return true;
	if (!try_hold())
		return false;
	goes_on = write_crash(s, crash);
	if (goes_on)
		let_go();
	atomic_fetch_add(&drain.crashes, 1);
	gt_futex_wake(&drain.crashes);
	return goes_on;
}

/* The program's last thread would have ended the process. What runs at exit now runs on this
 * thread, which blocks signals no longer. */
static void end_in_its_place(struct gt_session *s)
{
	sigset_t none;

	gt_collectors_stop(s);
	finish(s);
	sigemptyset(&none);
	pthread_sigmask(SIG_SETMASK, &none, NULL);
}

/* Awake in time before a ring fills: a full one of 2 MiB takes 35 000 calls. */
static uint64_t next_sleep(uint64_t work, uint64_t last)
{
	if (work > 4096)
		return SLEEP_MIN_NS;
	if (work)
		return SLEEP_BUSY_NS;
	return last * 2 < SLEEP_IDLE_NS ? last * 2 : SLEEP_IDLE_NS;
}

static void *run(void *argument)
{
	struct gt_session *s = argument;
	uint64_t work = 0, sleep_ns = SLEEP_BUSY_NS;

	gt_background_enter("gputrace-w");
	while (!atomic_load(&drain.stop)) {
		uint32_t seen = atomic_load(&drain.wake);

		if (!answer_crash(s) || !work_once(s, &work))
			return NULL;
		if (!work && gt_background_is_alone(1 + s->has_sampler)) {
			end_in_its_place(s);
			return NULL;
		}
		sleep_ns = next_sleep(work, sleep_ns);
		if (!atomic_load(&drain.stop))
			gt_futex_wait(&drain.wake, seen, sleep_ns);
	}
	finish(s);
	return NULL;
}

int gt_drain_start(struct gt_session *session)
{
	int error;

	memset(&drain, 0, sizeof(drain));
	drain.session = session;
	drain.is_repaired = gt_identity_env("GPUTRACE_RUN") != NULL;
	gt_output_set_name("");
	error = gt_background_start(run, session, STACK_BYTES);
	atomic_store(&drain.running, error == 0);
	return error;
}

/* gputrace run repairs the file and says so itself. */
static void report_unclosed(uint64_t timeout_ns)
{
	const char *name = gt_output_name();

	if (*name && !drain.is_repaired)
		gt_log_say("%s was left unclosed after %lu ms (--exit-timeout): gputrace repair "
			   "closes it",
			   name, (unsigned long)(timeout_ns / 1000000u));
}

/* The thread is stuck inside CUPTI or gone: write what was delivered, on a thread of the
 * program's. */
static void take_over(struct gt_session *s, uint64_t timeout_ns)
{
	struct gt_write_signals before;

	gt_write_signals_hold(&before);
	if (!try_hold()) {
		/* it is at work on the file, e.g. on a slow disk: nothing may touch it */
		report_unclosed(timeout_ns);
		gt_write_signals_let(&before);
		return;
	}
	s->has_cupti = s->coexist.watches = false;
	gt_cupti_replay_delivered(&s->translate);
	s->modules_seen = UINT64_MAX; /* who is stuck may hold the loader */
	gt_emit_note(s, "LOST", "CUPTI did not return its last records in time", "flush timeout",
		     NULL, 0);
	close_session(s);
	gt_write_signals_let(&before);
}

/* Has the thread finish, and waits for it. False: it has not, in time. */
static bool await_finish(uint64_t timeout_ns)
{
	uint64_t until = gt_clock_now() + timeout_ns;
	uint64_t now;

	atomic_store(&drain.stop, 1);
	atomic_fetch_add(&drain.wake, 1);
	gt_futex_wake(&drain.wake);
	while (!atomic_load(&drain.finished) && (now = gt_clock_now()) < until)
		gt_futex_wait(&drain.finished, 0, until - now);
	return atomic_load(&drain.finished);
}

/* True for one caller only. */
static bool may_finish(void)
{
	return atomic_exchange(&drain.running, 0) && gt_forkguard_holds();
}

void gt_drain_finish(uint64_t timeout_ns)
{
	if (may_finish() && !await_finish(timeout_ns))
		take_over(drain.session, timeout_ns);
}

void gt_drain_finish_abruptly(uint64_t timeout_ns, bool ask_cupti)
{
	if (!may_finish())
		return;
	atomic_store(&drain.leaves_cupti, !ask_cupti);
	await_finish(timeout_ns);
}

void gt_drain_crash(const struct gt_drain_crash *crash, uint64_t timeout_ns)
{
	uint64_t until = gt_clock_now() + timeout_ns;
	uint32_t seen = atomic_load(&drain.crashes);
	uint64_t now;

	if (!atomic_load(&drain.running) || atomic_load(&drain.stop))
		return;
	atomic_store(&drain.crash, crash);
	atomic_fetch_add(&drain.wake, 1);
	gt_futex_wake(&drain.wake);
	while (atomic_load(&drain.crashes) == seen && (now = gt_clock_now()) < until)
		gt_futex_wait(&drain.crashes, seen, until - now);
}

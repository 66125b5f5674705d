/* SPDX-License-Identifier: Apache-2.0
 *
 * The drain thread, see the header. `busy` guards the pipeline: the drain thread holds it while it
 * works and not while it sleeps or waits for CUPTI's flush, which has been seen to hang;
 * the exiting thread can then take the pipeline over and close the file.
 */
#include "pipeline/drain.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "collectors/call/call.h"
#include "collectors/trigger/trigger.h"
#include "core/guest/background.h"
#include "core/guest/clock.h"
#include "core/guest/forkguard.h"
#include "core/guest/futex.h"
#include "core/guest/log.h"
#include "core/guest/seccomp.h"
#include "core/guest/write_signals.h"
#include "core/identity.h"
#include "core/spool.h"
#include "core/window/attached.h"
#include "pipeline/attachment.h"
#include "pipeline/control.h"
#include "pipeline/dump.h"
#include "pipeline/flusher.h"
#include "pipeline/output/output.h"
#include "pipeline/pace.h"
#include "pipeline/patience.h"
#include "pipeline/sources/collector.h"
#include "pipeline/sources/crash_stack.h"
#include "pipeline/turn.h"

#define STACK_BYTES (1024u * 1024u) /* the demangler is deeply recursive */
#define WINDOW_NS   4000000000ull   /* at most, where the program goes on and waits for nothing */

static struct {
	struct gt_pipeline *pipeline;
	struct gt_collectors *collectors;            /* its sources */
	_Atomic uint32_t running;                    /* 1: there is a thread */
	_Atomic uint32_t wake;                       /* futex: changed to wake the thread */
	_Atomic uint32_t stop;                       /* 1: finish */
	_Atomic uint32_t finished;                   /* futex: 1: the file is closed */
	const struct gt_crash_report *_Atomic crash; /* to be answered */
	_Atomic uint32_t crashes;                    /* futex: answered so far */
	_Atomic bool leaves_cupti;                   /* who ends the process may hold its locks */
	_Atomic int busy;                            /* 1: somebody holds the pipeline */
	_Atomic bool is_ending; /* the window ends, and the file is being closed */
	_Atomic bool is_over;   /* it is closed, and the program goes on */
	bool is_repaired;       /* afterwards, by gputrace run */
	_Atomic int status;     /* of the exit */
	bool is_alone;          /* the program's threads have ended; the drain thread's */
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

/* Does a library behind the sources do what it should? False: the exiting thread has taken over. */
static bool poll_sources(uint64_t now, bool flushed)
{
	if (!gt_collectors_poll_is_due(drain.collectors, now, flushed))
		return true;
	let_go();
	gt_collectors_poll(drain.collectors);
	if (!try_hold())
		return false;
	gt_collectors_polled(drain.collectors);
	return true;
}

/* A flush that nothing has to be done meanwhile for. False: the exiting thread has taken over. */
static bool flush_sources(struct gt_pipeline *p, bool forced)
{
	(void)p;
	let_go();
	gt_flusher_await();
	gt_collectors_flush(drain.collectors, forced);
	return try_hold();
}

/* False: the exiting thread has taken over. */
static bool answer_requests(struct gt_pipeline *p)
{
	uint64_t now = gt_clock_now();

	if (!try_hold())
		return false;
	gt_control_turn(p, now);
	let_go();
	return true;
}

/* False: the exiting thread has taken over. */
static bool await_flush(struct gt_pipeline *p)
{
	uint32_t seen = atomic_load(&drain.wake);
	uint64_t began;

	while (gt_flusher_is_busy()) {
		if (!answer_requests(p))
			return false;
		gt_futex_wait(&drain.wake, seen, GT_PACE_BUSY_NS);
		seen = atomic_load(&drain.wake);
	}
	gt_flusher_take(&began);
	return true;
}

/* The program goes on: requests are answered meanwhile. False: the exiting thread has taken over.
 */
static bool flush_answering(struct gt_pipeline *p, bool forced)
{
	let_go();
	if (!await_flush(p))
		return false;
	gt_flusher_ask(forced);
	return await_flush(p) && try_hold();
}

/* The libraries behind the sources are asked for one thing at a time. False: the exiting thread has
 * taken over. */
static bool ask_sources(struct gt_pipeline *p, uint64_t now, bool flushed)
{
	if (gt_flusher_is_busy())
		return true;
	if (!poll_sources(now, flushed))
		return false;
	if (flushed)
		gt_turn_report(p);
	if (!gt_turn_flush_is_due(p, now))
		return true;
	let_go();
	gt_flusher_ask(false);
	return try_hold();
}

static bool work_once(struct gt_pipeline *p, uint64_t *ret_work)
{
	uint64_t now = gt_clock_now(), since = now;
	bool flushed;

	if (!try_hold())
		return false;
	gt_turn_clock(p, now);
	flushed = gt_flusher_take(&since); /* before the round, which reads what it brought */
	*ret_work = gt_turn_round(p);
	gt_turn_tell(p, gt_clock_now());
	gt_turn_seccomp(p, true);
	gt_collectors_check(drain.collectors, now);
	if (gt_turn_watch(p, now))
		gt_dump_ask("stall");
	if (!ask_sources(p, since, flushed))
		return false;
	let_go();
	return true;
}

/* False: the exiting thread has taken over. */
static bool cease_sources(struct gt_patience *patience)
{
	let_go();
	gt_futex_wait(&drain.finished, 0, gt_patience_sleep(patience));
	if (!gt_collectors_cease(drain.collectors))
		gt_patience_held_back(patience);
	return try_hold();
}

static bool is_worth_waiting(const struct gt_pipeline *p, struct gt_patience *patience)
{
	struct gt_patience_state state = {
		.outstanding = gt_collectors_outstanding(drain.collectors),
		.undelivered = gt_turn_undelivered(p),
		.is_awaited = atomic_load(&drain.stop) || gt_trigger_is_awaited(),
	};

	return gt_patience_lasts(patience, gt_clock_now(), &state);
}

/* Completed records for as long as launches are outstanding, then forced ones. */
static bool fetch_last(struct gt_pipeline *p, uint64_t longest_ns,
		       bool (*flush)(struct gt_pipeline *p, bool forced))
{
	struct gt_patience patience;

	gt_patience_start(&patience, gt_clock_now(), longest_ns);
	gt_collectors_report(drain.collectors); /* late calls' drops come later: gt_cupti_cease */
	do {
		if (!cease_sources(&patience) || !flush(p, false))
			return false;
		gt_turn_round(p);
	} while (is_worth_waiting(p, &patience));
	return flush(p, true);
}

static void finish(struct gt_pipeline *p, uint64_t longest_ns)
{
	uint64_t now = gt_clock_now();

	if (!try_hold())
		return;
	if (gt_turn_window(p, now) == GT_WINDOW_ENDS) /* as the process does */
		gt_turn_window_ended(p, now);
	if (!atomic_load(&drain.leaves_cupti) && !fetch_last(p, longest_ns, flush_sources))
		return;
	gt_dump_close(p, atomic_load(&drain.status)); /* and stays busy: nobody may follow */
	gt_control_end();
	atomic_store(&drain.finished, 1);
	gt_futex_wake(&drain.finished);
}

/* The calls first: reading buffers is a call of CUPTI. Then the stack, for which the loader is
 * asked, and what CUPTI still has: by then all else is in the file. False: the file is closed, or
 * the exiting thread has taken over. */
static bool write_crash(struct gt_pipeline *p, const struct gt_crash_report *crash)
{
	if (crash->is_last) /* what other threads call meanwhile has no end */
		gt_call_close();
	gt_collectors_drain(drain.collectors);
	gt_turn_write(p, false);
	gt_turn_all(p);
	gt_turn_write(p, true);
	gt_turn_crash(p, crash);
	gt_turn_write(p, true);
	if (gt_crash_is_outside_calls(crash)) {
		if (!flush_sources(p, false))
			return false;
		gt_turn_all(p);
		gt_turn_write(p, true);
	}
	if (!crash->is_last) {
		gt_dump_make_for(p, crash->cause);
		return true;
	}
	gt_collectors_leave(drain.collectors, false);
	gt_dump_ask(crash->cause);
	gt_dump_close(p, 0);
	gt_control_end();
	atomic_store(&drain.finished, 1);
	return false;
}

/* False: the thread has nothing more to do. */
static bool answer_crash(struct gt_pipeline *p)
{
	const struct gt_crash_report *crash = atomic_exchange(&drain.crash, NULL);
	bool goes_on;

	if (!crash)
		return true;
	if (!try_hold())
		return false;
	goes_on = write_crash(p, crash);
	if (goes_on)
		let_go();
	atomic_fetch_add(&drain.crashes, 1);
	gt_futex_wake(&drain.crashes);
	return goes_on;
}

/* What other threads call while the process ends has no end: the file does not wait for it. */
static void stop_sources(void)
{
	gt_call_close();
	gt_collectors_stop(drain.collectors);
}

/* The program's last thread would have ended the process. What runs at exit now runs on this
 * thread, which blocks signals no longer. */
static void end_in_its_place(struct gt_pipeline *p)
{
	sigset_t none;

	stop_sources();
	finish(p, GT_PATIENCE_SOON_NS);
	drain.is_alone = true;
	sigemptyset(&none);
	pthread_sigmask(SIG_SETMASK, &none, NULL);
}

/* False: the exiting thread has taken over. */
static bool warm_window(struct gt_pipeline *p)
{
	gt_collectors_begin(drain.collectors);
	if (!try_hold())
		return false;
	gt_turn_window_warms(p);
	let_go();
	return true;
}

/* False: the exiting thread has taken over. */
static bool begin_window(struct gt_pipeline *p)
{
	if (!gt_turn_window_is_warm(p))
		gt_collectors_begin(drain.collectors);
	if (!try_hold())
		return false;
	gt_turn_window_begun(p, gt_clock_now());
	gt_trigger_begun();
	gt_attachment_begun(p);
	let_go();
	return true;
}

/* Nobody waits for them any more; what they hold is given back. */
static void part_with_sources(const struct gt_output_end *ended)
{
	char lack[128];
	int error = gt_output_lack(ended->lost, ended->error, lack, sizeof(lack));

	gt_collectors_part_with(drain.collectors);
	gt_attached_rests(error, lack);
}

/* --capture-range-end=stop-shutdown, as it was asked to. */
static void shut_down(void)
{
	if (!gt_seccomp_permits_now(GT_SYS_kill)) {
		gt_log_say("the program has a seccomp filter: it is not ended "
			   "(--capture-range-end)");
		return;
	}
	gt_log_say("the last range is recorded: the program gets SIGTERM (--capture-range-end)");
	kill(getpid(), SIGTERM);
}

/* The file is closed, and the sources rest until the next window. False: the exiting thread has
 * taken over. */
static bool pause_window(struct gt_pipeline *p)
{
	if (!try_hold())
		return false;
	gt_turn_window_ended(p, gt_clock_now());
	let_go();
	gt_collectors_rest(drain.collectors); /* work that has a record has a call */
	if (!try_hold() || !fetch_last(p, WINDOW_NS, flush_answering))
		return false;
	gt_turn_close_window(p);
	gt_trigger_again();
	let_go();
	if (gt_turn_is_attached(p))
		part_with_sources(gt_turn_ended(p));
	if (gt_turn_shuts_down(p) && gt_trigger_is_over())
		shut_down();
	return true;
}

/* As the end of the process, but for the program's threads, which go on. False: the process ends,
 * and its exit waits for the loop. */
static bool end_window(struct gt_pipeline *p)
{
	atomic_store(&drain.is_ending, true);
	if (!atomic_exchange(&drain.running, 0)) {
		atomic_store(&drain.is_ending, false);
		return false;
	}
	gt_turn_window_ended(p, gt_clock_now());
	gt_collectors_rest(drain.collectors); /* work that has a record has a call */
	gt_collectors_stop(drain.collectors);
	finish(p, WINDOW_NS);
	gt_collectors_release(drain.collectors);
	atomic_store(&drain.is_over, true);
	if (gt_turn_shuts_down(p))
		shut_down();
	return true;
}

/* False: the thread has nothing more to do. */
static bool follow_window(struct gt_pipeline *p)
{
	enum gt_window_step step = gt_turn_window(p, gt_clock_now());

	if (step == GT_WINDOW_WARMS)
		return warm_window(p);
	if (step == GT_WINDOW_BEGINS)
		return begin_window(p);
	if (step == GT_WINDOW_ENDS && gt_turn_window_repeats(p))
		return pause_window(p);
	gt_attachment_idle(p);
	return step != GT_WINDOW_ENDS || !end_window(p);
}

/* False: the exiting thread has taken over. */
static bool follow_dump(struct gt_pipeline *p)
{
	if (!gt_dump_is_due(p, gt_clock_now()))
		return true;
	if (!try_hold())
		return false;
	gt_dump_make(p);
	let_go();
	return true;
}

/* A request ends a sleep that is worth the trouble. */
static void sleep_for(uint32_t seen, uint64_t ns)
{
	if (ns < GT_PACE_IDLE_NS || !gt_control_wait(&drain.wake, seen, ns))
		gt_futex_wait(&drain.wake, seen, ns);
}

static uint64_t shorter(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint32_t count_threads(void)
{
	return 1 + gt_flusher_threads() + gt_collectors_threads(drain.collectors);
}

static void drain_until_stopped(struct gt_pipeline *p)
{
	uint64_t work = 0, sleep_ns = GT_PACE_BUSY_NS;

	while (!atomic_load(&drain.stop)) {
		uint32_t seen = atomic_load(&drain.wake);

		if (!answer_crash(p) || !work_once(p, &work) || !follow_dump(p) ||
		    !follow_window(p) || !answer_requests(p))
			return;
		if (!work && gt_background_is_alone(count_threads())) {
			end_in_its_place(p);
			return;
		}
		sleep_ns = gt_pace_sleep(p, work, sleep_ns);
		if (!atomic_load(&drain.stop))
			sleep_for(seen, shorter(sleep_ns, gt_turn_window_holds(p, gt_clock_now())));
	}
	finish(p, GT_PATIENCE_SOON_NS);
}

static void *run(void *argument)
{
	gt_background_enter("gputrace-w");
	drain_until_stopped(argument);
	gt_turn_clock_ends(argument);
	gt_trigger_disarm();
	gt_flusher_stop();
	gt_background_leave();
	if (drain.is_alone)
		gt_background_end_for_main();
	return NULL;
}

static void wake(void)
{
	atomic_fetch_add(&drain.wake, 1);
	gt_futex_wake(&drain.wake);
}

static void pass_calls(void)
{
	uint64_t ended;

	gt_call_pause(true);
	gt_trigger_look(&ended);
	gt_turn_range_ended(drain.pipeline, ended);
}

int gt_drain_start(struct gt_pipeline *pipeline, struct gt_collectors *collectors)
{
	int error;

	memset(&drain, 0, sizeof(drain));
	drain.pipeline = pipeline;
	drain.collectors = collectors;
	drain.is_repaired = gt_identity_env("GPUTRACE_RUN") != NULL;
	gt_output_set_name("");
	gt_flusher_start(collectors, wake);
	gt_trigger_serve(wake, pass_calls);
	gt_dump_serve(pipeline, wake);
	error = gt_background_start(run, pipeline, STACK_BYTES);
	atomic_store(&drain.running, error == 0);
	if (error)
		gt_flusher_stop();
	return error;
}

/* What cannot be repaired needs no spool. */
static void report_unclosed(uint64_t timeout_ns)
{
	const char *name = gt_output_name();
	unsigned long ms = (unsigned long)(timeout_ns / 1000000u);

	if (!*name)
		return;
	if (gt_output_is_stream()) {
		gt_log_say("the trace in %s ends early: its reader was too slow to take the rest "
			   "in %lu ms (raise --exit-timeout, or record less)",
			   name, ms);
		gt_spool_remove();
	} else {
		gt_log_say("%s was not finished %lu ms after the end (raise --exit-timeout): %s",
			   name, ms,
			   drain.is_repaired ? "gputrace run closes it"
					     : "gputrace repair closes it");
	}
}

/* The thread is stuck inside CUPTI or gone: write what was delivered, on a thread of the
 * program's. */
static void take_over(struct gt_pipeline *p, uint64_t timeout_ns)
{
	struct gt_write_signals before;

	gt_write_signals_block(&before);
	if (!try_hold()) {
		/* it is at work on the file, e.g. on a slow disk: nothing may touch it */
		report_unclosed(timeout_ns);
		gt_write_signals_restore(&before, true);
		return;
	}
	gt_collectors_leave(drain.collectors, true);
	gt_dump_close(p, atomic_load(&drain.status));
	gt_control_end();
	gt_write_signals_restore(&before, true);
}

/* False: the file is not closed in time. */
static bool await_close(uint64_t timeout_ns)
{
	uint64_t until = gt_clock_now() + timeout_ns;
	uint64_t now;

	while (!atomic_load(&drain.finished) && (now = gt_clock_now()) < until)
		gt_futex_wait(&drain.finished, 0, until - now);
	return atomic_load(&drain.finished);
}

/* Has the thread finish, and waits for it. False: it has not, in time. */
static bool await_finish(uint64_t timeout_ns)
{
	atomic_store(&drain.stop, 1);
	wake();
	return await_close(timeout_ns);
}

/* The thread closes the file because the window has ended. */
static void await_window(uint64_t timeout_ns)
{
	atomic_store(&drain.stop, 1);
	if (atomic_load(&drain.is_ending) && gt_forkguard_holds() && !await_close(timeout_ns))
		report_unclosed(timeout_ns);
}

/* True for one caller only. */
static bool may_finish(void)
{
	return atomic_exchange(&drain.running, 0) && gt_forkguard_holds();
}

void gt_drain_finish(uint64_t timeout_ns, int status)
{
	atomic_store(&drain.status, status & 0xff);
	if (atomic_load(&drain.is_over))
		return;
	stop_sources();
	if (!may_finish())
		await_window(timeout_ns);
	else if (!await_finish(timeout_ns))
		take_over(drain.pipeline, timeout_ns);
	if (!atomic_load(&drain.is_ending)) /* else the thread does it */
		gt_collectors_release(drain.collectors);
}

void gt_drain_finish_abruptly(uint64_t timeout_ns, int status, bool ask_cupti)
{
	atomic_store(&drain.status, status & 0xff);
	if (atomic_load(&drain.is_over))
		return;
	stop_sources();
	if (!may_finish()) {
		await_window(timeout_ns);
		return;
	}
	atomic_store(&drain.leaves_cupti, !ask_cupti);
	if (!await_finish(timeout_ns)) /* the caller may hold any lock: it cannot take over */
		report_unclosed(timeout_ns);
}

void gt_drain_crash(const struct gt_crash_report *crash, uint64_t timeout_ns)
{
	uint64_t until = gt_clock_now() + timeout_ns;
	uint32_t seen = atomic_load(&drain.crashes);
	uint64_t now;

	if (!atomic_load(&drain.running) || atomic_load(&drain.stop))
		return;
	atomic_store(&drain.crash, crash);
	wake();
	while (atomic_load(&drain.crashes) == seen && (now = gt_clock_now()) < until)
		gt_futex_wait(&drain.crashes, seen, until - now);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Starting the session, see the header. Runs once per process, on the thread that is inside cuInit
 * (or in the first hooked call); everything after it happens on the drain thread.
 */
#include "preload/start.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectors/call/call.h"
#include "collectors/cupti/load.h"
#include "collectors/python/frames.h"
#include "collectors/unwind/unwind.h"
#include "core/guest/forkgate.h"
#include "core/guest/forkguard.h"
#include "core/guest/log.h"
#include "core/guest/memory.h"
#include "core/guest/text.h"
#include "core/guest/uncancelled.h"
#include "core/spool.h"
#include "core/thread.h"
#include "pipeline/drain.h"
#include "pipeline/identity.h"
#include "pipeline/ranges/ranges.h"
#include "pipeline/samples.h"
#include "pipeline/session.h"
#include "pipeline/spooled.h"
#include "pipeline/stack_lane.h"
#include "pipeline/stacks.h"
#include "preload/crash.h"
#include "preload/first_call.h"
#include "preload/process.h"

/* What each store may take of --max-rss, see gt_session_share. */
#define GRAPH_NODES ((size_t)1 << 20)
#define PYTHON_MAX  ((size_t)16 << 20)
#define LANES_MAX   ((size_t)16 << 20)

static void complain(const char *line)
{
	gt_log_say("%s", line);
}

/* The level first: a quiet session does not even complain about its options. */
static void read_config(struct gt_session *s)
{
	gt_config_init(&s->config);
	gt_config_from_env(&s->config, environ, NULL);
	if (gt_config_bool(&s->config, GT_CONFIG_QUIET))
		gt_log_set_level(GT_LOG_QUIET);
	else if (gt_config_bool(&s->config, GT_CONFIG_VERBOSE))
		gt_log_set_level(GT_LOG_VERBOSE);
	gt_config_from_env(&s->config, environ, complain);
	if (strcmp(gt_config_text(&s->config, GT_CONFIG_COMPRESS), "off"))
		gt_log_say("the trace stays plain: it is packed by gputrace run, or afterwards by "
			   "gputrace compress FILE");
}

static void fill_metadata(struct gt_session *s)
{
	struct gt_metadata *metadata = &s->metadata;

	metadata->version = GT_VERSION;
	gt_identity_fill(metadata);
	if (gt_config_bool(&s->config, GT_CONFIG_RECORD_CMDLINE))
		gt_identity_fill_command(metadata);
	metadata->clock_first = metadata->clock_last = s->clock.first;
	metadata->start = gt_clock_from_monotonic(&s->clock, s->clock.first.monotonic);
	metadata->base = gt_clock_base(s->clock.first.realtime);
	gt_config_describe(&s->config, metadata->options, sizeof(metadata->options));
}

/* Before anything is made. */
static void limit_memory(struct gt_session *s)
{
	int64_t limit = gt_config_number(&s->config, GT_CONFIG_MAX_RSS);

	if (gt_config_number(&s->config, GT_CONFIG_MAX_MEMORY) > limit / 2)
		s->config.value[GT_CONFIG_MAX_MEMORY].number = limit / 2;
	gt_memory_limit((size_t)limit);
}

/* Half of --max-memory is the rings', half the activity buffers' (collectors/cupti/cupti.c). */
static int start_threads(struct gt_session *s)
{
	struct gt_thread_limits limits = {
		.ring_bytes = (size_t)gt_config_number(&s->config, GT_CONFIG_RING_SIZE),
		.extra_bytes = gt_call_state_bytes(),
		.max_bytes = (size_t)gt_config_number(&s->config, GT_CONFIG_MAX_MEMORY) / 2,
		.signal_stacks = gt_config_bool(&s->config, GT_CONFIG_ON_CRASH),
	};

	return gt_threads_start(&limits);
}

/* The user asks for frames of the program; those of CUDA and ours lie in front of them. */
static uint32_t captured_frames(uint32_t depth)
{
	return depth + GT_CALL_OWN_FRAMES < GT_UNWIND_DEPTH ? depth + GT_CALL_OWN_FRAMES
							    : GT_UNWIND_DEPTH;
}

static void start_stacks(struct gt_session *s)
{
	bool off = !strcmp(gt_config_text(&s->config, GT_CONFIG_STACKS), "off");
	uint32_t depth = (uint32_t)gt_config_number(&s->config, GT_CONFIG_STACK_DEPTH);

	s->metadata.unwinder = off ? "off" : gt_unwind_start();
	if (!off && !strcmp(gt_config_text(&s->config, GT_CONFIG_PYTHON), "auto"))
		s->python = gt_python_frames_new(s->strings, gt_session_share(s, PYTHON_MAX));
	gt_forkgate_enter();
	gt_stacks_find_python(s);
	gt_forkgate_leave();
	if (!off && gt_config_bool(&s->config, GT_CONFIG_STACK_LANE))
		s->stack_lane =
			gt_stack_lane_new(depth, gt_session_share(s, LANES_MAX), gt_emit_event, s);
	gt_stacks_limit(s->stacks, depth);
	s->captured_frames = off ? 0 : captured_frames(depth);
	gt_call_configure(s->captured_frames);
}

/* CUPTI, or the reason why not in the facts and, once, on stderr. */
static void start_cupti(struct gt_session *s)
{
	struct gt_metadata *metadata = &s->metadata;
	bool wanted = strcmp(gt_config_text(&s->config, GT_CONFIG_MODE), "hooks") != 0;
	int started = -ENOENT;

	if (!wanted)
		gt_text_format(s->cupti.why, sizeof(s->cupti.why), "--mode=hooks");
	else
		started = gt_cupti_start(&s->config, gt_process_watch_end, gt_coexist_on_failure,
					 &s->cupti);
	s->has_cupti = started == 0;
	metadata->mode = s->has_cupti ? "cupti" : "hooks only";
	metadata->cupti_version = s->translate.version = s->cupti.version;
	metadata->driver_version = gt_cupti_driver_version();
	metadata->runtime_version = gt_cupti_cuda_major() * 1000;
	gt_text_format(metadata->cupti_path, sizeof(metadata->cupti_path), "%s", s->cupti.path);
	gt_text_format(metadata->mode_reason, sizeof(metadata->mode_reason), "%s",
		       s->has_cupti ? s->cupti.refused : s->cupti.why);
	if (!s->has_cupti && wanted)
		gt_log_say("GPU work is not recorded, only CUDA calls and stacks: %s",
			   s->cupti.why);
	else if (s->has_cupti && *s->cupti.refused)
		gt_log_say("CUPTI refused %s: these are missing in the trace", s->cupti.refused);
	gt_coexist_start(s, started);
}

/* What CUPTI writes and reads must exist before it starts; the thread comes last. */
static int start_parts(struct gt_session *s)
{
	int error = gt_session_make_stores(s);

	if (!error)
		error = start_threads(s);
	if (error)
		return error;
	start_stacks(s);
	s->graph_nodes = gt_graph_nodes_start((uint32_t)gt_session_share(s, GRAPH_NODES));
	start_cupti(s);
	if (gt_spool_is_open()) /* recovery needs them, however early the process is killed */
		gt_stacks_refresh_modules(s);
	gt_spooled_begun(s);
	error = gt_drain_start(s);
	if (error)
		gt_cupti_stop();
	else
		gt_samples_start(s);
	return error;
}

static int start(struct gt_session *s)
{
	int error;

	s->watch_end = gt_process_watch_end;
	read_config(s);
	limit_memory(s);
	if (!strcmp(gt_config_text(&s->config, GT_CONFIG_MODE), "off"))
		return -ECANCELED;
	gt_clock_init(&s->clock);
	fill_metadata(s);
	gt_output_find(&s->output, &s->config);
	error = gt_config_keep(&s->config);
	if (!error)
		error = gt_forkguard_arm();
	if (error)
		return error;
	gt_spooled_start(s);
	error = start_parts(s);
	if (error)
		gt_spool_remove(); /* there is nothing in it, and nobody else would */
	return error;
}

/* Signals that no thread is asked about: they come from what it does itself. */
static const int synchronous[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};

/*
 * On a thread of the program that neither a signal handler nor pthread_cancel interrupts, and with
 * the mask that CUPTI's own threads inherit: one that a signal can be given to would take it from
 * the program, which may block it later in all the threads that it knows of.
 */
static int start_undisturbed(struct gt_session *s)
{
	int cancelled = gt_uncancelled_begin(), error;
	sigset_t most, old;

	sigfillset(&most);
	for (size_t i = 0; i < sizeof(synchronous) / sizeof(synchronous[0]); i++)
		sigdelset(&most, synchronous[i]);
	pthread_sigmask(SIG_BLOCK, &most, &old);
	error = start(s);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	gt_uncancelled_end(cancelled);
	return error;
}

static bool driver_is_expected;

void gt_session_expect_driver(bool expected)
{
	driver_is_expected = expected;
}

void gt_session_start(bool from_hook)
{
	int saved = errno;
	int error;

	if (gt_process_is_forked_child()) { /* its own CUDA: begin anew, the parent's parts stay */
		memset(&gt_session, 0, sizeof(gt_session));
		gt_first_call_forget();
		atomic_store(&gt_session_state, GT_SESSION_IDLE);
	}
	if (from_hook && !gt_first_call_may_start(driver_is_expected))
		goto out;
	if (atomic_load(&gt_session_state) != GT_SESSION_IDLE || !gt_first_call_claim())
		goto out;
	error = start_undisturbed(&gt_session);
	if (error) {
		if (error != -ECANCELED)
			gt_log_say("cannot start: %s; the program runs on untraced",
				   strerror(-error));
		atomic_store(&gt_session_state, GT_SESSION_OFF);
	} else {
		gt_process_watch_end();
		gt_crash_start(&gt_session);
		atomic_store_explicit(&gt_session_state,
				      gt_session.has_cupti ? GT_SESSION_CUPTI : GT_SESSION_HOOKS,
				      memory_order_release);
	}
	gt_first_call_started();
out:
	errno = saved;
}

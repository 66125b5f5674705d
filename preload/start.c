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
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>

#include "collectors/trigger/trigger.h"
#include "core/guest/forkguard.h"
#include "core/guest/log.h"
#include "core/guest/memory.h"
#include "core/guest/seccomp.h"
#include "core/guest/sys.h"
#include "core/guest/text.h"
#include "core/guest/uncancelled.h"
#include "core/identity.h"
#include "core/run_name.h"
#include "core/schema/library_sink.h"
#include "core/spool.h"
#include "core/window/attached.h"
#include "pipeline/control.h"
#include "pipeline/drain.h"
#include "pipeline/dump.h"
#include "pipeline/dump_signal.h"
#include "pipeline/pipeline.h"
#include "pipeline/spool/spooled.h"
#include "pipeline/turn.h"
#include "preload/crash.h"
#include "preload/first_call.h"
#include "preload/process.h"
#include "preload/ranks.h"

static struct gt_pipeline pipeline; /* of this process */

static void complain(const char *line)
{
	gt_log_say("%s", line);
}

/* The level first: a quiet session does not even complain about its options. */
static void read_config(struct gt_config *config, char *const *environment)
{
	gt_config_init(config);
	gt_config_from_env(config, environment, NULL);
	if (gt_config_bool(config, GT_CONFIG_QUIET))
		gt_log_set_level(GT_LOG_QUIET);
	else if (gt_config_bool(config, GT_CONFIG_VERBOSE))
		gt_log_set_level(GT_LOG_VERBOSE);
	gt_config_from_env(config, environment, complain);
}

/* What is wrong leaves out nothing. */
static void read_filter(const struct gt_config *config, struct gt_capture_filter *filter)
{
	for (int i = 0; i < GT_CAPTURE_LISTS_; i++) {
		const char *name = gt_capture_lists[i];
		int id = gt_config_find(name, strlen(name));
		const char *value = gt_config_text(config, (enum gt_option_id)id);

		if (gt_capture_filter_set(filter, (enum gt_capture_list)i, value))
			gt_log_say("'%s' is no value for %s: it takes patterns between commas, %d "
				   "bytes at most; nothing is left out by it",
				   value, gt_options[id].env, GT_CAPTURE_LIST - 1);
	}
	filter->min_duration = (uint64_t)gt_config_number(config, GT_CONFIG_MIN_DURATION);
}

/* How long the process had run. */
static void fill_attached(struct gt_metadata *metadata)
{
	uint64_t hz = getauxval(AT_CLKTCK), start = gt_sys_start_ticks(getpid()), ms;
	struct timespec now;

	if (!gt_attached_is_on() || !hz)
		return;
	clock_gettime(CLOCK_BOOTTIME, &now);
	ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
	start = start * 1000 / hz;
	gt_text_format(metadata->attached, sizeof(metadata->attached),
		       "%lu ms after the start of the process",
		       (unsigned long)(ms > start ? ms - start : 0));
}

static void fill_metadata(struct gt_metadata *metadata, const struct gt_config *config,
			  const struct gt_clock *clock)
{
	metadata->version = GT_VERSION;
	gt_identity_fill(metadata);
	if (*metadata->rank_doubt)
		gt_log_say("%s", metadata->rank_doubt);
	gt_run_name_of_job(metadata->job, sizeof(metadata->job));
	gt_run_name_launch(metadata);
	fill_attached(metadata);
	if (gt_config_bool(config, GT_CONFIG_RECORD_CMDLINE))
		gt_identity_fill_command(metadata);
	metadata->clock_first = metadata->clock_last = clock->first;
	metadata->start = gt_clock_from_monotonic(clock, clock->first.monotonic);
	metadata->base = gt_clock_base(clock->first.realtime);
	gt_config_describe(config, metadata->options, sizeof(metadata->options));
}

/* NCCL loads one plug-in, of which a launcher behind `gputrace run` has the last word, as in
 * `mpirun -x`. The first rank of a host says so. */
static void check_plugin(const struct gt_config *config, const struct gt_metadata *metadata)
{
	const char *there = gt_identity_env(GT_LIBRARY_PLUGIN), *set = there ? there : "none";
	const char *planned = gt_identity_env(GT_LIBRARY_PLANNED), *slash = strrchr(set, '/');

	if (!strstr(gt_config_text(config, GT_CONFIG_LIBRARIES), "nccl-profiler") ||
	    metadata->local_rank > 0 || (planned && !strcmp(set, planned)) ||
	    (slash && !strcmp(slash + 1, GT_LIBRARY_PROFILER)))
		return;
	gt_log_say("%s is %s here%s: how NCCL does its operations is not recorded",
		   GT_LIBRARY_PLUGIN, set,
		   planned ? ", which gputrace run has not done, and NCCL loads only one" : "");
}

static bool limit_space(struct gt_config *config, struct gt_budget *budget)
{
	uint64_t free = gt_sys_space();

	if (free == UINT64_MAX)
		return true;
	gt_memory_keep_space();
	if (gt_budget_fit_space(config, free, budget))
		return true;
	gt_log_say(
		"the limit of the address space (ulimit -v) leaves %lu MiB, too little to trace, "
		"which takes %lu MiB; the program runs on untraced",
		(unsigned long)(free >> 20), (unsigned long)(GT_BUDGET_SPACE >> 20));
	return false;
}

/* Before anything is made. False: there is too little. */
static bool limit_memory(struct gt_config *config, struct gt_budget *budget)
{
	struct gt_cgroup_limit cgroup;

	gt_cgroup_find("", &cgroup);
	if (!gt_budget_fit(config, &cgroup, budget)) {
		gt_log_say("the memory limit of %lu KiB in %s is too small to trace; the program "
			   "runs on untraced",
			   (unsigned long)(cgroup.bytes >> 10), cgroup.file);
		return false;
	}
	if (!limit_space(config, budget))
		return false;
	gt_memory_limit((size_t)gt_config_number(config, GT_CONFIG_MAX_RSS),
			budget->limits_space    ? GT_MEMORY_SPACE
			: budget->limits_memory ? GT_MEMORY_CGROUP
						: "--max-rss");
	return true;
}

/* What CUPTI writes and reads must exist before it starts; the thread comes last. */
static int start_parts(struct gt_pipeline *p)
{
	int error = gt_pipeline_init(p, gt_process_watch_end);

	if (!error)
		error = gt_turn_start(p);
	if (error)
		return error;
	error = gt_drain_start(p, &p->collectors);
	if (error) {
		gt_collectors_stop(&p->collectors);
		gt_collectors_release(&p->collectors);
	}
	return error;
}

static uint64_t loaded; /* CLOCK_MONOTONIC ns */

void gt_session_loaded(void)
{
	loaded = gt_clock_now();
}

static int start(struct gt_pipeline *p, char *const *environment)
{
	int error;

	gt_seccomp_check();
	read_config(&p->config, environment);
	if (!strcmp(gt_config_text(&p->config, GT_CONFIG_MODE), "off") ||
	    gt_ranks_leave_out(true) || !limit_memory(&p->config, &p->budget))
		return -ECANCELED;
	gt_fast_clock_start(&p->fast_clock, &gt_fast_clock,
			    strcmp(gt_config_text(&p->config, GT_CONFIG_CLOCK), "monotonic") != 0);
	gt_clock_init(&p->clock);
	fill_metadata(&p->metadata, &p->config, &p->clock);
	check_plugin(&p->config, &p->metadata);
	read_filter(&p->config, &p->filters.asked);
	gt_capture_filter_describe(&p->filters.asked, p->metadata.filters);
	gt_control_start(&p->config, &p->metadata);
	p->window.is_controlled = gt_control_is_on();
	gt_window_plan(&p->window, &p->config, loaded, &p->clock, &p->metadata);
	gt_dump_plan(p);
	gt_budget_describe(&p->budget, &p->config, p->metadata.memory, sizeof(p->metadata.memory));
	gt_log_verbose("memory limit: %s", *p->metadata.memory ? p->metadata.memory : "none");
	gt_turn_seccomp(p, false);
	gt_pipeline_link(p);
	error = gt_config_own_texts(&p->config);
	if (!error)
		error = gt_forkguard_arm();
	if (error)
		return error;
	gt_spooling_start(&p->spooling, &p->config, p->output.folder);
	gt_dump_fit(p);
	error = start_parts(p);
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
static int start_undisturbed(char *const *environment)
{
	int cancelled = gt_uncancelled_begin(), error;
	sigset_t most, old;

	sigfillset(&most);
	for (size_t i = 0; i < sizeof(synchronous) / sizeof(synchronous[0]); i++)
		sigdelset(&most, synchronous[i]);
	pthread_sigmask(SIG_BLOCK, &most, &old);
	error = start(&pipeline, environment);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	gt_uncancelled_end(cancelled);
	return error;
}

static bool driver_is_expected;

void gt_session_expect_driver(bool expected)
{
	driver_is_expected = expected;
}

static void set_started(void)
{
	gt_process_start(&pipeline.config);
	gt_crash_start(&pipeline.config);
	atomic_store_explicit(&gt_session_state,
			      pipeline.gpu.has_cupti ? GT_SESSION_CUPTI : GT_SESSION_HOOKS,
			      memory_order_release);
}

/* Nothing of an attempt that failed is left but the memory of its parts: no thread of the program
 * has seen them. */
int gt_session_attach(char *const *environment, char *ret_why, size_t size)
{
	int error;

	memset(&pipeline, 0, sizeof(pipeline));
	error = start_undisturbed(environment);
	if (!error) {
		set_started();
		return 0;
	}
	gt_text_format(ret_why, size, "%s",
		       error == -ECANCELED        ? "the memory limit is too small to trace"
		       : *pipeline.gpu.status.why ? pipeline.gpu.status.why
						  : strerror(-error));
	return error;
}

void gt_session_start(bool from_hook)
{
	int saved = errno;
	int error;

	if (gt_process_is_forked_child()) { /* its own CUDA: start over, the parent's parts stay */
		memset(&pipeline, 0, sizeof(pipeline));
		gt_first_call_forget();
		gt_trigger_forked();
		atomic_store(&gt_session_state, GT_SESSION_IDLE);
	}
	if (from_hook && !gt_first_call_may_start(driver_is_expected))
		goto out;
	if (atomic_load(&gt_session_state) != GT_SESSION_IDLE || !gt_first_call_claim())
		goto out;
	pipeline.gpu.in_init = !from_hook;
	error = start_undisturbed(environ);
	if (error) {
		gt_control_end();
		gt_dump_signal_disarm();
		if (error != -ECANCELED)
			gt_log_say("cannot start: %s; the program runs on untraced",
				   strerror(-error));
		atomic_store(&gt_session_state, GT_SESSION_OFF);
	} else {
		set_started();
	}
	gt_first_call_started();
out:
	errno = saved;
}

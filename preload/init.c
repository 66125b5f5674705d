/* SPDX-License-Identifier: Apache-2.0
 *
 * The constructor and the driver's entry. The constructor runs in every program that inherits the
 * environment, most of which never use CUDA: it looks at the environment, /proc/self/status and
 * stderr and, without `gputrace run`, sets three variables; with --dump-signal it takes that
 * signal. No thread, no file of its own, no dlopen (REQ-4).
 */
#include "preload/init.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "collectors/nvtx/nvtx.h"
#include "collectors/trigger/trigger.h"
#include "core/config.h"
#include "core/guest/log.h"
#include "core/guest/text.h"
#include "core/identity.h"
#include "core/run_name.h"
#include "core/window/flight_plan.h"
#include "pipeline/dump_signal.h"
#include "preload/attach.h"
#include "preload/process.h"
#include "preload/ranks.h"
#include "preload/start.h"

#define INJECTION      "CUDA_INJECTION64_PATH"
#define NVTX_INJECTION "NVTX_INJECTION64_PATH"
#define INSTANCE       "GPUTRACE_INSTANCE"

static int (*first_copy)(void); /* of another copy of this library that came before */

/* "none" is commonly used for "not set" (REQ-2). */
static bool is_unset(const char *value)
{
	return !value || !*value || !strcmp(value, "none");
}

static const char *own_path(void)
{
	Dl_info info;

	return dladdr((void *)&own_path, &info) ? info.dli_fname : NULL;
}

/* The one option that is needed before there is a session. */
static bool is_forced(void)
{
	const char *force = secure_getenv(gt_options[GT_CONFIG_FORCE_INJECTION].env);
	struct gt_config config;

	return force && gt_config_set(&config, GT_CONFIG_FORCE_INJECTION, force) == 0 &&
	       gt_config_bool(&config, GT_CONFIG_FORCE_INJECTION);
}

static void set_injection(void)
{
	const char *current = secure_getenv(INJECTION);
	const char *own = own_path();

	if (!own)
		return;
	if (is_unset(current) || (strcmp(current, own) != 0 && is_forced())) {
		setenv(INJECTION, own, 1);
		current = own;
	}
	gt_session_expect_driver(!strcmp(current, own));
}

static bool is_gputrace(const char *path)
{
	const char *name = strrchr(path, '/');

	return !strcmp(name ? name + 1 : path, "libgputrace.so");
}

/* The NVTX code in the program's libraries asks for this variable at their first annotation.
 * Another tool keeps it unless --nvtx=force; another copy of this library does not (REQ-73). */
static void set_nvtx_injection(void)
{
	const char *current = secure_getenv(NVTX_INJECTION);
	const char *when = secure_getenv("GPUTRACE_NVTX");
	const char *level = secure_getenv("GPUTRACE_LEVEL");
	const char *own = own_path();

	if (!when && level)
		when = gt_config_of_level(level, GT_CONFIG_NVTX);
	if (!own || (when && !strcmp(when, "off")) || (current && !strcmp(current, own)))
		return;
	if (is_unset(current) || is_gputrace(current) || (when && !strcmp(when, "force")))
		setenv(NVTX_INJECTION, own, 1);
}

static bool is_preloaded(void)
{
	const char *preloaded = secure_getenv("LD_PRELOAD"), *own = own_path();

	return preloaded && own && strstr(preloaded, own);
}

/* Into a process that runs, by `gputrace attach`. */
static bool is_attached(void)
{
	return gt_attach_is_path(own_path()) && !is_preloaded();
}

/* Without an output folder the run is named after its first process. Only with LD_PRELOAD: a
 * library that the driver loads is not in the first process if that one does not use CUDA. */
static void mark_run(void)
{
	char mark[GT_RUN_NAME_BYTES];

	if (!gt_identity_env(gt_options[GT_CONFIG_OUTPUT].env) && is_preloaded() &&
	    gt_run_name_mark(mark, sizeof(mark)))
		setenv(GT_RUN_NAME_FIRST, mark, 1);
}

/* Random bytes that the kernel gives each program image: what exec leaves behind in the
 * environment, under the same pid, is not ours. */
static uint64_t image_mark(void)
{
	const void *random = (const void *)getauxval(AT_RANDOM);
	uint64_t mark = 0;

	if (random)
		memcpy(&mark, random, sizeof(mark));
	return mark;
}

/* "mark:address" of the first copy's InitializeInjection. A value of another image is stale. */
static int (*parse_instance(const char *value))(void)
{
	const char *end;
	uint64_t mark, address;

	if (!value || gt_text_parse_u64(value, &end, &mark) || *end != ':' ||
	    mark != image_mark() || gt_text_parse_u64(end + 1, &end, &address))
		return NULL;
	return (int (*)(void))(uintptr_t)address;
}

/* The driver will load another file: it may be a copy of this library (REQ-58). */
static bool another_copy_may_come(void)
{
	const char *injection = secure_getenv(INJECTION);
	const char *own = own_path();

	return !is_unset(injection) && own && strcmp(injection, own) != 0;
}

/* Two copies in one process: the first one to be loaded records, the other passes everything on.
 * Said in the environment only when it can matter: the first setenv of a process costs it the start
 * of malloc. */
static void claim_instance(void)
{
	char value[64];

	first_copy = parse_instance(secure_getenv(INSTANCE));
	if (first_copy || !another_copy_may_come())
		return;
	gt_text_format(value, sizeof(value), "%lu:%lu", (unsigned long)image_mark(),
		       (unsigned long)(uintptr_t)&InitializeInjection);
	setenv(INSTANCE, value, 1);
}

/* NVTX ranges may begin before there is a session. What is wrong is reported when there is one. */
static void arm_trigger(void)
{
	const char *range = secure_getenv(gt_options[GT_CONFIG_CAPTURE_RANGE].env);
	const char *end = secure_getenv(gt_options[GT_CONFIG_CAPTURE_RANGE_END].env);
	const char *schedule = secure_getenv(gt_options[GT_CONFIG_SCHEDULE].env);
	const char *steps = secure_getenv(gt_options[GT_CONFIG_STEP_RANGE].env);
	struct gt_capture_plan plan;
	int wrong;

	gt_capture_plan_make(range, end, schedule, steps, &plan, &wrong);
	gt_trigger_arm(&plan);
}

/* A request for a dump must not end a program that has not come to its first use of CUDA. */
static void arm_dump_signal(void)
{
	const char *recorder = secure_getenv(gt_options[GT_CONFIG_FLIGHT_RECORDER].env);
	const char *chosen = secure_getenv(gt_options[GT_CONFIG_DUMP_SIGNAL].env);
	struct gt_flight_plan plan;
	struct gt_config config;

	if (recorder && chosen && !gt_flight_plan_parse(recorder, &plan) && plan.keep_ns &&
	    !gt_config_set(&config, GT_CONFIG_DUMP_SIGNAL, chosen))
		gt_dump_signal_arm((size_t)gt_config_number(&config, GT_CONFIG_DUMP_SIGNAL));
}

__attribute__((constructor)) static void on_load(void)
{
	if (getauxval(AT_SECURE)) {
		atomic_store(&gt_session_state, GT_SESSION_OFF);
		return;
	}
	if (!is_attached() && gt_ranks_leave_out(false)) {
		atomic_store(&gt_session_state, GT_SESSION_OFF);
		gt_nvtx_stop();
		return;
	}
	gt_attach_loaded(is_attached());
	gt_log_remember_stderr();
	if (!is_attached())
		claim_instance();
	if (first_copy) {
		atomic_store(&gt_session_state, GT_SESSION_OFF);
		gt_nvtx_stop();
		return;
	}
	gt_session_loaded();
	/* other threads may be reading the environment, and the loader is locked */
	if (is_attached())
		return;
	gt_process_look(!is_preloaded());
	arm_trigger();
	arm_dump_signal();
	set_injection();
	set_nvtx_injection();
	mark_run();
}

int InitializeInjection(void)
{
	if (first_copy)
		return first_copy();
	gt_session_start(false);
	return 1;
}

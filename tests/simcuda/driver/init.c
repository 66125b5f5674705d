/* SPDX-License-Identifier: Apache-2.0
 *
 * cuInit: reads the options, brings up the devices, lets an injected tool in
 * (CUDA_INJECTION64_PATH) and says when it is done. Also what a forked child of an initialised
 * process may do: nothing. Any thread.
 */
#include "driver/driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { COLD, READY, FORKED, GONE };

static pthread_mutex_t init_mutex = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int state;

uint32_t sim_tid(void)
{
	if (!sim_self.tid)
		sim_self.tid = (uint32_t)syscall(SYS_gettid);
	return sim_self.tid;
}

static void in_child(void)
{
	sim_self.tid = 0;
	if (state != READY)
		return;
	state = FORKED;
	sim_watching = 0; /* a tool is not notified of what the child tries */
	sim_client = NULL;
}

/* The driver dies before what was registered before cuInit, after what was registered since. */
static void teardown(void)
{
	sim_truth("{\"truth\":\"exit\",\"pid\":%d,\"end\":%llu}\n", (int)getpid(),
		  (unsigned long long)sim_now());
	sim_options_report_unused();
	atomic_store(&sim_client, NULL);
	state = GONE;
}

/* As the driver does: a tool that cannot be loaded is passed over without a word. */
static void let_tool_in(void)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");
	void *tool = path && *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
	int (*initialize)(void) = NULL;

	if (tool)
		*(void **)&initialize = dlsym(tool, "InitializeInjection");
	if (initialize)
		initialize();
}

/* The fault slow_init. */
static void take_time(void)
{
	uint64_t ns = sim_options.slow_init_ns;
	struct timespec pause = {.tv_sec = (time_t)(ns / 1000000000u),
				 .tv_nsec = (long)(ns % 1000000000u)};

	if (ns)
		nanosleep(&pause, NULL);
}

static void bring_up(void)
{
	sim_options_read();
	sim_truth_open();
	sim_devices_init();
	pthread_atfork(NULL, NULL, in_child);
	let_tool_in();
	take_time();
	state = READY;
	atexit(teardown);
	sim_announce_init();
}

void sim_announce_init(void)
{
	const struct sim_client *client = atomic_load(&sim_client);

	if (client)
		client->initialised();
}

CUresult sim_cuInit(unsigned int flags)
{
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (sim_self.in_init)
		return CUDA_SUCCESS;
	pthread_mutex_lock(&init_mutex);
	if (state == COLD) {
		sim_self.in_init = true;
		bring_up();
		sim_self.in_init = false;
	}
	pthread_mutex_unlock(&init_mutex);
	return sim_check_ready();
}

bool sim_is_gone(void)
{
	return state == GONE;
}

bool sim_is_ready(void)
{
	return state == READY;
}

CUresult sim_check_ready(void)
{
	if (sim_likely(state == READY) || sim_self.in_init)
		return CUDA_SUCCESS;
	if (state == FORKED)
		sim_truth("{\"truth\":\"fault\",\"fault\":\"cuda_in_child\",\"pid\":%d}\n",
			  (int)getpid());
	return state == GONE ? CUDA_ERROR_DEINITIALIZED : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult sim_check_context(struct CUctx_st **ret_context)
{
	CUresult result = sim_check_ready();

	if (sim_unlikely(result))
		return result;
	struct CUctx_st *context = sim_context_current();
	if (sim_unlikely(!context))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (sim_unlikely(!sim_context_valid(context)))
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	*ret_context = context;
	return CUDA_SUCCESS;
}

CUresult sim_cuDriverGetVersion(int *version)
{
	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	*version = sim_driver_version;
	return CUDA_SUCCESS;
}

CUresult sim_cuProfilerStart(void)
{
	return sim_check_ready();
}

CUresult sim_cuProfilerStop(void)
{
	return sim_check_ready();
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Starting the runtime: finds libcuda.so.1 by dlopen as the real one does, calls cuInit, and gives
 * each thread its device's primary context at the first call that needs one. Any thread.
 */
#include "runtime/runtime.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#define CONTEXTS 16

struct rt_driver rt_cu;
const struct sim_table *rt_table;
__thread struct rt_thread rt_self;
_Atomic bool rt_is_ready;
_Atomic unsigned int rt_generation = 1;

static const _Atomic unsigned int nobody;
const _Atomic unsigned int *_Atomic rt_watching = &nobody;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static cudaError_t start_error;
static CUcontext _Atomic contexts[CONTEXTS];

static void find_driver(void)
{
	static const CUuuid id = SIM_TABLE_UUID;
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

	start_error = cudaErrorInsufficientDriver;
	if (!library)
		return;
#define X(name_) *(void **)&rt_cu.name_ = dlsym(library, #name_);
	RT_DRIVER_FUNCTIONS(X)
#undef X
	if (!rt_cu.cuGetExportTable || rt_cu.cuGetExportTable((const void **)&rt_table, &id))
		return;
	start_error = cudaSuccess;
}

static void in_child(void)
{
	rt_is_ready = false;
}

cudaError_t rt_start(void)
{
	pthread_once(&once, find_driver);
	if (start_error)
		return start_error;
	cudaError_t error = RT_PLAIN(cuInit, 0);
	if (error)
		return error;
	int count = 0;
	rt_cu.cuDeviceGetCount(&count);
	if (!count)
		return cudaErrorNoDevice;
	rt_watching = rt_table->watching;
	if (!rt_table->in_init() && !atomic_exchange(&rt_is_ready, true))
		pthread_atfork(NULL, NULL, in_child);
	return cudaSuccess;
}

CUcontext rt_context(void)
{
	CUcontext context = NULL;

	rt_cu.cuCtxGetCurrent(&context);
	return context;
}

/* A context that the program made current by itself is used as it is. */
cudaError_t rt_bind(void)
{
	unsigned int generation = rt_generation;
	CUcontext current = NULL;
	cudaError_t error = cudaSuccess;
	int device = rt_self.device;

	if (!rt_self.bound && !rt_cu.cuCtxGetCurrent(&current) && current) {
		rt_self.bound = generation;
		return cudaSuccess;
	}
	current = contexts[device];
	if (!current) {
		error = RT_PLAIN(cuDevicePrimaryCtxRetain, &current, device);
		contexts[device] = current;
	}
	if (!error)
		error = RT_PLAIN(cuCtxSetCurrent, current);
	if (!error)
		rt_self.bound = generation;
	return error;
}

void rt_unbind_all(void)
{
	for (int i = 0; i < CONTEXTS; i++)
		contexts[i] = NULL;
	rt_generation++;
}

/* Every call ends here when it failed: cudaGetLastError will tell. */
cudaError_t rt_finish(cudaError_t error)
{
	if (error)
		rt_self.last_error = error;
	return error;
}

cudaError_t rt_missing(const char *name)
{
	char line[160] = "simcuda: ";

	strncat(line, name, 100);
	strcat(line, " is not simulated\n");
	if (write(STDERR_FILENO, line, strlen(line)) < 0)
		return cudaErrorNotSupported;
	return cudaErrorNotSupported;
}

cudaError_t rt_cudaGetLastError(void)
{
	cudaError_t error = rt_self.last_error;

	rt_self.last_error = cudaSuccess;
	return error;
}

cudaError_t rt_cudaPeekAtLastError(void)
{
	return rt_self.last_error;
}

cudaError_t rt_cudaRuntimeGetVersion(int *version)
{
	*version = rt_version;
	return cudaSuccess;
}

cudaError_t rt_cudaDriverGetVersion(int *version)
{
	return RT_PLAIN(cuDriverGetVersion, version);
}

cudaError_t rt_cudaProfilerStart(void)
{
	return RT_PLAIN(cuProfilerStart);
}

cudaError_t rt_cudaProfilerStop(void)
{
	return RT_PLAIN(cuProfilerStop);
}

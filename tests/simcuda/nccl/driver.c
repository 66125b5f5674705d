/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the simulated driver. Any thread.
 */
#include "nccl/sim_nccl.h"

#include <dlfcn.h>
#include <pthread.h>

static struct sim_nccl_driver driver;
static bool is_there;

static void *symbol(void *library, const char *name)
{
	void *found = dlsym(library, name);

	is_there &= found != NULL;
	return found;
}

static void find(void)
{
	static const CUuuid ours = SIM_TABLE_UUID;
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	CUresult (*table)(const void **, const CUuuid *);
	CUresult (*init)(unsigned int);

	is_there = library != NULL;
	if (!library)
		return;
	table = (CUresult(*)(const void **, const CUuuid *))symbol(library, "cuGetExportTable");
	init = (CUresult(*)(unsigned int))symbol(library, "cuInit");
	*(void **)&driver.get_current = symbol(library, "cuCtxGetCurrent");
	*(void **)&driver.get_device = symbol(library, "cuCtxGetDevice");
	*(void **)&driver.retain = symbol(library, "cuDevicePrimaryCtxRetain");
	*(void **)&driver.push = symbol(library, "cuCtxPushCurrent_v2");
	*(void **)&driver.pop = symbol(library, "cuCtxPopCurrent_v2");
	*(void **)&driver.load = symbol(library, "cuModuleLoadData");
	*(void **)&driver.find = symbol(library, "cuModuleGetFunction");
	*(void **)&driver.launch = symbol(library, "cuLaunchKernel");
	if (is_there)
		is_there = !init(0) && !table((const void **)&driver.table, &ours);
}

const struct sim_nccl_driver *sim_nccl_driver(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, find);
	return is_there ? &driver : NULL;
}

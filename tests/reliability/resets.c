/* SPDX-License-Identifier: Apache-2.0
 *
 *   resets WAY N   N times: creates a context, waits for some work in it, launches a kernel without
 *                  waiting, and ends the context by cudaDeviceReset ("device"),
 *                  cuDevicePrimaryCtxReset ("primary"), the last cuDevicePrimaryCtxRelease
 *                  ("release") or cuCtxDestroy ("destroy"). Or launches the kernel in the primary
 *                  context, which remains, and ends a context of its own ("other") or releases a
 *                  reference that is not the last one ("reference").
 */
#include <dlfcn.h>
#include <string.h>

#include "tests/reliability/device.h"

static const char late_image[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
				 ".visible .entry late(.param .u64 p) { ret; }\n";

static void begin_runtime(CUcontext *unused)
{
	(void)unused;
	check((int)cudaFree(NULL), "cudaFree");
}

static void end_runtime(CUcontext unused)
{
	(void)unused;
	check((int)cudaDeviceReset(), "cudaDeviceReset");
}

static void begin_primary(CUcontext *ret_context)
{
	check((int)cuDevicePrimaryCtxRetain(ret_context, 0), "cuDevicePrimaryCtxRetain");
	check((int)cuCtxSetCurrent(*ret_context), "cuCtxSetCurrent");
}

static void end_primary(CUcontext unused)
{
	(void)unused;
	check((int)cuDevicePrimaryCtxReset(0), "cuDevicePrimaryCtxReset");
}

static void end_release(CUcontext unused)
{
	(void)unused;
	check((int)cuDevicePrimaryCtxRelease(0), "cuDevicePrimaryCtxRelease");
}

/* cuCtxCreate has other parameters from 13.0 on. */
static void begin_created(CUcontext *ret_context)
{
	CUresult (*create)(CUcontext *, unsigned int, CUdevice);

	*(void **)&create = dlsym(RTLD_DEFAULT, "cuCtxCreate_v2");
	check(!create || create(ret_context, 0, 0), "cuCtxCreate_v2");
}

static void end_created(CUcontext context)
{
	check((int)cuCtxDestroy(context), "cuCtxDestroy");
}

static void launch_late(void)
{
	CUfunction late;
	CUmodule module;
	CUstream stream;
	CUdeviceptr data;
	void *arguments[] = {&data};

	check((int)cuModuleLoadData(&module, late_image), "cuModuleLoadData");
	check((int)cuModuleGetFunction(&late, module, "late"), "cuModuleGetFunction");
	check((int)cuMemAlloc(&data, BYTES), "cuMemAlloc");
	check((int)cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	check((int)cuLaunchKernel(late, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL),
	      "cuLaunchKernel");
}

static void open_stream(struct device *device)
{
	CUmodule module;
	CUdeviceptr data;

	check((int)cuModuleLoadData(&module, image), "cuModuleLoadData");
	check((int)cuModuleGetFunction(&device->kernel, module, "tick"), "cuModuleGetFunction");
	check((int)cuMemAlloc(&data, BYTES), "cuMemAlloc");
	check((int)cuStreamCreate(&device->stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	device->data = (void *)data;
}

/* The running kernel keeps CUPTI from delivering the buffer with the operations before it. */
static void work(void)
{
	struct device device;

	open_stream(&device);
	for (int i = 0; i < 5; i++)
		one_round(&device);
	launch_late();
	one_round(&device);
	check((int)cuStreamSynchronize(device.stream), "cuStreamSynchronize");
}

/* The kernel that runs is of another context, or of a reference. */
static void work_done(void)
{
	struct device device;

	open_stream(&device);
	for (int i = 0; i < 6; i++)
		one_round(&device);
	check((int)cuStreamSynchronize(device.stream), "cuStreamSynchronize");
}

static void begin_with_primary(CUcontext *ret_context)
{
	begin_runtime(NULL);
	launch_late();
	begin_created(ret_context);
}

static void begin_reference(CUcontext *unused)
{
	CUcontext context;

	begin_runtime(unused);
	launch_late();
	check((int)cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
}

static const struct {
	const char *name;
	void (*begin)(CUcontext *ret_context);
	void (*end)(CUcontext context);
	void (*work)(void);
} ways[] = {{"device", begin_runtime, end_runtime, work},
	    {"primary", begin_primary, end_primary, work},
	    {"release", begin_primary, end_release, work},
	    {"destroy", begin_created, end_created, work},
	    {"other", begin_with_primary, end_created, work_done},
	    {"reference", begin_reference, end_release, work_done}};

int main(int argc, char **argv)
{
	int times = argc > 2 ? atoi(argv[2]) : 0;

	check((int)cuInit(0), "cuInit");
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		for (int n = 0; argc > 2 && !strcmp(argv[1], ways[i].name) && n < times; n++) {
			CUcontext context = NULL;

			ways[i].begin(&context);
			ways[i].work();
			ways[i].end(context);
		}
	}
	cudaDeviceSynchronize(); /* what "other" and "reference" left running */
	printf("%d contexts\n", times);
	return 3;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 *   contexts loop N   two threads for each device: N times create a context (cuCtxCreate, or retain
 *                     the primary one), wait for some work in it and destroy it (release it)
 *   contexts late     a context is destroyed while a kernel runs in it ("late"), and meanwhile
 *                     another thread creates one and waits for a kernel there ("tick")
 */
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "tests/reliability/device.h"

#define MAX_THREADS 64
#define ROUNDS      6

static const char late_image[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
				 ".visible .entry late(.param .u64 p) { ret; }\n";
static int times, device_count;
static pthread_barrier_t together;

/* cuCtxCreate has other parameters from 13.0 on. */
static CUcontext create(CUdevice device)
{
	CUresult (*function)(CUcontext *, unsigned int, CUdevice);
	CUcontext context = NULL;

	*(void **)&function = dlsym(RTLD_DEFAULT, "cuCtxCreate_v2");
	check(!function || function(&context, 0, device), "cuCtxCreate_v2");
	return context;
}

static void destroy(CUdevice unused, CUcontext context)
{
	(void)unused;
	check((int)cuCtxDestroy(context), "cuCtxDestroy");
}

static CUcontext retain(CUdevice device)
{
	CUcontext context;

	check((int)cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
	check((int)cuCtxSetCurrent(context), "cuCtxSetCurrent");
	return context;
}

static void release(CUdevice device, CUcontext unused)
{
	(void)unused;
	check((int)cuDevicePrimaryCtxRelease(device), "cuDevicePrimaryCtxRelease");
}

static const struct {
	CUcontext (*begin)(CUdevice device);
	void (*end)(CUdevice device, CUcontext context);
} ways[] = {{create, destroy}, {retain, release}};

static void open_stream(struct device *device, const char *ptx, const char *kernel)
{
	CUmodule module;
	CUdeviceptr data;

	check((int)cuModuleLoadData(&module, ptx), "cuModuleLoadData");
	check((int)cuModuleGetFunction(&device->kernel, module, kernel), "cuModuleGetFunction");
	check((int)cuMemAlloc(&data, BYTES), "cuMemAlloc");
	check((int)cuStreamCreate(&device->stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	device->data = (void *)data;
}

static void launch(struct device *device)
{
	void *arguments[] = {&device->data};

	check((int)cuLaunchKernel(device->kernel, 1, 1, 1, 1, 1, 1, 0, device->stream, arguments,
				  NULL),
	      "cuLaunchKernel");
}

static void *loop(void *argument)
{
	int number = *(int *)argument;
	CUdevice ordinal = number % device_count;
	int way = number / device_count;

	pthread_barrier_wait(&together);
	for (int n = 0; n < times; n++) {
		CUcontext context = ways[way].begin(ordinal);
		struct device device;

		open_stream(&device, image, "tick");
		for (int i = 0; i < ROUNDS; i++)
			one_round(&device);
		check((int)cuStreamSynchronize(device.stream), "cuStreamSynchronize");
		ways[way].end(ordinal, context);
	}
	return NULL;
}

static void run_loops(void)
{
	static int numbers[MAX_THREADS];
	pthread_t threads[MAX_THREADS];
	int count = device_count * 2 < MAX_THREADS ? device_count * 2 : MAX_THREADS;

	pthread_barrier_init(&together, NULL, (unsigned int)count);
	for (int i = 0; i < count; i++) {
		numbers[i] = i;
		check(pthread_create(&threads[i], NULL, loop, &numbers[i]), "pthread_create");
	}
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	printf("%d contexts\n", count * times);
}

static void *come_later(void *unused)
{
	struct device device;

	(void)unused;
	pthread_barrier_wait(&together);
	usleep(10000);
	create(1);
	open_stream(&device, image, "tick");
	launch(&device);
	check((int)cuStreamSynchronize(device.stream), "cuStreamSynchronize");
	return NULL;
}

static void run_late(void)
{
	CUcontext context = create(0);
	struct device device;
	pthread_t other;

	pthread_barrier_init(&together, NULL, 2);
	check(pthread_create(&other, NULL, come_later, NULL), "pthread_create");
	open_stream(&device, late_image, "late");
	launch(&device);
	pthread_barrier_wait(&together);
	check((int)cuCtxDestroy(context), "cuCtxDestroy");
	pthread_join(other, NULL);
	printf("2 contexts\n");
}

int main(int argc, char **argv)
{
	check((int)cuInit(0), "cuInit");
	check((int)cuDeviceGetCount(&device_count), "cuDeviceGetCount");
	times = argc > 2 ? atoi(argv[2]) : 0;
	if (argc > 1 && !strcmp(argv[1], "loop"))
		run_loops();
	else
		run_late();
	return 3;
}

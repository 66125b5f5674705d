/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads that use the GPU without a pause until the gate is open, and check what they get from it.
 * What it prints does not depend on how long that takes.
 */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "tests/gate.h"
#include "tests/reliability/device.h"

#define THREADS 3
#define FIRST   20
#define WORDS   256

static struct device devices[THREADS];
static CUcontext context;
static _Atomic int rounds[THREADS], wrong;

/* A kernel, a set, a copy back, and a wait. */
static void check_round(struct device *device, int value)
{
	void *arguments[] = {&device->data};
	unsigned char host[WORDS];

	check((int)cuLaunchKernel(device->kernel, 4, 1, 1, 64, 1, 1, 0, device->stream, arguments,
				  NULL),
	      "cuLaunchKernel");
	check((int)cudaMemsetAsync(device->data, value, sizeof(host), device->stream),
	      "cudaMemsetAsync");
	check((int)cudaMemcpyAsync(host, device->data, sizeof(host), cudaMemcpyDeviceToHost,
				   device->stream),
	      "cudaMemcpyAsync");
	check((int)cudaStreamSynchronize(device->stream), "cudaStreamSynchronize");
	for (int i = 0; i < WORDS; i++)
		wrong += host[i] != (unsigned char)value;
}

static void *work(void *argument)
{
	struct device *device = argument;
	long index = device - devices;

	check((int)cuCtxSetCurrent(context), "cuCtxSetCurrent");
	while (rounds[index] < FIRST || !gate_is_open(1)) {
		check_round(device, rounds[index] & 255);
		rounds[index]++;
		usleep(5000);
	}
	return NULL;
}

static bool all_have_begun(void)
{
	for (int i = 0; i < THREADS; i++)
		if (rounds[i] < FIRST)
			return false;
	return true;
}

int main(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		open_device(&devices[i]);
	check((int)cuCtxGetCurrent(&context), "cuCtxGetCurrent");
	for (int i = 0; i < THREADS; i++)
		check(pthread_create(&threads[i], NULL, work, &devices[i]), "pthread_create");
	while (!all_have_begun())
		usleep(1000);
	puts("first");
	fflush(stdout);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%d wrong values\n", wrong);
	return 3;
}

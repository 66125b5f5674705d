/* SPDX-License-Identifier: Apache-2.0
 *
 * A program with a known number of everything, written without nvcc: it registers its kernel the
 * way nvcc's code does. usage: program [launches [threads]]. Prints what it made; exits 1 if CUDA
 * failed.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cuda_runtime_api.h>

#define ELEMENTS 1024

void **__cudaRegisterFatBinary(void *binary);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
			    int limit, uint3 *tid, uint3 *bid, dim3 *block, dim3 *grid, int *warp);

static const char no_image[64];
static const struct {
	int magic;
	int version;
	const void *data;
	void *unused;
} wrapper = {0x466243b1, 1, no_image, NULL};

static int failures;

static void check(cudaError_t error, const char *what)
{
	if (!error)
		return;
	printf("%s: %s\n", what, cudaGetErrorName(error));
	failures++;
}
#define CHECK(call_) check(call_, #call_)

/* Only its address is used. */
static void scale(void)
{
}

static void register_kernel(void)
{
	void **handle = __cudaRegisterFatBinary((void *)&wrapper);

	__cudaRegisterFunction(handle, (const char *)scale, NULL, "_Z5scalePf", -1, NULL, NULL,
			       NULL, NULL, NULL);
}

static void launch(cudaStream_t stream, unsigned int blocks)
{
	CHECK(cudaLaunchKernel((const void *)scale, (dim3){blocks, 1, 1}, (dim3){64, 1, 1}, NULL,
			       128, stream));
}

static void copy_and_set(unsigned char *device, cudaStream_t stream)
{
	unsigned char there[ELEMENTS], back[ELEMENTS];

	memset(there, 5, sizeof(there));
	CHECK(cudaMemcpy(device, there, ELEMENTS, cudaMemcpyHostToDevice));
	CHECK(cudaMemsetAsync(device + ELEMENTS / 2, 9, ELEMENTS / 2, stream));
	CHECK(cudaMemcpyAsync(back, device, ELEMENTS, cudaMemcpyDeviceToHost, stream));
	CHECK(cudaStreamSynchronize(stream));
	if (back[0] != 5 || back[ELEMENTS - 1] != 9)
		check(cudaErrorUnknown, "the bytes that came back");
}

static void replay_graph(cudaStream_t stream)
{
	cudaGraph_t graph;
	cudaGraphExec_t exec;

	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	launch(stream, 3);
	launch(stream, 4);
	CHECK(cudaStreamEndCapture(stream, &graph));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	CHECK(cudaGraphDestroy(graph));
	CHECK(cudaGraphLaunch(exec, stream));
	CHECK(cudaGraphLaunch(exec, stream));
	CHECK(cudaStreamSynchronize(stream));
	CHECK(cudaGraphExecDestroy(exec));
}

static void *launch_on_own_stream(void *launches)
{
	for (int i = 0; i < *(int *)launches; i++)
		launch(cudaStreamPerThread, 1);
	CHECK(cudaStreamSynchronize(cudaStreamPerThread));
	return NULL;
}

static void launch_in_threads(int threads, int launches)
{
	pthread_t ids[64];

	for (int i = 0; i < threads && i < 64; i++)
		pthread_create(&ids[i], NULL, launch_on_own_stream, &launches);
	for (int i = 0; i < threads && i < 64; i++)
		pthread_join(ids[i], NULL);
}

static void try_in_child(void)
{
	int status;
	pid_t child = fork();

	if (!child)
		_exit(cudaDeviceSynchronize() == cudaErrorInitializationError ? 0 : 1);
	if (waitpid(child, &status, 0) != child || status)
		check(cudaErrorUnknown, "CUDA in a forked child");
}

int main(int count, char **arguments)
{
	int launches = count > 1 ? atoi(arguments[1]) : 5;
	int threads = count > 2 ? atoi(arguments[2]) : 0;
	unsigned char *device;
	cudaStream_t stream;

	register_kernel();
	CHECK(cudaMalloc((void **)&device, ELEMENTS));
	CHECK(cudaStreamCreate(&stream));
	for (int i = 0; i < launches; i++)
		launch(i % 2 ? stream : NULL, (unsigned int)(i + 1));
	launch_in_threads(threads, launches);
	copy_and_set(device, stream);
	replay_graph(stream);
	CHECK(cudaFree(device));
	CHECK(cudaDeviceSynchronize());
	try_in_child();
	printf("kernels=%d copies=2 sets=1\n", launches * (threads + 1) + 4);
	return failures != 0;
}

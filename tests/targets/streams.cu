/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels on several streams and host threads, asynchronous copies, sets, events. The plain case of
 * an nvcc program.
 */
#include <pthread.h>

#include "tests/targets/expect.h"

#define THREADS  3
#define LAUNCHES 20
#define COUNT    1024
#define BYTES    (COUNT * sizeof(float))

__global__ void scale(float *data, float factor, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		data[i] *= factor;
}

template <typename T> __global__ void fill(T *data, T value)
{
	data[threadIdx.x] = value;
}

struct work {
	cudaStream_t stream;
	float *device, *host;
};

__attribute__((noinline)) void launch_scale(struct work *work)
{
	scale<<<COUNT / 256, 256, 0, work->stream>>>(work->device, 2.0f, COUNT);
	CHECK(cudaGetLastError());
}

__attribute__((noinline)) void copy_in(struct work *work)
{
	CHECK(cudaMemcpyAsync(work->device, work->host, BYTES, cudaMemcpyHostToDevice,
			      work->stream));
}

extern "C" void *worker(void *argument)
{
	struct work *work = (struct work *)argument;

	copy_in(work);
	for (int i = 0; i < LAUNCHES; i++)
		launch_scale(work);
	CHECK(cudaStreamSynchronize(work->stream));
	return NULL;
}

__attribute__((noinline)) void clear_and_fill(struct work *work, cudaEvent_t done)
{
	CHECK(cudaMemsetAsync(work->device, 0, 256, work->stream));
	fill<int><<<1, 32, 64, work->stream>>>((int *)work->device, 7);
	CHECK(cudaEventRecord(done, work->stream));
	CHECK(cudaEventSynchronize(done));
}

int main()
{
	struct work work[THREADS];
	pthread_t threads[THREADS];
	cudaEvent_t done;
	float result[4];

	for (int i = 0; i < THREADS; i++) {
		CHECK(cudaStreamCreate(&work[i].stream));
		CHECK(cudaMalloc(&work[i].device, BYTES));
		CHECK(cudaMallocHost(&work[i].host, BYTES));
		pthread_create(&threads[i], NULL, worker, &work[i]);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	CHECK(cudaEventCreate(&done));
	clear_and_fill(&work[0], done);
	CHECK(cudaMemcpy(result, work[1].device, sizeof(result), cudaMemcpyDeviceToHost));
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < THREADS; i++)
		CHECK(cudaFree(work[i].device));

	expect_kernel("scale(float*, float, int)", THREADS * LAUNCHES, "launch_scale(work*)");
	expect_kernel("void fill<int>(int*, int)", 1, "clear_and_fill(work*, CUevent_st*)");
	expect_memcpy("HtoD", BYTES, THREADS, "copy_in(work*)");
	expect_memcpy("DtoH", sizeof(result), 1, "main");
	expect_memset(256, 1, "clear_and_fill(work*, CUevent_st*)");
	expect_call("cudaLaunchKernel", THREADS * LAUNCHES + 1);
	expect_call("cudaMemcpyAsync", THREADS);
	expect_call("cudaMemcpy", 1);
	expect_call("cudaMalloc", THREADS);
	expect_call("cudaHostAlloc", THREADS); /* what the C++ cudaMallocHost calls */
	expect_call("cudaFree", THREADS);
	expect_call("cudaStreamCreate", THREADS);
	expect_call("cudaStreamSynchronize", THREADS);
	expect_call("cudaEventRecord", 1);
	expect_call("cudaEventSynchronize", 1);
	expect_call("cudaDeviceSynchronize", 1);
	return 0;
}

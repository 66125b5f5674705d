/* SPDX-License-Identifier: Apache-2.0
 *
 * A host function of 5 ms between two kernels of a stream, then the same as a graph. See
 * test_host_functions.py.
 */
#include <cstdio>
#include <time.h>

__global__ void work(float *data)
{
	data[threadIdx.x] += 1;
}

static void CUDART_CB sleep_5ms(void *)
{
	struct timespec nap = {0, 5000000};

	nanosleep(&nap, NULL);
}

static __attribute__((noinline)) void launch_host(cudaStream_t stream)
{
	cudaLaunchHostFunc(stream, sleep_5ms, NULL);
	asm volatile("");
}

static __attribute__((noinline)) void run(cudaStream_t stream, float *data)
{
	work<<<1, 32, 0, stream>>>(data);
	launch_host(stream);
	work<<<1, 32, 0, stream>>>(data);
}

static __attribute__((noinline)) void replay(cudaGraphExec_t exec, cudaStream_t stream)
{
	cudaGraphLaunch(exec, stream);
	asm volatile("");
}

int main(void)
{
	cudaStream_t stream;
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	float *data;

	cudaStreamCreate(&stream);
	cudaMalloc(&data, 4096);
	run(stream, data);
	cudaStreamSynchronize(stream);
	cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
	run(stream, data);
	cudaStreamEndCapture(stream, &graph);
	cudaGraphInstantiate(&exec, graph, 0);
	replay(exec, stream);
	cudaError_t error = cudaStreamSynchronize(stream);
	printf("%s\n", cudaGetErrorString(error));
	return error != cudaSuccess;
}

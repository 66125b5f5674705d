/* SPDX-License-Identifier: Apache-2.0
 *
 * A small CUDA program with something to see in its trace: chunks of data go to the GPU, through two
 * kernels and back, on two streams that overlap; then the same work as a CUDA graph, replayed.
 * Nothing here knows gputrace. Build: nvcc -g -cudart shared -o pipeline pipeline.cu
 */
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

static const int streams = 2;
static const int chunks = 8;
static const int replays = 5;
static const int floats = 1 << 20; /* per chunk */
static const size_t bytes = floats * sizeof(float);

struct Pipeline {
	cudaStream_t stream[streams];
	float *device[streams];
	float *host; /* pinned, all chunks */
};

static void check(cudaError_t error, const char *what)
{
	if (error == cudaSuccess)
		return;
	fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
	exit(1);
}
#define CHECK(call) check(call, #call)

__global__ void scale(float *data, float factor, int count)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < count)
		data[i] *= factor;
}

template <int Rounds> __global__ void smooth(float *data, int count)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= count)
		return;
	for (int round = 0; round < Rounds; round++)
		data[i] = 0.5f * data[i] + 0.25f * sinf(data[i]);
}

static void launch_scale(float *data, cudaStream_t stream)
{
	scale<<<floats / 256, 256, 0, stream>>>(data, 0.5f, floats);
	CHECK(cudaGetLastError());
}

static void launch_smooth(float *data, cudaStream_t stream)
{
	smooth<16><<<floats / 128, 128, 0, stream>>>(data, floats);
	CHECK(cudaGetLastError());
}

static void process_chunk(Pipeline &pipeline, int chunk, int lane)
{
	float *host = pipeline.host + (size_t)chunk * floats;
	float *device = pipeline.device[lane];
	cudaStream_t stream = pipeline.stream[lane];

	CHECK(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream));
	launch_scale(device, stream);
	launch_smooth(device, stream);
	CHECK(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream));
}

static void process_all(Pipeline &pipeline)
{
	for (int chunk = 0; chunk < chunks; chunk++)
		process_chunk(pipeline, chunk, chunk % streams);
	CHECK(cudaDeviceSynchronize());
}

static void replay_as_graph(Pipeline &pipeline)
{
	cudaStream_t stream = pipeline.stream[0];
	cudaGraph_t graph;
	cudaGraphExec_t executable;

	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	CHECK(cudaMemsetAsync(pipeline.device[0], 0, bytes, stream));
	launch_scale(pipeline.device[0], stream);
	launch_smooth(pipeline.device[0], stream);
	CHECK(cudaStreamEndCapture(stream, &graph));
	CHECK(cudaGraphInstantiate(&executable, graph, 0));
	for (int i = 0; i < replays; i++)
		CHECK(cudaGraphLaunch(executable, stream));
	CHECK(cudaStreamSynchronize(stream));
	CHECK(cudaGraphExecDestroy(executable));
	CHECK(cudaGraphDestroy(graph));
}

static void set_up(Pipeline &pipeline)
{
	for (int lane = 0; lane < streams; lane++) {
		CHECK(cudaStreamCreateWithFlags(&pipeline.stream[lane], cudaStreamNonBlocking));
		CHECK(cudaMalloc(&pipeline.device[lane], bytes));
	}
	CHECK(cudaMallocHost(&pipeline.host, bytes * chunks));
	for (size_t i = 0; i < (size_t)floats * chunks; i++)
		pipeline.host[i] = (float)(i % 1000);
}

static void tear_down(Pipeline &pipeline)
{
	CHECK(cudaFreeHost(pipeline.host));
	for (int lane = 0; lane < streams; lane++) {
		CHECK(cudaFree(pipeline.device[lane]));
		CHECK(cudaStreamDestroy(pipeline.stream[lane]));
	}
}

int main()
{
	Pipeline pipeline;

	set_up(pipeline);
	process_all(pipeline);
	replay_as_graph(pipeline);
	tear_down(pipeline);
	printf("%d chunks on %d streams, %d replays of a graph: done\n", chunks, streams, replays);
	return 0;
}

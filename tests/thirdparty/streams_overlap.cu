/* SPDX-License-Identifier: Apache-2.0
 *
 * Pieces of work on streams of both priorities: up, kernel, down, while others do the same.
 */
#include "program.h"

#define STREAMS 6
#define PIECE   (1 << 16)

__global__ void touch(int *data)
{
	data[blockIdx.x * blockDim.x + threadIdx.x]++;
}

int main()
{
	cudaStream_t streams[STREAMS];
	int *host, *device, least, greatest;

	CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
	CHECK(cudaHostAlloc(&host, STREAMS * PIECE * sizeof(int), cudaHostAllocDefault));
	CHECK(cudaMalloc(&device, STREAMS * PIECE * sizeof(int)));
	for (int i = 0; i < STREAMS * PIECE; i++)
		host[i] = i;
	for (int i = 0; i < STREAMS; i++)
		CHECK(cudaStreamCreateWithPriority(&streams[i], cudaStreamNonBlocking,
						   i % 2 ? least : greatest));
	for (int round = 0; round < 5; round++)
		for (int i = 0; i < STREAMS; i++) {
			size_t at = (size_t)i * PIECE;

			CHECK(cudaMemcpyAsync(device + at, host + at, PIECE * sizeof(int),
					      cudaMemcpyHostToDevice, streams[i]));
			touch<<<PIECE / 256, 256, 0, streams[i]>>>(device + at);
			CHECK(cudaMemcpyAsync(host + at, device + at, PIECE * sizeof(int),
					      cudaMemcpyDeviceToHost, streams[i]));
		}
	for (int i = 0; i < STREAMS; i++) {
		CHECK(cudaStreamSynchronize(streams[i]));
		CHECK(cudaStreamDestroy(streams[i]));
	}
	REQUIRE(host[STREAMS * PIECE - 1] == STREAMS * PIECE - 1);
	CHECK(cudaFreeHost(host));
	puts("overlapped");
	return 0;
}

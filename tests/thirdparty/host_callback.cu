/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of the host in streams, in order with the work around them.
 */
#include "program.h"

#include <atomic>

static std::atomic<int> calls, misplaced;

__global__ void step(int *data)
{
	*data = 1;
}

static void CUDART_CB function(void *data)
{
	if (calls.fetch_add(1) != (int)(size_t)data)
		misplaced++;
}

static void CUDART_CB callback(cudaStream_t stream, cudaError_t status, void *data)
{
	if (status != cudaSuccess || calls.fetch_add(1) != (int)(size_t)data)
		misplaced++;
}

int main()
{
	cudaStream_t stream;
	int *data;

	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaMalloc(&data, sizeof(*data)));
	for (size_t i = 0; i < 40; i += 2) {
		step<<<1, 32, 0, stream>>>(data);
		CHECK(cudaLaunchHostFunc(stream, function, (void *)i));
		CHECK(cudaMemsetAsync(data, 0, sizeof(*data), stream));
		CHECK(cudaStreamAddCallback(stream, callback, (void *)(i + 1), 0));
	}
	CHECK(cudaStreamSynchronize(stream));
	REQUIRE(calls == 40 && !misplaced);
	puts("called back");
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Events: elapsed times, waits between streams, queries.
 */
#include "program.h"

__global__ void work(int *data)
{
	*data = 1;
}

int main()
{
	cudaEvent_t events[10], plain;
	cudaStream_t first, second;
	int *data;

	CHECK(cudaMalloc(&data, sizeof(*data)));
	CHECK(cudaStreamCreate(&first));
	CHECK(cudaStreamCreate(&second));
	CHECK(cudaEventCreateWithFlags(&plain, cudaEventDisableTiming | cudaEventBlockingSync));
	for (int i = 0; i < 10; i++) {
		CHECK(cudaEventCreate(&events[i]));
		work<<<1 + i, 128, 0, first>>>(data);
		CHECK(cudaEventRecord(events[i], first));
	}
	CHECK(cudaStreamWaitEvent(second, events[9], 0));
	work<<<1, 1, 0, second>>>(data);
	CHECK(cudaEventRecord(plain, second));
	CHECK(cudaEventSynchronize(plain));
	REQUIRE(cudaEventQuery(events[9]) == cudaSuccess);
	for (int i = 1; i < 10; i++) {
		float milliseconds = -1;

		CHECK(cudaEventElapsedTime(&milliseconds, events[i - 1], events[i]));
		REQUIRE(milliseconds >= 0);
		CHECK(cudaEventDestroy(events[i - 1]));
	}
	float unused;
	REQUIRE(cudaEventElapsedTime(&unused, plain, events[9]) != cudaSuccess);
	puts("timed");
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads that each have their own default stream. Compiled with --default-stream per-thread.
 */
#include "program.h"

#include <thread>
#include <vector>

__global__ void step(int *data)
{
	*data = 1;
}

static void work(int index)
{
	unsigned char back[512];
	int *data;

	CHECK(cudaMalloc(&data, sizeof(back)));
	for (int i = 0; i < 25; i++) {
		step<<<index + 1, 32>>>(data);
		CHECK(cudaMemsetAsync(data, index, sizeof(back)));
		CHECK(cudaMemcpy(back, data, sizeof(back), cudaMemcpyDeviceToHost));
		REQUIRE(back[511] == index);
	}
	CHECK(cudaStreamSynchronize(cudaStreamPerThread));
	CHECK(cudaFree(data));
}

int main()
{
	std::vector<std::thread> threads;

	for (int i = 0; i < 8; i++)
		threads.emplace_back(work, i);
	for (auto &thread : threads)
		thread.join();
	puts("threaded");
	return 0;
}

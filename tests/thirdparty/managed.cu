/* SPDX-License-Identifier: Apache-2.0
 *
 * Managed memory: the host writes, hints and prefetches, a kernel runs, the host reads.
 */
#include "program.h"

__device__ __managed__ int counter[16];

__global__ void step(int *data, int count)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < count)
		data[i]++;
}

int main()
{
	cudaMemLocation device = {}, host = {};
	cudaPointerAttributes attributes;
	cudaStream_t stream;
	int *data;

	device.type = cudaMemLocationTypeDevice;
	host.type = cudaMemLocationTypeHost;
	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaMallocManaged(&data, 1 << 20, cudaMemAttachGlobal));
	for (int i = 0; i < 1 << 18; i++)
		data[i] = i;
	counter[3] = 4;
	CHECK(cudaPointerGetAttributes(&attributes, data));
	REQUIRE(attributes.type == cudaMemoryTypeManaged);
	CHECK(cudaMemAdvise(data, 1 << 20, cudaMemAdviseSetPreferredLocation, device));
	CHECK(cudaMemPrefetchAsync(data, 1 << 20, device, 0, stream));
	step<<<1024, 256, 0, stream>>>(data, 1 << 18);
	CHECK(cudaMemPrefetchAsync(data, 1 << 20, host, 0, stream));
	CHECK(cudaStreamAttachMemAsync(stream, data, 0, cudaMemAttachSingle));
	CHECK(cudaStreamSynchronize(stream));
	CHECK(cudaMemset(data, 0, 1 << 19));
	CHECK(cudaDeviceSynchronize());
	REQUIRE(data[0] == 0 && data[(1 << 18) - 1] >= (1 << 18) - 1 && counter[3] == 4);
	CHECK(cudaFree(data));
	puts("managed");
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory in the order of streams: the default pool, one of its own, limits and statistics.
 */
#include "program.h"

__global__ void step(int *data)
{
	*data = 1;
}

int main()
{
	unsigned long long keep = 1 << 20, used = 0, high = 0;
	cudaMemPool_t standard, own, by_place;
	cudaMemPoolProps properties = {};
	cudaMemLocation place = {};
	cudaStream_t stream;
	int *data;

	place.type = cudaMemLocationTypeDevice;
	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaDeviceGetDefaultMemPool(&standard, 0));
	CHECK(cudaMemGetDefaultMemPool(&by_place, &place, cudaMemAllocationTypePinned));
	REQUIRE(by_place == standard);
	CHECK(cudaMemPoolSetAttribute(standard, cudaMemPoolAttrReleaseThreshold, &keep));
	for (int i = 0; i < 20; i++) {
		CHECK(cudaMallocAsync(&data, (size_t)(i + 1) * 4096, stream));
		CHECK(cudaMemsetAsync(data, i, 4096, stream));
		step<<<1, 32, 0, stream>>>(data);
		CHECK(cudaFreeAsync(data, stream));
	}
	properties.allocType = cudaMemAllocationTypePinned;
	properties.location = place;
	CHECK(cudaMemPoolCreate(&own, &properties));
	CHECK(cudaMallocFromPoolAsync(&data, 8192, own, stream));
	step<<<1, 64, 0, stream>>>(data);
	CHECK(cudaStreamSynchronize(stream));
	CHECK(cudaMemPoolGetAttribute(own, cudaMemPoolAttrUsedMemCurrent, &used));
	CHECK(cudaMemPoolGetAttribute(standard, cudaMemPoolAttrUsedMemHigh, &high));
	REQUIRE(used == 8192 && high >= 20 * 4096);
	CHECK(cudaFreeAsync(data, stream));
	CHECK(cudaStreamSynchronize(stream));
	CHECK(cudaMemPoolTrimTo(own, 0));
	CHECK(cudaMemPoolDestroy(own));
	puts("pooled");
	return 0;
}

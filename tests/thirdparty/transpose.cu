/* SPDX-License-Identifier: Apache-2.0
 *
 * Transposing by several kernels over pitched memory; rows come back one by one.
 */
#include "program.h"

#define SIDE 256

__global__ void plain(float *to, const float *from, size_t pitch)
{
	int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;

	to[x * pitch + y] = from[y * pitch + x];
}

__global__ void by_tiles(float *to, const float *from, size_t pitch)
{
	__shared__ float tile[16][17];
	int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;

	tile[threadIdx.y][threadIdx.x] = from[y * pitch + x];
	__syncthreads();
	to[x * pitch + y] = tile[threadIdx.y][threadIdx.x];
}

int main()
{
	static float host[SIDE][SIDE], back[SIDE][SIDE];
	void (*const kernels[])(float *, const float *, size_t) = {plain, by_tiles};
	size_t pitch, pitch_to;
	float *from, *to;

	for (int i = 0; i < SIDE * SIDE; i++)
		host[i / SIDE][i % SIDE] = (float)i;
	CHECK(cudaMallocPitch(&from, &pitch, SIDE * sizeof(float), SIDE));
	CHECK(cudaMallocPitch(&to, &pitch_to, SIDE * sizeof(float), SIDE));
	CHECK(cudaMemcpy2D(from, pitch, host, sizeof(host[0]), sizeof(host[0]), SIDE,
			   cudaMemcpyHostToDevice));
	for (auto kernel : kernels) {
		CHECK(cudaMemset2D(to, pitch_to, 0, SIDE * sizeof(float), SIDE));
		kernel<<<dim3(SIDE / 16, SIDE / 16), dim3(16, 16)>>>(to, from,
								     pitch / sizeof(float));
		CHECK(cudaGetLastError());
	}
	CHECK(cudaMemcpy2D(to, pitch_to, from, pitch, sizeof(host[0]), SIDE,
			   cudaMemcpyDeviceToDevice));
	for (int y = 0; y < SIDE; y++)
		CHECK(cudaMemcpy(back[y], (char *)to + y * pitch_to, sizeof(back[0]),
				 cudaMemcpyDeviceToHost));
	REQUIRE(!memcmp(host, back, sizeof(host)));
	puts("transposed");
	return 0;
}

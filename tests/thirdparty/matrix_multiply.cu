/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrices in tiles of shared memory, timed by events over repetitions.
 */
#include "program.h"

template <int Tile>
__global__ void multiply(const float *a, const float *b, float *product, int width)
{
	__shared__ float left[Tile][Tile], right[Tile][Tile];
	int x = blockIdx.x * Tile + threadIdx.x, y = blockIdx.y * Tile + threadIdx.y;
	float sum = 0;

	for (int at = 0; at < width; at += Tile) {
		left[threadIdx.y][threadIdx.x] = a[y * width + at + threadIdx.x];
		right[threadIdx.y][threadIdx.x] = b[(at + threadIdx.y) * width + x];
		__syncthreads();
		for (int i = 0; i < Tile; i++)
			sum += left[threadIdx.y][i] * right[i][threadIdx.x];
		__syncthreads();
	}
	product[y * width + x] = sum;
}

int main()
{
	const int width = 320, repetitions = 30;
	const size_t bytes = width * width * sizeof(float);
	cudaEvent_t begin, end;
	cudaStream_t stream;
	float *host, *a, *b, *product, milliseconds = -1;

	CHECK(cudaMallocHost(&host, bytes));
	memset(host, 0, bytes);
	CHECK(cudaMalloc(&a, bytes));
	CHECK(cudaMalloc(&b, bytes));
	CHECK(cudaMalloc(&product, bytes));
	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	CHECK(cudaEventCreate(&begin));
	CHECK(cudaEventCreate(&end));
	CHECK(cudaMemcpyAsync(a, host, bytes, cudaMemcpyHostToDevice, stream));
	CHECK(cudaMemcpyAsync(b, host, bytes, cudaMemcpyHostToDevice, stream));
	CHECK(cudaEventRecord(begin, stream));
	for (int i = 0; i < repetitions; i++)
		multiply<32><<<dim3(width / 32, width / 32), dim3(32, 32), 0, stream>>>(
			a, b, product, width);
	CHECK(cudaEventRecord(end, stream));
	CHECK(cudaEventSynchronize(end));
	CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
	REQUIRE(milliseconds > 0);
	CHECK(cudaMemcpyAsync(host, product, bytes, cudaMemcpyDeviceToHost, stream));
	CHECK(cudaStreamSynchronize(stream));
	puts("multiplied");
	return 0;
}

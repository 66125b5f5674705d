/* SPDX-License-Identifier: Apache-2.0
 *
 * Two vectors go up, a kernel adds them, the sum comes back.
 */
#include "program.h"

__global__ void add(const float *a, const float *b, float *sum, int count)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < count)
		sum[i] = a[i] + b[i];
}

int main()
{
	const int count = 50000;
	const size_t bytes = count * sizeof(float);
	float *host = (float *)malloc(bytes), *a, *b, *sum;

	for (int i = 0; i < count; i++)
		host[i] = (float)i;
	CHECK(cudaMalloc(&a, bytes));
	CHECK(cudaMalloc(&b, bytes));
	CHECK(cudaMalloc(&sum, bytes));
	CHECK(cudaMemcpy(a, host, bytes, cudaMemcpyHostToDevice));
	CHECK(cudaMemcpy(b, host, bytes, cudaMemcpyHostToDevice));
	add<<<(count + 255) / 256, 256>>>(a, b, sum, count);
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpy(host, sum, bytes, cudaMemcpyDeviceToHost));
	CHECK(cudaMemcpy(host, a, bytes, cudaMemcpyDeviceToHost));
	REQUIRE(host[count - 1] == (float)(count - 1));
	CHECK(cudaFree(a));
	CHECK(cudaFree(b));
	CHECK(cudaFree(sum));
	puts("added");
	return 0;
}

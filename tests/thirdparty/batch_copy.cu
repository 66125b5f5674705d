/* SPDX-License-Identifier: Apache-2.0
 *
 * Many copies by one call, plain ones and shaped ones.
 */
#include "program.h"

#define COUNT 12
#define BYTES 1024

int main()
{
	static unsigned char host[COUNT][BYTES], back[COUNT][BYTES];
	const void *sources[COUNT];
	void *targets[COUNT];
	cudaMemcpyAttributes how = {};
	size_t sizes[COUNT], index = 0;
	cudaMemcpy3DBatchOp shaped[2] = {};
	cudaStream_t stream;
	char *device;

	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaMalloc(&device, COUNT * BYTES));
	how.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
	for (int i = 0; i < COUNT; i++) {
		memset(host[i], i + 1, BYTES);
		sources[i] = host[i];
		targets[i] = device + i * BYTES;
		sizes[i] = BYTES;
	}
	CHECK(cudaMemcpyBatchAsync(targets, sources, sizes, COUNT, &how, &index, 1, stream));
	for (int i = 0; i < 2; i++) {
		shaped[i].src.type = cudaMemcpyOperandTypePointer;
		shaped[i].src.op.ptr.ptr = device + i * COUNT / 2 * BYTES;
		shaped[i].src.op.ptr.rowLength = BYTES;
		shaped[i].dst.type = cudaMemcpyOperandTypePointer;
		shaped[i].dst.op.ptr.ptr = back[i * COUNT / 2];
		shaped[i].dst.op.ptr.rowLength = BYTES;
		shaped[i].extent = make_cudaExtent(BYTES, COUNT / 2, 1);
		shaped[i].srcAccessOrder = cudaMemcpySrcAccessOrderStream;
	}
	CHECK(cudaMemcpy3DBatchAsync(2, shaped, 0, stream));
	CHECK(cudaStreamSynchronize(stream));
	REQUIRE(!memcmp(host, back, sizeof(host)));
	puts("in batches");
	return 0;
}

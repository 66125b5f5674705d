/* SPDX-License-Identifier: Apache-2.0
 *
 * Two devices: copies from one to the other by all the ways there are.
 */
#include "program.h"

#define BYTES 65536

__global__ void step(int *data)
{
	*data = 1;
}

int main()
{
	static unsigned char back[BYTES];
	int count = 0, can = 0, *here, *there;
	cudaStream_t stream;

	CHECK(cudaGetDeviceCount(&count));
	REQUIRE(count == 2);
	CHECK(cudaDeviceCanAccessPeer(&can, 0, 1));
	REQUIRE(can);
	CHECK(cudaSetDevice(1));
	CHECK(cudaMalloc(&there, BYTES));
	CHECK(cudaMemset(there, 0, BYTES));
	step<<<4, 32>>>(there);
	CHECK(cudaSetDevice(0));
	CHECK(cudaDeviceEnablePeerAccess(1, 0));
	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaMalloc(&here, BYTES));
	CHECK(cudaMemset(here, 0x33, BYTES));
	CHECK(cudaMemcpyPeer(there, 1, here, 0, BYTES));
	CHECK(cudaMemcpyPeerAsync(there, 1, here, 0, BYTES / 2, stream));
	CHECK(cudaMemcpyAsync(there, here, BYTES / 4, cudaMemcpyDefault, stream));
	cudaMemcpy3DPeerParms shape = {};
	shape.srcPtr = make_cudaPitchedPtr(here, 256, 256, 16);
	shape.srcDevice = 0;
	shape.dstPtr = make_cudaPitchedPtr(there, 256, 256, 16);
	shape.dstDevice = 1;
	shape.extent = make_cudaExtent(128, 16, 1);
	CHECK(cudaMemcpy3DPeerAsync(&shape, stream));
	CHECK(cudaStreamSynchronize(stream));
	CHECK(cudaSetDevice(1));
	CHECK(cudaMemcpy(back, there, BYTES, cudaMemcpyDeviceToHost));
	REQUIRE(back[0] == 0x33 && back[BYTES - 1] == 0x33);
	puts("copied across");
	return 0;
}

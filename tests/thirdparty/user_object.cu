/* SPDX-License-Identifier: Apache-2.0
 *
 * Something of the program that graphs hold: it goes with the last one that does.
 */
#include "program.h"

static int destroyed;

__global__ void step(int *data)
{
	*data = 1;
}

static void CUDART_CB destroy(void *data)
{
	destroyed += *(int *)data;
}

int main()
{
	static int weights[] = {1, 10};
	cudaUserObject_t moved, kept;
	cudaGraphExec_t executable;
	cudaStream_t stream;
	cudaGraph_t graph;
	int *data;

	CHECK(cudaMalloc(&data, sizeof(*data)));
	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	step<<<1, 32, 0, stream>>>(data);
	CHECK(cudaStreamEndCapture(stream, &graph));
	CHECK(cudaUserObjectCreate(&moved, &weights[0], destroy, 1,
				   cudaUserObjectNoDestructorSync));
	CHECK(cudaUserObjectCreate(&kept, &weights[1], destroy, 1, cudaUserObjectNoDestructorSync));
	CHECK(cudaGraphRetainUserObject(graph, moved, 1, cudaGraphUserObjectMove));
	CHECK(cudaGraphRetainUserObject(graph, kept, 2, 0));
	CHECK(cudaGraphReleaseUserObject(graph, kept, 1));
	CHECK(cudaGraphInstantiate(&executable, graph, 0));
	CHECK(cudaGraphDestroy(graph));
	CHECK(cudaGraphLaunch(executable, stream));
	CHECK(cudaStreamSynchronize(stream));
	REQUIRE(!destroyed);
	CHECK(cudaGraphExecDestroy(executable));
	CHECK(cudaDeviceSynchronize());
	REQUIRE(destroyed == 1);
	CHECK(cudaUserObjectRelease(kept, 1));
	REQUIRE(destroyed == 11);
	puts("released");
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * A captured graph of --nodes operations (kernels, every tenth a set), replayed --count times.
 */
#include <cuda_runtime.h>

#include "report.h"

__global__ void graph_kernel(float *data)
{
	data[threadIdx.x] += 1.0f;
}

/* Captures @nodes operations; every tenth is a set. Returns how many sets. */
static long record(cudaStream_t stream, float *data, long nodes)
{
	long sets = 0;

	for (long i = 0; i < nodes; i++) {
		if (i % 10 == 9) {
			CHECK(cudaMemsetAsync(data, 0, 128, stream));
			sets++;
		} else {
			graph_kernel<<<1, 32, 0, stream>>>(data);
		}
	}
	return sets;
}

int main(int argc, char **argv)
{
	long nodes = report_option(argc, argv, "nodes", 100);
	long count = report_option(argc, argv, "count", 1000);
	struct report report = {};
	cudaGraphExec_t executable;
	cudaStream_t stream;
	cudaGraph_t graph;
	double spent = 0;
	float *data;
	long sets;

	CHECK(cudaMalloc((void **)&data, 128));
	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	sets = record(stream, data, nodes);
	CHECK(cudaStreamEndCapture(stream, &graph));
	CHECK(cudaGraphInstantiate(&executable, graph, 0));
	for (long i = 0; i < count; i++) {
		double start = report_now();

		CHECK(cudaGraphLaunch(executable, stream));
		spent += report_now() - start;
		if (i % 10 == 9)
			CHECK(cudaStreamSynchronize(stream));
	}
	CHECK(cudaStreamSynchronize(stream));
	CHECK(cudaGraphExecDestroy(executable));
	CHECK(cudaGraphDestroy(graph));
	report.program = "graph";
	report.kernels = (nodes - sets) * count;
	report.memsets = sets * count;
	report.graph_launches = count;
	report.launches = count;
	report.ns_per_launch = spent / (double)count;
	report_print(&report);
	return 0;
}

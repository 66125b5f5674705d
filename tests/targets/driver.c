/* SPDX-License-Identifier: Apache-2.0
 *
 * Uses only the driver API: no runtime library, so there is nothing to interpose.
 */
#include <cuda.h>

#include "tests/targets/expect.h"

#define LAUNCHES 10
#define REPLAYS  3
#define BYTES    1024

static const char image[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
			    ".visible .entry tick(.param .u64 p) { ret; }\n";

static __attribute__((noinline)) void launch_tick(CUfunction tick, CUstream stream,
						  CUdeviceptr data)
{
	void *arguments[] = {&data};

	CHECK(cuLaunchKernel(tick, 2, 1, 1, 128, 1, 1, 0, stream, arguments, NULL));
}

static __attribute__((noinline)) void replay_graph(CUgraphExec executable, CUstream stream)
{
	CHECK(cuGraphLaunch(executable, stream));
}

static CUgraphExec capture_graph(CUfunction tick, CUstream stream, CUdeviceptr data)
{
	CUgraphExec executable;
	CUgraph graph;

	CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	launch_tick(tick, stream, data);
	launch_tick(tick, stream, data);
	CHECK(cuStreamEndCapture(stream, &graph));
	CHECK(cuGraphInstantiateWithFlags(&executable, graph, 0));
	return executable;
}

static __attribute__((noinline)) void copy_and_set(CUdeviceptr data, CUstream stream)
{
	static char host[BYTES];

	CHECK(cuMemcpyHtoD(data, host, BYTES));
	CHECK(cuMemsetD8Async(data, 3, BYTES / 2, stream));
	CHECK(cuMemcpyDtoHAsync(host, data, BYTES / 4, stream));
}

int main(void)
{
	CUdevice device;
	CUcontext context;
	CUmodule module;
	CUfunction tick;
	CUstream stream;
	CUdeviceptr data;
	CUgraphExec executable;

	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&device, 0));
	CHECK(cuDevicePrimaryCtxRetain(&context, device));
	CHECK(cuCtxSetCurrent(context));
	CHECK(cuModuleLoadData(&module, image));
	CHECK(cuModuleGetFunction(&tick, module, "tick"));
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuMemAlloc(&data, BYTES));
	for (int i = 0; i < LAUNCHES; i++)
		launch_tick(tick, stream, data);
	copy_and_set(data, stream);
	executable = capture_graph(tick, stream, data);
	for (int i = 0; i < REPLAYS; i++)
		replay_graph(executable, stream);
	CHECK(cuStreamSynchronize(stream));
	CHECK(cuCtxSynchronize());

	expect_kernel("tick", LAUNCHES, "launch_tick");
	expect_kernel("tick", 2 * REPLAYS, "replay_graph");
	expect_memcpy("HtoD", BYTES, 1, "copy_and_set");
	expect_memcpy("DtoH", BYTES / 4, 1, "copy_and_set");
	expect_memset(BYTES / 2, 1, "copy_and_set");
	expect_call("cuLaunchKernel", LAUNCHES + 2);
	expect_call("cuGraphLaunch", REPLAYS);
	expect_call("cuStreamSynchronize", 1);
	expect_call("cuMemAlloc_v2", 1);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * The driver API alone, no runtime in the process: a kernel from PTX, --count launches on a stream,
 * a copy each way and a set. --hold=1 keeps the context open until stdin ends.
 */
#include <cuda.h>

#include "report.h"

static const char ptx[] = ".version 6.4\n.target sm_75\n.address_size 64\n"
			  ".visible .entry driver_kernel(.param .u64 data)\n{\n\tret;\n}\n";

static const long batch = 500;

/* Returns the ns that @count launches took. */
static double launch(CUfunction kernel, CUdeviceptr data, CUstream stream, long count)
{
	void *arguments[] = {&data};
	double spent = 0;

	for (long done = 0; done < count; done += batch) {
		double start = report_now();

		for (long i = done; i < count && i < done + batch; i++)
			CHECK(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, arguments,
					     NULL));
		spent += report_now() - start;
		CHECK(cuStreamSynchronize(stream));
	}
	return spent;
}

/* Until stdin ends. */
static void hold(void)
{
	puts("the context is open");
	fflush(stdout);
	while (getchar() != EOF)
		continue;
}

int main(int argc, char **argv)
{
	long count = report_option(argc, argv, "count", 10000);
	struct report report = {.program = "driver", .memcpys = 2, .memsets = 1};
	char host[256] = "";
	CUfunction kernel;
	CUdeviceptr data;
	CUcontext context;
	CUmodule module;
	CUstream stream;
	CUdevice device;

	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&device, 0));
	CHECK(cuDevicePrimaryCtxRetain(&context, device));
	CHECK(cuCtxSetCurrent(context));
	CHECK(cuModuleLoadData(&module, ptx));
	CHECK(cuModuleGetFunction(&kernel, module, "driver_kernel"));
	CHECK(cuMemAlloc(&data, sizeof(host)));
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuMemcpyHtoD(data, host, sizeof(host)));
	CHECK(cuMemsetD8(data, 1, sizeof(host)));
	report.ns_per_launch = launch(kernel, data, stream, count) / (double)count;
	CHECK(cuMemcpyDtoH(host, data, sizeof(host)));
	if (report_option(argc, argv, "hold", 0))
		hold();
	CHECK(cuStreamDestroy(stream));
	CHECK(cuMemFree(data));
	CHECK(cuModuleUnload(module));
	CHECK(cuDevicePrimaryCtxRelease(device));
	report.kernels = count;
	report.launches = count;
	report_print(&report);
	return 0;
}

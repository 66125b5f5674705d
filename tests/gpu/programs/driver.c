/* SPDX-License-Identifier: Apache-2.0
 *
 * The driver API alone, no runtime in the process: a kernel from PTX, --count launches on a stream,
 * a copy each way and a set. --hold=1 keeps the context open until stdin ends. --seconds=S launches
 * for so long instead, --spin=S one kernel that runs for so long; both first say "ready PID".
 */
#include <cuda.h>
#include <unistd.h>

#include "report.h"

static const char ptx[] = ".version 6.4\n.target sm_75\n.address_size 64\n"
			  ".visible .entry driver_kernel(.param .u64 data)\n{\n\tret;\n}\n"
			  ".visible .entry driver_spin(.param .u64 ns)\n{\n"
			  "\t.reg .u64 %begin, %now, %ns;\n\t.reg .pred %more;\n"
			  "\tld.param.u64 %ns, [ns];\n\tmov.u64 %begin, %globaltimer;\n"
			  "again:\n\tmov.u64 %now, %globaltimer;\n\tsub.u64 %now, %now, %begin;\n"
			  "\tsetp.lt.u64 %more, %now, %ns;\n\t@%more bra again;\n\tret;\n}\n";

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

static void say_ready(void)
{
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
}

/* Batches of launches for so long. Returns how many launches. */
static long launch_for(long seconds, CUfunction kernel, CUdeviceptr data, CUstream stream)
{
	double end = report_now() + (double)seconds * 1e9;
	long count = 0;

	for (; report_now() < end; count += batch) {
		launch(kernel, data, stream, batch);
		if (!count)
			say_ready();
		usleep(20000);
	}
	return count;
}

static void spin_for(long seconds, CUmodule module, CUstream stream)
{
	unsigned long ns = (unsigned long)seconds * 1000000000ul;
	void *arguments[] = {&ns};
	CUfunction spin;

	CHECK(cuModuleGetFunction(&spin, module, "driver_spin"));
	CHECK(cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL));
	say_ready();
	CHECK(cuStreamSynchronize(stream));
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
	long seconds = report_option(argc, argv, "seconds", 0);
	long spin = report_option(argc, argv, "spin", 0);
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
	if (spin)
		spin_for(spin, module, stream);
	if (seconds)
		count = launch_for(seconds, kernel, data, stream);
	else
		report.ns_per_launch = launch(kernel, data, stream, count) / (double)count;
	CHECK(cuMemcpyDtoH(host, data, sizeof(host)));
	if (report_option(argc, argv, "hold", 0))
		hold();
	CHECK(cuStreamDestroy(stream));
	CHECK(cuMemFree(data));
	CHECK(cuModuleUnload(module));
	CHECK(cuDevicePrimaryCtxRelease(device));
	report.kernels = count + (spin > 0);
	report.launches = report.kernels;
	report_print(&report);
	return 0;
}

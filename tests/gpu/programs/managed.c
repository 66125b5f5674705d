/* SPDX-License-Identifier: Apache-2.0
 *
 * Managed memory by the driver API alone: in each of --count rounds the host writes each page, a
 * kernel from PTX counts each page up and the host reads them. So all of it goes to the GPU and
 * back. Little of it: managed memory beyond what is there can hang a GPU. Exit status 77: the GPU
 * has no page faults.
 */
#include <cuda.h>
#include <stdint.h>

#include "report.h"

#define PAGE  4096u
#define PAGES 1024u
#define BLOCK 256u

static const char ptx[] =
	".version 6.4\n.target sm_75\n.address_size 64\n"
	".visible .entry managed_count_up(.param .u64 data)\n{\n"
	"\t.reg .u32 %block, %width, %thread, %page, %value;\n\t.reg .u64 %at, %data;\n"
	"\tld.param.u64 %data, [data];\n\tcvta.to.global.u64 %data, %data;\n"
	"\tmov.u32 %block, %ctaid.x;\n\tmov.u32 %width, %ntid.x;\n\tmov.u32 %thread, %tid.x;\n"
	"\tmad.lo.u32 %page, %block, %width, %thread;\n"
	"\tmul.wide.u32 %at, %page, 4096;\n\tadd.u64 %at, %data, %at;\n"
	"\tld.global.u32 %value, [%at];\n\tadd.u32 %value, %value, 1;\n"
	"\tst.global.u32 [%at], %value;\n\tret;\n}\n";

static volatile uint32_t *page_at(CUdeviceptr memory, unsigned page)
{
	return (volatile uint32_t *)(uintptr_t)(memory + (size_t)page * PAGE);
}

/* A function of its own, so that it has a line of its own in a stack. */
static __attribute__((noinline)) CUdeviceptr allocate_managed(void)
{
	CUdeviceptr memory;

	CHECK(cuMemAllocManaged(&memory, (size_t)PAGES * PAGE, CU_MEM_ATTACH_GLOBAL));
	return memory;
}

/* Returns how many pages the kernel counted up. */
static long round_trip(CUdeviceptr memory, CUfunction kernel, uint32_t value)
{
	void *arguments[] = {&memory};
	long counted = 0;

	for (unsigned i = 0; i < PAGES; i++)
		*page_at(memory, i) = value;
	CHECK(cuLaunchKernel(kernel, PAGES / BLOCK, 1, 1, BLOCK, 1, 1, 0, NULL, arguments, NULL));
	CHECK(cuCtxSynchronize());
	for (unsigned i = 0; i < PAGES; i++)
		counted += *page_at(memory, i) == value + 1;
	return counted;
}

static void need_faults(CUdevice device)
{
	int value = 0;

	CHECK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, device));
	if (value)
		return;
	puts("no page faults of managed memory here: concurrentManagedAccess is 0");
	exit(77);
}

int main(int argc, char **argv)
{
	long count = report_option(argc, argv, "count", 2), counted = 0;
	CUdeviceptr memory;
	CUfunction kernel;
	CUcontext context;
	CUmodule module;
	CUdevice device;

	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&device, 0));
	need_faults(device);
	CHECK(cuDevicePrimaryCtxRetain(&context, device));
	CHECK(cuCtxSetCurrent(context));
	CHECK(cuModuleLoadData(&module, ptx));
	CHECK(cuModuleGetFunction(&kernel, module, "managed_count_up"));
	memory = allocate_managed();
	for (long i = 0; i < count; i++)
		counted += round_trip(memory, kernel, (uint32_t)i * 16);
	CHECK(cuMemFree(memory));
	CHECK(cuModuleUnload(module));
	CHECK(cuDevicePrimaryCtxRelease(device));
	printf("{\"program\": \"managed\", \"kernels\": %ld, \"memcpys\": 0, \"memsets\": 0, "
	       "\"address\": %llu, \"bytes\": %u, \"pages\": %ld, \"counted\": %ld}\n",
	       count, (unsigned long long)memory, PAGES * PAGE, count * (long)PAGES, counted);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of the driver in several versions, asked for by version and called.
 */
#include "program.h"

#include <cudaTypedefs.h>

static int told;

static void CUDA_CB on_log(void *data, CUlogLevel level, char *message, size_t length)
{
	told++;
}

int main()
{
	CUcontext context = NULL, other = NULL;
	CUlogsCallbackHandle handle;
	CUdevice device = -1;
	CUgreenCtx green;
	cudaStream_t stream;
	CUdeviceptr memory;

	CHECK(cudaStreamCreate(&stream));
	DRIVER(driver_function<PFN_cuCtxGetCurrent_v4000>("cuCtxGetCurrent", 4000)(&context));
	DRIVER(driver_function<PFN_cuCtxGetDevice_v2000>("cuCtxGetDevice", 2000)(&device));
	REQUIRE(device == 0);
	device = -1;
	DRIVER(driver_function<PFN_cuCtxGetDevice_v13000>("cuCtxGetDevice", 13000)(&device,
										   context));
	REQUIRE(device == 0);
	DRIVER(driver_function<PFN_cuStreamGetCtx_v9020>("cuStreamGetCtx", 9020)(stream, &other));
	REQUIRE(other == context);
	DRIVER(driver_function<PFN_cuStreamGetCtx_v12050>("cuStreamGetCtx", 12050)(stream, &other,
										   &green));
	REQUIRE(other == context && !green);
	DRIVER(driver_function<PFN_cuMemAlloc_v3020>("cuMemAlloc", 3020)(&memory, 4096));
	DRIVER(driver_function<PFN_cuMemsetD8Async_v3020>("cuMemsetD8Async", 6000)(memory, 1, 4096,
										   stream));
	DRIVER(driver_function<PFN_cuCtxSynchronize_v2000>("cuCtxSynchronize", 2000)());
	DRIVER(driver_function<PFN_cuCtxSynchronize_v13000>("cuCtxSynchronize", 13000)(context));
	CUdeviceptr from[] = {memory, memory + 64}, to[] = {memory + 1024, memory + 2048};
	CUmemcpyAttributes how = {};
	size_t sizes[] = {64, 128}, index = 0, failed = 0;
	how.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
	DRIVER(driver_function<PFN_cuMemcpyBatchAsync_v12080>("cuMemcpyBatchAsync", 12080)(
		to, from, sizes, 2, &how, &index, 1, &failed, stream));
	DRIVER(driver_function<PFN_cuMemcpyBatchAsync_v13000>("cuMemcpyBatchAsync", 13000)(
		to, from, sizes, 2, &how, &index, 1, stream));
	DRIVER(driver_function<PFN_cuLogsRegisterCallback_v12090>("cuLogsRegisterCallback",
								  12090)(on_log, NULL, &handle));
	DRIVER(driver_function<PFN_cuLogsUnregisterCallback_v12090>("cuLogsUnregisterCallback",
								    12090)(handle));
	void *missing = &device;
	cudaDriverEntryPointQueryResult status;
	CHECK(cudaGetDriverEntryPointByVersion("cuMemCreate", &missing, 10000, cudaEnableDefault,
					       &status));
	REQUIRE(status == cudaDriverEntryPointVersionNotSufficent && !missing);
	CHECK(cudaGetDriverEntryPointByVersion("cuNothing", &missing, 13000, cudaEnableDefault,
					       &status));
	REQUIRE(status == cudaDriverEntryPointSymbolNotFound && !missing && !told);
	CHECK(cudaDeviceSynchronize());
	puts("entered");
	return 0;
}

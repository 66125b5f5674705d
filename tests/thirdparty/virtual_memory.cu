/* SPDX-License-Identifier: Apache-2.0
 *
 * Addresses are reserved, two allocations mapped into them, copied across, exported and imported
 * again.
 */
#include "program.h"

#include <cudaTypedefs.h>

#include <unistd.h>

int main()
{
	CUmemGenericAllocationHandle first, second, imported;
	CUmemAllocationProp properties = {};
	CUmemAccessDesc access = {};
	CUdeviceptr range, again;
	size_t granularity, bytes;
	unsigned long long flags;
	int fd;

	CHECK(cudaFree(NULL)); /* the primary context */
	auto create = driver_function<PFN_cuMemCreate_v10020>("cuMemCreate", 10020);
	auto map = driver_function<PFN_cuMemMap_v10020>("cuMemMap", 10020);
	auto unmap = driver_function<PFN_cuMemUnmap_v10020>("cuMemUnmap", 10020);
	auto release = driver_function<PFN_cuMemRelease_v10020>("cuMemRelease", 10020);
	auto reserve =
		driver_function<PFN_cuMemAddressReserve_v10020>("cuMemAddressReserve", 10020);
	auto set_access = driver_function<PFN_cuMemSetAccess_v10020>("cuMemSetAccess", 10020);
	properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
	properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	DRIVER(driver_function<PFN_cuMemGetAllocationGranularity_v10020>(
		"cuMemGetAllocationGranularity", 10020)(&granularity, &properties,
							CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	bytes = 2 * granularity;
	DRIVER(reserve(&range, bytes, 0, 0, 0));
	DRIVER(create(&first, granularity, &properties, 0));
	DRIVER(create(&second, granularity, &properties, 0));
	DRIVER(map(range, granularity, 0, first, 0));
	DRIVER(map(range + granularity, granularity, 0, second, 0));
	access.location = properties.location;
	access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	DRIVER(set_access(range, bytes, &access, 1));
	DRIVER(driver_function<PFN_cuMemGetAccess_v10020>("cuMemGetAccess", 10020)(
		&flags, &properties.location, range));
	REQUIRE(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	CHECK(cudaMemset((void *)range, 0x5a, bytes));
	DRIVER(driver_function<PFN_cuMemExportToShareableHandle_v10020>(
		"cuMemExportToShareableHandle",
		10020)(&fd, second, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	DRIVER(driver_function<PFN_cuMemImportFromShareableHandle_v10020>(
		"cuMemImportFromShareableHandle", 10020)(&imported, (void *)(uintptr_t)fd,
							 CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
	close(fd);
	DRIVER(reserve(&again, granularity, 0, 0, 0));
	DRIVER(map(again, granularity, 0, imported, 0));
	DRIVER(set_access(again, granularity, &access, 1));
	unsigned char *back = (unsigned char *)malloc(granularity);
	CHECK(cudaMemcpy(back, (void *)again, granularity, cudaMemcpyDeviceToHost));
	REQUIRE(back[0] == 0x5a && back[granularity - 1] == 0x5a);
	DRIVER(unmap(again, granularity));
	DRIVER(unmap(range, bytes));
	DRIVER(release(first));
	DRIVER(release(second));
	DRIVER(release(imported));
	DRIVER(driver_function<PFN_cuMemAddressFree_v10020>("cuMemAddressFree", 10020)(range,
										       bytes));
	puts("mapped");
	return 0;
}

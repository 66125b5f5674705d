/* SPDX-License-Identifier: Apache-2.0
 *
 * cuGetProcAddress: of the versions that a function has, the newest one that the caller's CUDA
 * knows. Since when each version is there is read from the toolkit's cudaTypedefs.h.
 */
#include "driver/driver.h"

#include <string.h>

/* The first row of a name, or the end; rows are sorted by name. */
static size_t first_of(const char *name)
{
	size_t low = 0, high = sim_version_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (strcmp(sim_versions[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static CUdriverProcAddressQueryResult find(const char *name, int version, bool per_thread,
					   void **ret_address)
{
	CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;

	*ret_address = NULL;
	for (size_t i = first_of(name); i < sim_version_count; i++) {
		const struct sim_version *row = &sim_versions[i];

		if (strcmp(row->name, name))
			break;
		if (status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND)
			status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
		if (row->since > version || (row->per_thread && !per_thread))
			continue;
		*ret_address = row->address; /* the last that fits: rows of a name get better */
		status = CU_GET_PROC_ADDRESS_SUCCESS;
	}
	return status;
}

CUresult sim_cuGetProcAddress_v2(const char *name, void **address, int version, cuuint64_t flags,
				 CUdriverProcAddressQueryResult *status)
{
	CUdriverProcAddressQueryResult found;

	if (!name || !address || version > sim_driver_version)
		return CUDA_ERROR_INVALID_VALUE;
	found = find(name, version, flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, address);
	if (status)
		*status = found;
	return CUDA_SUCCESS;
}

/* Until CUDA 12 what was not found was an error. */
CUresult sim_cuGetProcAddress(const char *name, void **address, int version, cuuint64_t flags)
{
	CUresult result = sim_cuGetProcAddress_v2(name, address, version, flags, NULL);

	return result || *address ? result : CUDA_ERROR_NOT_FOUND;
}

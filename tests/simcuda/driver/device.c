/* SPDX-License-Identifier: Apache-2.0
 *
 * The devices and what they say of themselves. Set up inside cuInit, read-only afterwards, so any
 * thread may ask.
 */
#include "driver/driver.h"

#include <stdio.h>
#include <string.h>

struct sim_device sim_devices[SIM_MAX_DEVICES];
_Atomic int sim_device_count;

static const struct sim_device_facts models[] = {
	{.name = "NVIDIA H200",
	 .chip = "GH100",
	 .memory = 150121545728,
	 .bandwidth_kbs = 4814259200,
	 .clock_khz = 1980000,
	 .memory_clock_khz = 3201000,
	 .bus_bits = 6144,
	 .multiprocessors = 132,
	 .major = 9,
	 .minor = 0,
	 .l2_bytes = 62914560,
	 .shared_per_multiprocessor = 233472,
	 .shared_per_block_optin = 232448,
	 .registers_per_multiprocessor = 65536,
	 .threads_per_multiprocessor = 2048,
	 .blocks_per_multiprocessor = 32,
	 .copy_engines = 3},
	{.name = "NVIDIA A100-SXM4-40GB",
	 .chip = "GA100",
	 .memory = 42298834944,
	 .bandwidth_kbs = 1555200000,
	 .clock_khz = 1410000,
	 .memory_clock_khz = 1215000,
	 .bus_bits = 5120,
	 .multiprocessors = 108,
	 .major = 8,
	 .minor = 0,
	 .l2_bytes = 41943040,
	 .shared_per_multiprocessor = 167936,
	 .shared_per_block_optin = 166912,
	 .registers_per_multiprocessor = 65536,
	 .threads_per_multiprocessor = 2048,
	 .blocks_per_multiprocessor = 32,
	 .copy_engines = 3},
	{.name = "NVIDIA L4",
	 .chip = "AD104",
	 .memory = 23580639232,
	 .bandwidth_kbs = 300096000,
	 .clock_khz = 2040000,
	 .memory_clock_khz = 6251000,
	 .bus_bits = 192,
	 .multiprocessors = 58,
	 .major = 8,
	 .minor = 9,
	 .l2_bytes = 50331648,
	 .shared_per_multiprocessor = 102400,
	 .shared_per_block_optin = 101376,
	 .registers_per_multiprocessor = 65536,
	 .threads_per_multiprocessor = 1536,
	 .blocks_per_multiprocessor = 24,
	 .copy_engines = 2},
};

/* SIMCUDA_DEVICE: h200 (default), a100, l4. */
const struct sim_device_facts *sim_device_model(const char *name)
{
	if (name && !strcmp(name, "a100"))
		return &models[1];
	if (name && !strcmp(name, "l4"))
		return &models[2];
	return &models[0];
}

void sim_devices_init(void)
{
	sim_device_count = sim_options.devices;
	if (sim_device_count < 0 || sim_device_count > SIM_MAX_DEVICES)
		sim_device_count = 1;
	for (int i = 0; i < sim_device_count; i++) {
		sim_devices[i].ordinal = i;
		sim_devices[i].facts = sim_options.facts;
	}
}

struct sim_device *sim_device_find(CUdevice ordinal)
{
	return ordinal >= 0 && ordinal < sim_device_count ? &sim_devices[ordinal] : NULL;
}

void sim_device_uuid(int ordinal, unsigned char uuid[16])
{
	memcpy(uuid, "simulated-gpu-00", 16);
	uuid[14] = (unsigned char)('0' + ordinal / 10);
	uuid[15] = (unsigned char)('0' + ordinal % 10);
}

CUresult sim_cuDeviceGet(CUdevice *device, int ordinal)
{
	CUresult result = sim_check_ready();

	if (result)
		return result;
	if (!sim_device_find(ordinal))
		return CUDA_ERROR_INVALID_DEVICE;
	*device = ordinal;
	return CUDA_SUCCESS;
}

CUresult sim_cuDeviceGetCount(int *count)
{
	CUresult result = sim_check_ready();

	if (!result)
		*count = sim_device_count;
	return result;
}

CUresult sim_cuDeviceGetName(char *name, int length, CUdevice ordinal)
{
	struct sim_device *device = sim_device_find(ordinal);

	if (!device || length <= 0)
		return CUDA_ERROR_INVALID_DEVICE;
	snprintf(name, (size_t)length, "%s", device->facts->name);
	return CUDA_SUCCESS;
}

CUresult sim_cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice ordinal)
{
	if (!sim_device_find(ordinal))
		return CUDA_ERROR_INVALID_DEVICE;
	sim_device_uuid(ordinal, (unsigned char *)uuid->bytes);
	return CUDA_SUCCESS;
}

CUresult sim_cuDeviceGetUuid(CUuuid *uuid, CUdevice ordinal)
{
	return sim_cuDeviceGetUuid_v2(uuid, ordinal);
}

CUresult sim_cuDeviceTotalMem_v2(size_t *bytes, CUdevice ordinal)
{
	struct sim_device *device = sim_device_find(ordinal);

	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	*bytes = device->facts->memory;
	return CUDA_SUCCESS;
}

CUresult sim_cuDeviceComputeCapability(int *major, int *minor, CUdevice ordinal)
{
	struct sim_device *device = sim_device_find(ordinal);

	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	*major = (int)device->facts->major;
	*minor = (int)device->facts->minor;
	return CUDA_SUCCESS;
}

CUresult sim_cuDeviceGetPCIBusId(char *id, int length, CUdevice ordinal)
{
	if (!sim_device_find(ordinal) || length < 13)
		return CUDA_ERROR_INVALID_VALUE;
	snprintf(id, (size_t)length, "0000:%02X:00.0", 0x10 + ordinal);
	return CUDA_SUCCESS;
}

CUresult sim_cuDeviceGetByPCIBusId(CUdevice *device, const char *id)
{
	unsigned int bus;

	if (sscanf(id, "%*x:%x:", &bus) != 1 || !sim_device_find((int)bus - 0x10))
		return CUDA_ERROR_INVALID_VALUE;
	*device = (int)bus - 0x10;
	return CUDA_SUCCESS;
}

CUresult sim_cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
	*can = device != peer;
	return sim_check_ready();
}

/* Attributes that are the same on every model; the rest come from its facts. */
static const int fixed_attributes[CU_DEVICE_ATTRIBUTE_MAX] = {
	[CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK] = 1024,
	[CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X] = 1024,
	[CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y] = 1024,
	[CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z] = 64,
	[CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X] = 2147483647,
	[CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y] = 65535,
	[CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z] = 65535,
	[CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK] = 49152,
	[CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY] = 65536,
	[CU_DEVICE_ATTRIBUTE_WARP_SIZE] = 32,
	[CU_DEVICE_ATTRIBUTE_MAX_PITCH] = 2147483647,
	[CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK] = 65536,
	[CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT] = 512,
	[CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT] = 32,
	[CU_DEVICE_ATTRIBUTE_GPU_OVERLAP] = 1,
	[CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY] = 1,
	[CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS] = 1,
	[CU_DEVICE_ATTRIBUTE_ECC_ENABLED] = 1,
	[CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING] = 1,
	[CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED] = 1,
	[CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED] = 1,
	[CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED] = 1,
	[CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY] = 1,
	[CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS] = 1,
	[CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED] = 1,
	[CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH] = 1,
	[CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED] = 1,
	[CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED] = 1,
	[CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED] = 1,
	[CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED] = 1,
	[CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS] = 1,
	[CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR] = 1,
	[CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH] = 1,
	[CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH] = 131072,
	[CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH] = 131072,
	[CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT] = 65536,
	[CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH] = 16384,
	[CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT] = 16384,
	[CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH] = 16384,
	[CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK] = 1024,
};

int sim_device_attribute(const struct sim_device *device, CUdevice_attribute attribute, int *ret)
{
	const struct sim_device_facts *f = device->facts;

	switch ((int)attribute) {
	case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
		return *ret = (int)f->multiprocessors, 0;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
		return *ret = (int)f->major, 0;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
		return *ret = (int)f->minor, 0;
	case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
		return *ret = (int)f->clock_khz, 0;
	case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
		return *ret = (int)f->memory_clock_khz, 0;
	case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
		return *ret = (int)f->bus_bits, 0;
	case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
		return *ret = (int)f->l2_bytes, 0;
	case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
		return *ret = (int)f->threads_per_multiprocessor, 0;
	case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR:
		return *ret = (int)f->blocks_per_multiprocessor, 0;
	case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
		return *ret = (int)f->shared_per_multiprocessor, 0;
	case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
		return *ret = (int)f->shared_per_block_optin, 0;
	case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR:
		return *ret = (int)f->registers_per_multiprocessor, 0;
	case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT:
		return *ret = (int)f->copy_engines, 0;
	case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
		return *ret = 0x10 + device->ordinal, 0;
	default:
		if ((int)attribute <= 0 || attribute >= CU_DEVICE_ATTRIBUTE_MAX)
			return CUDA_ERROR_INVALID_VALUE;
		return *ret = fixed_attributes[attribute], 0;
	}
}

CUresult sim_cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice ordinal)
{
	struct sim_device *device = sim_device_find(ordinal);

	if (!value || !device)
		return device ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_DEVICE;
	return sim_device_attribute(device, attribute, value);
}

CUresult sim_cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute which, CUdevice from,
				     CUdevice to)
{
	if (!sim_device_find(from) || !sim_device_find(to) || from == to)
		return CUDA_ERROR_INVALID_DEVICE;
	*value = which == CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED;
	return CUDA_SUCCESS;
}

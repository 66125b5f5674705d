/* SPDX-License-Identifier: Apache-2.0
 *
 * The part of NVML by which programs count and find devices before they use CUDA, as XLA does. It
 * needs no driver: the environment says how many there are. Written from NVML's documentation; the
 * toolkit has no header of it. Any thread.
 */
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define NVML             __attribute__((visibility("default")))
#define FIRST_BUS        0x10 /* of the simulated driver's devices */
#define DRIVER_VERSION   "580.00"
#define DEVICES_VARIABLE "SIMCUDA_DEVICES"

enum nvml_result {
	NVML_SUCCESS = 0,
	NVML_UNINITIALIZED = 1,
	NVML_INVALID_ARGUMENT = 2,
	NVML_NOT_FOUND = 6,
	NVML_INSUFFICIENT_SIZE = 7,
};

/* A handle is the ordinal plus one. */
typedef void *nvml_device;

static _Atomic int users;

NVML enum nvml_result nvmlInit_v2(void);
NVML enum nvml_result nvmlInitWithFlags(unsigned int flags);
NVML enum nvml_result nvmlShutdown(void);
NVML enum nvml_result nvmlDeviceGetCount_v2(unsigned int *count);
NVML enum nvml_result nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvml_device *device);
NVML enum nvml_result nvmlDeviceGetHandleByPciBusId_v2(const char *id, nvml_device *device);
NVML enum nvml_result nvmlDeviceGetIndex(nvml_device device, unsigned int *index);
NVML enum nvml_result nvmlSystemGetDriverVersion(char *version, unsigned int length);

static unsigned int devices(void)
{
	const char *said = getenv(DEVICES_VARIABLE);

	return said && *said ? (unsigned int)strtoul(said, NULL, 10) : 1;
}

static enum nvml_result find(unsigned int index, nvml_device *device)
{
	if (!users)
		return NVML_UNINITIALIZED;
	if (!device || index >= devices())
		return NVML_INVALID_ARGUMENT;
	*device = (nvml_device)(uintptr_t)(index + 1);
	return NVML_SUCCESS;
}

enum nvml_result nvmlInit_v2(void)
{
	users++;
	return NVML_SUCCESS;
}

enum nvml_result nvmlInitWithFlags(unsigned int flags)
{
	return flags > 1 ? NVML_INVALID_ARGUMENT : nvmlInit_v2();
}

enum nvml_result nvmlShutdown(void)
{
	if (!users)
		return NVML_UNINITIALIZED;
	users--;
	return NVML_SUCCESS;
}

enum nvml_result nvmlDeviceGetCount_v2(unsigned int *count)
{
	if (!users || !count)
		return users ? NVML_INVALID_ARGUMENT : NVML_UNINITIALIZED;
	*count = devices();
	return NVML_SUCCESS;
}

enum nvml_result nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvml_device *device)
{
	return find(index, device);
}

enum nvml_result nvmlDeviceGetHandleByPciBusId_v2(const char *id, nvml_device *device)
{
	unsigned int bus;

	if (!id || sscanf(id, "%*x:%x:", &bus) != 1)
		return users ? NVML_INVALID_ARGUMENT : NVML_UNINITIALIZED;
	if (bus < FIRST_BUS || bus - FIRST_BUS >= devices())
		return NVML_NOT_FOUND;
	return find(bus - FIRST_BUS, device);
}

enum nvml_result nvmlDeviceGetIndex(nvml_device device, unsigned int *index)
{
	uintptr_t handle = (uintptr_t)device;

	if (!users || !index || !handle || handle > devices())
		return users ? NVML_INVALID_ARGUMENT : NVML_UNINITIALIZED;
	*index = (unsigned int)handle - 1;
	return NVML_SUCCESS;
}

enum nvml_result nvmlSystemGetDriverVersion(char *version, unsigned int length)
{
	if (!users || !version)
		return users ? NVML_INVALID_ARGUMENT : NVML_UNINITIALIZED;
	return snprintf(version, length, "%s", DRIVER_VERSION) < (int)length
		       ? NVML_SUCCESS
		       : NVML_INSUFFICIENT_SIZE;
}

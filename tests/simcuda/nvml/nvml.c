/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts and finds devices, as programs do before they use CUDA. It needs no driver: the
 * environment says how many there are.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nvml_sim.h"

#define FIRST_BUS        0x10 /* of the simulated driver's devices */
#define DRIVER_VERSION   "580.00"
#define DEVICES_VARIABLE "SIMCUDA_DEVICES"
#define FAULTS_VARIABLE  "SIMNVML_FAULT"
#define UUID             "GPU-73696d75-6c61-7465-642d-6770752d" /* simulated-gpu- and two digits */

static _Atomic int users;
static _Atomic uint64_t began;

NVML enum nvml_result nvmlInit_v2(void);
NVML enum nvml_result nvmlInitWithFlags(unsigned int flags);
NVML enum nvml_result nvmlShutdown(void);
NVML enum nvml_result nvmlDeviceGetCount_v2(unsigned int *count);
NVML enum nvml_result nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvml_device *device);
NVML enum nvml_result nvmlDeviceGetHandleByPciBusId_v2(const char *id, nvml_device *device);
NVML enum nvml_result nvmlDeviceGetHandleByUUID(const char *uuid, nvml_device *device);
NVML enum nvml_result nvmlDeviceGetIndex(nvml_device device, unsigned int *index);
NVML enum nvml_result nvmlSystemGetDriverVersion(char *version, unsigned int length);

bool sim_nvml_fault(const char *name, unsigned long *ret_number)
{
	const char *at = getenv(FAULTS_VARIABLE);
	size_t length = strlen(name);

	for (; at && *at; at += strcspn(at, ","), at += *at == ',') {
		if (strncmp(at, name, length) || !strchr("=,", at[length]))
			continue;
		*ret_number = at[length] == '=' ? strtoul(at + length + 1, NULL, 10) : 0;
		return true;
	}
	return false;
}

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t sim_nvml_time(void)
{
	return now() - began;
}

static unsigned int devices(void)
{
	const char *said = getenv(DEVICES_VARIABLE);

	return said && *said ? (unsigned int)strtoul(said, NULL, 10) : 1;
}

static enum nvml_result find(unsigned int index, nvml_device *device)
{
	uint64_t never = 0;

	if (!users)
		return NVML_UNINITIALIZED;
	atomic_compare_exchange_strong(&began, &never, now());
	if (!device || index >= devices())
		return NVML_INVALID_ARGUMENT;
	*device = (nvml_device)(uintptr_t)(index + 1);
	return NVML_SUCCESS;
}

enum nvml_result sim_nvml_check(nvml_device device, unsigned int *ret_ordinal)
{
	uintptr_t handle = (uintptr_t)device;

	if (!users)
		return NVML_UNINITIALIZED;
	if (!handle || handle > devices())
		return NVML_INVALID_ARGUMENT;
	*ret_ordinal = (unsigned int)handle - 1;
	return NVML_SUCCESS;
}

enum nvml_result nvmlInit_v2(void)
{
	unsigned long result;

	if (sim_nvml_fault("init", &result))
		return (enum nvml_result)result;
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

/* The id of the simulated driver, its 16 bytes in hexadecimal digits. */
enum nvml_result nvmlDeviceGetHandleByUUID(const char *uuid, nvml_device *device)
{
	unsigned int tens, ones;

	if (!uuid || strncmp(uuid, UUID, strlen(UUID)) ||
	    sscanf(uuid + strlen(UUID), "%2x%2x", &tens, &ones) != 2)
		return users ? NVML_NOT_FOUND : NVML_UNINITIALIZED;
	return find((tens - '0') * 10 + ones - '0', device);
}

enum nvml_result nvmlDeviceGetIndex(nvml_device device, unsigned int *index)
{
	return index ? sim_nvml_check(device, index) : NVML_INVALID_ARGUMENT;
}

enum nvml_result nvmlSystemGetDriverVersion(char *version, unsigned int length)
{
	if (!users || !version)
		return users ? NVML_INVALID_ARGUMENT : NVML_UNINITIALIZED;
	return snprintf(version, length, "%s", DRIVER_VERSION) < (int)length
		       ? NVML_SUCCESS
		       : NVML_INSUFFICIENT_SIZE;
}

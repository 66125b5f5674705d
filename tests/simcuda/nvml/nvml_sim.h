/* SPDX-License-Identifier: Apache-2.0
 *
 * The simulated NVML: nvml.c finds devices, sensors.c has their values. Written from NVML's
 * documentation; the toolkit has no header of it. Any thread.
 */
#ifndef SIMCUDA_NVML_SIM_H
#define SIMCUDA_NVML_SIM_H

#include <stdbool.h>
#include <stdint.h>

#define NVML __attribute__((visibility("default")))

enum nvml_result {
	NVML_SUCCESS = 0,
	NVML_UNINITIALIZED = 1,
	NVML_INVALID_ARGUMENT = 2,
	NVML_NOT_SUPPORTED = 3,
	NVML_NOT_FOUND = 6,
	NVML_INSUFFICIENT_SIZE = 7,
	NVML_TIMEOUT = 10,
	NVML_GPU_IS_LOST = 15,
};

/* A handle is the ordinal plus one. */
typedef void *nvml_device;

/* Whether @device is a device of an initialised NVML, by its result; *ret_ordinal: which. */
enum nvml_result sim_nvml_check(nvml_device device, unsigned int *ret_ordinal);

/* Time since a device was looked for first, ns. */
uint64_t sim_nvml_time(void);

/* The number behind "@name=" in SIMNVML_FAULT. False: there is no such fault. */
bool sim_nvml_fault(const char *name, unsigned long *ret_number);

#endif

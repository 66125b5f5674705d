/* SPDX-License-Identifier: Apache-2.0
 *
 * What is used of NVML. Its header is not in every toolkit, so it is declared here, under names of
 * ours; numbers and layouts are those of nvml.h, which has kept them since NVML 5 (of field values:
 * since 10). Source: NVIDIA, "NVML API Reference Guide".
 */
#ifndef GT_COLLECTORS_NVML_ABI_H
#define GT_COLLECTORS_NVML_ABI_H

#include <stdint.h>

/* nvmlReturn_t: those that are handled apart. */
enum gt_nvml_result {
	GT_NVML_SUCCESS = 0,
	GT_NVML_NOT_SUPPORTED = 3,
	GT_NVML_NO_PERMISSION = 4,
	GT_NVML_TIMEOUT = 10,
	GT_NVML_LOST = 15, /* the GPU has fallen off the bus */
};

/* nvmlDevice_t, nvmlEventSet_t: pointers to what only NVML knows. */
typedef void *gt_nvml_device;
typedef void *gt_nvml_events;

/* nvmlClockType_t */
enum { GT_NVML_DOMAIN_SM = 1, GT_NVML_DOMAIN_MEMORY = 2 };

/* nvmlTemperatureSensors_t */
enum { GT_NVML_TEMPERATURE_GPU = 0 };

/* nvmlPcieUtilCounter_t */
enum { GT_NVML_TRAFFIC_SENT = 0, GT_NVML_TRAFFIC_RECEIVED = 1 };

/* nvmlMemoryErrorType_t, nvmlEccCounterType_t */
enum { GT_NVML_ERROR_CORRECTED = 0, GT_NVML_ERROR_UNCORRECTED = 1 };
enum { GT_NVML_ECC_SINCE_LOADED = 0 };

/* nvmlUtilization_t, percent */
struct gt_nvml_utilization {
	unsigned int gpu, memory;
};

/* nvmlFieldValue_t */
struct gt_nvml_field {
	unsigned int field; /* GT_NVML_FIELD_... */
	unsigned int scope;
	long long timestamp, latency;
	unsigned int type; /* GT_NVML_TYPE_... */
	unsigned int result;
	union {
		double real;
		int s32;
		unsigned int u32;
		unsigned long word;
		unsigned long long u64;
		long long s64;
	} value;
};

/* Fields of nvmlDeviceGetFieldValues. */
enum {
	GT_NVML_FIELD_NVLINK_SENT = 138, /* KiB since the driver was loaded */
	GT_NVML_FIELD_NVLINK_RECEIVED = 139,
	GT_NVML_FIELD_POWER_INSTANT = 186, /* mW */
};

/* nvmlValueType_t */
enum {
	GT_NVML_TYPE_DOUBLE = 0,
	GT_NVML_TYPE_U32 = 1,
	GT_NVML_TYPE_WORD = 2,
	GT_NVML_TYPE_U64 = 3,
	GT_NVML_TYPE_S64 = 4,
	GT_NVML_TYPE_S32 = 5,
};

/* Scope of a field of NVLink: all links together. */
#define GT_NVML_ALL_LINKS UINT32_MAX

/* nvmlEventData_t */
struct gt_nvml_event {
	gt_nvml_device device;
	unsigned long long type, data; /* data of an XID: its number */
	unsigned int gpu_instance, compute_instance;
};

/* nvmlGpmSample_t; versions of the structs of GPM */
typedef void *gt_nvml_gpm_sample;
#define GT_NVML_GPM_VERSION 1u

/* nvmlGpmSupport_t */
struct gt_nvml_gpm_support {
	unsigned int version, is_supported;
};

/* nvmlGpmMetric_t */
struct gt_nvml_gpm_value {
	unsigned int id, result;
	double value;
	char *short_name, *long_name, *unit;
};

/* nvmlGpmMetricsGet_t, with room for more metrics than NVML has (477 in 2026) */
struct gt_nvml_gpm_request {
	unsigned int version, count;
	gt_nvml_gpm_sample before, after;
	struct gt_nvml_gpm_value metrics[1024];
};

/* nvmlEventTypeXidCriticalError */
#define GT_NVML_EVENT_XID 8ull

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * What the sensors of a device show. SIMNVML_SCRIPT is a file of lines "MS SENSOR VALUE": from MS
 * ms after a device was looked for first the sensor shows VALUE, in NVML's unit; before that, and
 * without the file, what `sensors` has. Energy is the integral of power. Device k takes k W more
 * than device 0.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nvml_sim.h"

#define SCRIPT_VARIABLE "SIMNVML_SCRIPT"
#define STEPS           256
#define ENERGY_BEFORE   1000000ull /* mJ since the driver was loaded */

enum sensor {
	POWER,
	SM,
	MEMORY,
	TEMPERATURE,
	BUSY,
	BUSY_MEMORY,
	REASONS,
	CORRECTED,
	UNCORRECTED,
	SENT,
	RECEIVED,
	ACTIVE_SM, /* percent, these four */
	ACTIVE_WARPS,
	ACTIVE_TENSOR,
	ACTIVE_DRAM,
	LINK, /* KiB per second, sent; half of it is received */
	SENSORS
};

static const struct {
	const char *name;
	unsigned long value;
} sensors[SENSORS] = {
	[POWER] = {"power", 300000},
	[SM] = {"sm", 1980},
	[MEMORY] = {"memory", 2619},
	[TEMPERATURE] = {"temperature", 41},
	[BUSY] = {"busy", 90},
	[BUSY_MEMORY] = {"busy_memory", 35},
	[REASONS] = {"reasons", 0},
	[CORRECTED] = {"corrected", 0},
	[UNCORRECTED] = {"uncorrected", 0},
	[SENT] = {"sent", 2000},
	[RECEIVED] = {"received", 3000},
	[ACTIVE_SM] = {"active_sm", 80},
	[ACTIVE_WARPS] = {"active_warps", 50},
	[ACTIVE_TENSOR] = {"active_tensor", 40},
	[ACTIVE_DRAM] = {"active_dram", 30},
	[LINK] = {"link", 1000000},
};

struct step {
	uint64_t at; /* ns */
	enum sensor sensor;
	unsigned long value;
};

struct nvml_utilization {
	unsigned int gpu, memory;
};

struct nvml_field {
	unsigned int field, scope;
	long long timestamp, latency;
	unsigned int type, result;
	unsigned long long value;
};

struct nvml_event {
	nvml_device device;
	unsigned long long type, data;
	unsigned int gpu_instance, compute_instance;
};

struct nvml_support {
	unsigned int version, supported;
};

struct nvml_metrics {
	unsigned int version, count;
	uint64_t *before, *after;
	struct {
		unsigned int id, result;
		double value;
		char *names[3];
	} metrics[];
};

NVML enum nvml_result nvmlDeviceGetPowerUsage(nvml_device device, unsigned int *milliwatts);
NVML enum nvml_result nvmlDeviceGetTotalEnergyConsumption(nvml_device device,
							  unsigned long long *millijoules);
NVML enum nvml_result nvmlDeviceGetClockInfo(nvml_device device, unsigned int clock,
					     unsigned int *megahertz);
NVML enum nvml_result nvmlDeviceGetTemperature(nvml_device device, unsigned int sensor,
					       unsigned int *celsius);
NVML enum nvml_result nvmlDeviceGetUtilizationRates(nvml_device device,
						    struct nvml_utilization *utilization);
NVML enum nvml_result nvmlDeviceGetPcieThroughput(nvml_device device, unsigned int counter,
						  unsigned int *kilobytes);
NVML enum nvml_result nvmlDeviceGetCurrentClocksThrottleReasons(nvml_device device,
								unsigned long long *reasons);
NVML enum nvml_result nvmlDeviceGetTotalEccErrors(nvml_device device, unsigned int type,
						  unsigned int since, unsigned long long *errors);
NVML enum nvml_result nvmlDeviceGetFieldValues(nvml_device device, int count,
					       struct nvml_field *fields);
NVML enum nvml_result nvmlGpmQueryDeviceSupport(nvml_device device, struct nvml_support *support);
NVML enum nvml_result nvmlGpmSampleAlloc(uint64_t **sample);
NVML enum nvml_result nvmlGpmSampleGet(nvml_device device, uint64_t *sample);
NVML enum nvml_result nvmlGpmMetricsGet(struct nvml_metrics *metrics);
NVML enum nvml_result nvmlEventSetCreate(void **events);
NVML enum nvml_result nvmlDeviceRegisterEvents(nvml_device device, unsigned long long types,
					       void *events);
NVML enum nvml_result nvmlEventSetWait_v2(void *events, struct nvml_event *event,
					  unsigned int milliseconds);

/* ---- the script ---- */

static struct step steps[STEPS];
static int step_count;

static void read_line(const char *line)
{
	struct step *step = &steps[step_count];
	char name[32];
	double at;

	if (step_count == STEPS || sscanf(line, "%lf %31s %lu", &at, name, &step->value) != 3)
		return;
	for (int i = 0; i < SENSORS; i++)
		if (!strcmp(sensors[i].name, name)) {
			step->at = (uint64_t)(at * 1e6);
			step->sensor = (enum sensor)i;
			step_count++;
			return;
		}
	fprintf(stderr, "simcuda: " SCRIPT_VARIABLE ": there is no sensor '%s'\n", name);
}

__attribute__((constructor)) static void read_script(void)
{
	const char *path = getenv(SCRIPT_VARIABLE);
	FILE *file = path && *path ? fopen(path, "re") : NULL;
	char line[128];

	while (file && fgets(line, sizeof(line), file))
		read_line(line);
	if (file)
		fclose(file);
}

static unsigned long value_at(enum sensor sensor, uint64_t time)
{
	unsigned long value = sensors[sensor].value;

	for (int i = 0; i < step_count; i++)
		if (steps[i].sensor == sensor && steps[i].at <= time)
			value = steps[i].value;
	return value;
}

/* The integral of a rate per second over the time so far. */
static double sum_until(enum sensor sensor, uint64_t time)
{
	double sum = 0;
	uint64_t from = 0;

	for (int i = 0; i < step_count; i++) {
		if (steps[i].sensor != sensor || steps[i].at > time)
			continue;
		sum += (double)value_at(sensor, from) * (double)(steps[i].at - from) / 1e9;
		from = steps[i].at;
	}
	return sum + (double)value_at(sensor, from) * (double)(time - from) / 1e9;
}

/* ---- any call ---- */

static void pause_for(unsigned long us)
{
	struct timespec ts = {.tv_sec = (time_t)(us / 1000000),
			      .tv_nsec = (long)(us % 1000000 * 1000)};

	nanosleep(&ts, NULL);
}

/* What happens to every call: faults, and a handle that is none. */
static enum nvml_result enter(nvml_device device, unsigned int *ret_ordinal)
{
	unsigned long number;

	if (sim_nvml_fault("slow", &number))
		pause_for(number);
	if (sim_nvml_fault("hang", &number) && sim_nvml_time() >= number * 1000000ull)
		for (;;)
			pause_for(1000000);
	if (sim_nvml_fault("lost", &number) && sim_nvml_time() >= number * 1000000ull)
		return NVML_GPU_IS_LOST;
	return sim_nvml_check(device, ret_ordinal);
}

static enum nvml_result show(nvml_device device, enum sensor sensor, unsigned int *ret_value)
{
	unsigned int ordinal = 0;
	enum nvml_result result = enter(device, &ordinal);

	if (!result)
		*ret_value = (unsigned int)value_at(sensor, sim_nvml_time());
	return result;
}

/* ---- NVML ---- */

enum nvml_result nvmlDeviceGetPowerUsage(nvml_device device, unsigned int *milliwatts)
{
	unsigned int ordinal = 0;
	enum nvml_result result = enter(device, &ordinal);

	if (!result)
		*milliwatts = (unsigned int)value_at(POWER, sim_nvml_time()) + 1000 * ordinal;
	return result;
}

enum nvml_result nvmlDeviceGetTotalEnergyConsumption(nvml_device device,
						     unsigned long long *millijoules)
{
	unsigned int ordinal = 0;
	enum nvml_result result = enter(device, &ordinal);
	unsigned long number;
	uint64_t time = sim_nvml_time();

	if (sim_nvml_fault("no_energy", &number))
		return NVML_NOT_SUPPORTED;
	if (!result)
		*millijoules = ENERGY_BEFORE + (unsigned long long)(sum_until(POWER, time) +
								    1e-6 * ordinal * (double)time);
	return result;
}

enum nvml_result nvmlDeviceGetClockInfo(nvml_device device, unsigned int clock,
					unsigned int *megahertz)
{
	if (clock > 3)
		return NVML_INVALID_ARGUMENT;
	return show(device, clock == 2 ? MEMORY : SM, megahertz);
}

enum nvml_result nvmlDeviceGetTemperature(nvml_device device, unsigned int sensor,
					  unsigned int *celsius)
{
	return sensor ? NVML_INVALID_ARGUMENT : show(device, TEMPERATURE, celsius);
}

enum nvml_result nvmlDeviceGetUtilizationRates(nvml_device device,
					       struct nvml_utilization *utilization)
{
	enum nvml_result result = show(device, BUSY, &utilization->gpu);

	return result ? result : show(device, BUSY_MEMORY, &utilization->memory);
}

enum nvml_result nvmlDeviceGetPcieThroughput(nvml_device device, unsigned int counter,
					     unsigned int *kilobytes)
{
	if (counter > 1)
		return NVML_INVALID_ARGUMENT;
	pause_for(20000);
	return show(device, counter ? RECEIVED : SENT, kilobytes);
}

enum nvml_result nvmlDeviceGetCurrentClocksThrottleReasons(nvml_device device,
							   unsigned long long *reasons)
{
	unsigned int value = 0;
	enum nvml_result result = show(device, REASONS, &value);

	*reasons = value;
	return result;
}

enum nvml_result nvmlDeviceGetTotalEccErrors(nvml_device device, unsigned int type,
					     unsigned int since, unsigned long long *errors)
{
	unsigned int value = 0;
	enum nvml_result result;

	if (type > 1 || since > 1)
		return NVML_INVALID_ARGUMENT;
	result = show(device, type ? UNCORRECTED : CORRECTED, &value);
	*errors = value;
	return result;
}

static enum nvml_result fill_field(nvml_device device, struct nvml_field *field)
{
	unsigned int value = 0;
	unsigned long number;
	double sum = sum_until(LINK, sim_nvml_time());

	switch (field->field) {
	case 138:
	case 139:
		field->type = 3;
		field->value = (unsigned long long)(field->field == 138 ? sum : sum / 2);
		return sim_nvml_fault("no_nvlink", &number) ? NVML_NOT_SUPPORTED : NVML_SUCCESS;
	case 186:
		field->type = 1;
		if (sim_nvml_fault("no_instant", &number))
			return NVML_NOT_SUPPORTED;
		nvmlDeviceGetPowerUsage(device, &value);
		memcpy(&field->value, &value, sizeof(value));
		return NVML_SUCCESS;
	default:
		return NVML_INVALID_ARGUMENT;
	}
}

enum nvml_result nvmlDeviceGetFieldValues(nvml_device device, int count, struct nvml_field *fields)
{
	unsigned int ordinal = 0;
	enum nvml_result result = enter(device, &ordinal);

	for (int i = 0; !result && i < count; i++)
		fields[i].result = fill_field(device, &fields[i]);
	return result;
}

/* ---- GPM: a sample is its time ---- */

enum nvml_result nvmlGpmQueryDeviceSupport(nvml_device device, struct nvml_support *support)
{
	unsigned int ordinal = 0;
	enum nvml_result result = enter(device, &ordinal);
	unsigned long number;

	if (support->version != 1)
		return NVML_INVALID_ARGUMENT;
	support->supported = !sim_nvml_fault("no_gpm", &number);
	return result;
}

enum nvml_result nvmlGpmSampleAlloc(uint64_t **sample)
{
	*sample = calloc(1, sizeof(**sample));
	return *sample ? NVML_SUCCESS : NVML_INSUFFICIENT_SIZE;
}

enum nvml_result nvmlGpmSampleGet(nvml_device device, uint64_t *sample)
{
	unsigned int ordinal = 0;

	*sample = sim_nvml_time();
	return enter(device, &ordinal);
}

enum nvml_result nvmlGpmMetricsGet(struct nvml_metrics *metrics)
{
	static const enum sensor by_id[] = {
		[2] = ACTIVE_SM, [3] = ACTIVE_WARPS, [5] = ACTIVE_TENSOR, [10] = ACTIVE_DRAM};

	if (metrics->version != 1 || *metrics->before >= *metrics->after)
		return NVML_INVALID_ARGUMENT;
	for (unsigned int i = 0; i < metrics->count; i++) {
		unsigned int id = metrics->metrics[i].id;
		bool known = id < sizeof(by_id) / sizeof(by_id[0]) && by_id[id];

		metrics->metrics[i].result = known ? NVML_SUCCESS : NVML_NOT_SUPPORTED;
		metrics->metrics[i].value =
			known ? (double)value_at(by_id[id], *metrics->after) + 0.25 : 0;
	}
	return NVML_SUCCESS;
}

/* ---- events ---- */

static nvml_device registered; /* the first one */

enum nvml_result nvmlEventSetCreate(void **events)
{
	static int set;

	*events = &set;
	return NVML_SUCCESS;
}

enum nvml_result nvmlDeviceRegisterEvents(nvml_device device, unsigned long long types,
					  void *events)
{
	if (!events || types != 8)
		return NVML_INVALID_ARGUMENT;
	if (!registered)
		registered = device;
	return NVML_SUCCESS;
}

/* xid=MS: once, XID 79. */
enum nvml_result nvmlEventSetWait_v2(void *events, struct nvml_event *event,
				     unsigned int milliseconds)
{
	static bool told;
	unsigned long number;

	if (!events)
		return NVML_INVALID_ARGUMENT;
	if (!told && sim_nvml_fault("xid", &number) && sim_nvml_time() >= number * 1000000ull) {
		told = true;
		*event = (struct nvml_event){.device = registered, .type = 8, .data = 79};
		return NVML_SUCCESS;
	}
	pause_for(milliseconds * 1000ul);
	return NVML_TIMEOUT;
}

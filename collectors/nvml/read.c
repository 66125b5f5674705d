/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. NVML's own words are in its reference guide: power of field 186 is that of now,
 * nvmlDeviceGetPowerUsage averages it over a second on newer GPUs.
 */
#include "collectors/nvml/read.h"

#include "collectors/nvml/gate.h"

/* NVML measures PCIe's traffic for 20 ms, asleep in the call. */
#define PCIE_EVERY_NS 1000000000ull

/* nvmlClocksEventReason...; the idle GPU's, the program's own and the display's are no faults. */
#define POWER_LIMIT   0x04u
#define HARDWARE      0x08u /* also with each of the next two */
#define SYNC_BOOST    0x10u
#define THERMAL       0x60u /* found by software, by hardware */
#define POWER_BRAKE   0x80u

typedef enum gt_nvml_result ask_fn(const struct gt_nvml_library *nvml, struct gt_nvml_gpu *gpu,
				   uint64_t now, uint64_t *ret_value);

/* ---- power, clocks, temperature ---- */

static uint64_t number_of(const struct gt_nvml_field *field)
{
	switch (field->type) {
	case GT_NVML_TYPE_DOUBLE:
		return (uint64_t)field->value.real;
	case GT_NVML_TYPE_U32:
	case GT_NVML_TYPE_S32:
		return field->value.u32;
	default:
		return field->value.u64;
	}
}

static enum gt_nvml_result ask_field(const struct gt_nvml_library *nvml, struct gt_nvml_gpu *gpu,
				     uint32_t id, uint32_t scope, uint64_t *ret_value)
{
	struct gt_nvml_field field = {.field = id, .scope = scope};
	enum gt_nvml_result result;

	if (!nvml->nvmlDeviceGetFieldValues)
		return GT_NVML_NOT_SUPPORTED;
	result = nvml->nvmlDeviceGetFieldValues(gpu->handle, 1, &field);
	if (result == GT_NVML_SUCCESS)
		result = (enum gt_nvml_result)field.result;
	*ret_value = number_of(&field);
	return result;
}

static enum gt_nvml_result ask_power(const struct gt_nvml_library *nvml, struct gt_nvml_gpu *gpu,
				     uint64_t now, uint64_t *ret_value)
{
	enum gt_nvml_result result =
		ask_field(nvml, gpu, GT_NVML_FIELD_POWER_INSTANT, 0, ret_value);
	unsigned int milliwatts = 0;

	(void)now;
	if (result == GT_NVML_SUCCESS || result == GT_NVML_LOST)
		return result;
	if (!nvml->nvmlDeviceGetPowerUsage)
		return GT_NVML_NOT_SUPPORTED;
	result = nvml->nvmlDeviceGetPowerUsage(gpu->handle, &milliwatts);
	*ret_value = milliwatts;
	return result;
}

static enum gt_nvml_result ask_energy(const struct gt_nvml_library *nvml, struct gt_nvml_gpu *gpu,
				      uint64_t now, uint64_t *ret_value)
{
	unsigned long long millijoules = 0;
	enum gt_nvml_result result = GT_NVML_NOT_SUPPORTED;

	(void)now;
	if (nvml->nvmlDeviceGetTotalEnergyConsumption)
		result = nvml->nvmlDeviceGetTotalEnergyConsumption(gpu->handle, &millijoules);
	*ret_value = millijoules;
	return result;
}

static enum gt_nvml_result ask_clock(const struct gt_nvml_library *nvml,
				     const struct gt_nvml_gpu *gpu, uint32_t clock,
				     uint64_t *ret_value)
{
	unsigned int megahertz = 0;
	enum gt_nvml_result result = GT_NVML_NOT_SUPPORTED;

	if (nvml->nvmlDeviceGetClockInfo)
		result = nvml->nvmlDeviceGetClockInfo(gpu->handle, clock, &megahertz);
	*ret_value = megahertz;
	return result;
}

static enum gt_nvml_result ask_clock_sm(const struct gt_nvml_library *nvml, struct gt_nvml_gpu *gpu,
					uint64_t now, uint64_t *ret_value)
{
	(void)now;
	return ask_clock(nvml, gpu, GT_NVML_DOMAIN_SM, ret_value);
}

static enum gt_nvml_result ask_clock_memory(const struct gt_nvml_library *nvml,
					    struct gt_nvml_gpu *gpu, uint64_t now,
					    uint64_t *ret_value)
{
	(void)now;
	return ask_clock(nvml, gpu, GT_NVML_DOMAIN_MEMORY, ret_value);
}

static enum gt_nvml_result ask_temperature(const struct gt_nvml_library *nvml,
					   struct gt_nvml_gpu *gpu, uint64_t now,
					   uint64_t *ret_value)
{
	unsigned int celsius = 0;
	enum gt_nvml_result result = GT_NVML_NOT_SUPPORTED;

	(void)now;
	if (nvml->nvmlDeviceGetTemperature)
		result = nvml->nvmlDeviceGetTemperature(gpu->handle, GT_NVML_TEMPERATURE_GPU,
							&celsius);
	*ret_value = celsius;
	return result;
}

/* ---- two readings of one call ---- */

static enum gt_nvml_result ask_busy(const struct gt_nvml_library *nvml, struct gt_nvml_gpu *gpu,
				    uint64_t now, uint64_t *ret_value)
{
	(void)now;
	gpu->utilization = (struct gt_nvml_utilization){0};
	gpu->has_utilization = GT_NVML_NOT_SUPPORTED;
	if (nvml->nvmlDeviceGetUtilizationRates)
		gpu->has_utilization =
			nvml->nvmlDeviceGetUtilizationRates(gpu->handle, &gpu->utilization);
	*ret_value = gpu->utilization.gpu;
	return gpu->has_utilization;
}

static enum gt_nvml_result ask_busy_memory(const struct gt_nvml_library *nvml,
					   struct gt_nvml_gpu *gpu, uint64_t now,
					   uint64_t *ret_value)
{
	(void)nvml, (void)now;
	*ret_value = gpu->utilization.memory;
	return gpu->has_utilization;
}

/* ---- what the parts of the GPU did ---- */

static enum gt_nvml_result ask_active_sm(const struct gt_nvml_library *nvml,
					 struct gt_nvml_gpu *gpu, uint64_t now, uint64_t *ret_value)
{
	return gt_nvml_gpm_ask(nvml, &gpu->gpm, gpu->handle, GT_NVML_GPM_SM, now, ret_value);
}

static enum gt_nvml_result ask_active_warps(const struct gt_nvml_library *nvml,
					    struct gt_nvml_gpu *gpu, uint64_t now,
					    uint64_t *ret_value)
{
	return gt_nvml_gpm_ask(nvml, &gpu->gpm, gpu->handle, GT_NVML_GPM_OCCUPANCY, now, ret_value);
}

static enum gt_nvml_result ask_active_tensor(const struct gt_nvml_library *nvml,
					     struct gt_nvml_gpu *gpu, uint64_t now,
					     uint64_t *ret_value)
{
	return gt_nvml_gpm_ask(nvml, &gpu->gpm, gpu->handle, GT_NVML_GPM_TENSOR, now, ret_value);
}

static enum gt_nvml_result ask_active_dram(const struct gt_nvml_library *nvml,
					   struct gt_nvml_gpu *gpu, uint64_t now,
					   uint64_t *ret_value)
{
	return gt_nvml_gpm_ask(nvml, &gpu->gpm, gpu->handle, GT_NVML_GPM_DRAM, now, ret_value);
}

/* ---- what keeps the clocks down ---- */

static enum gt_nvml_result ask_throttled_power(const struct gt_nvml_library *nvml,
					       struct gt_nvml_gpu *gpu, uint64_t now,
					       uint64_t *ret_value)
{
	(void)now;
	gpu->reasons = 0;
	gpu->has_reasons = GT_NVML_NOT_SUPPORTED;
	if (nvml->nvmlDeviceGetCurrentClocksThrottleReasons)
		gpu->has_reasons =
			nvml->nvmlDeviceGetCurrentClocksThrottleReasons(gpu->handle, &gpu->reasons);
	*ret_value = (gpu->reasons & POWER_LIMIT) != 0;
	return gpu->has_reasons;
}

static enum gt_nvml_result ask_throttled_thermal(const struct gt_nvml_library *nvml,
						 struct gt_nvml_gpu *gpu, uint64_t now,
						 uint64_t *ret_value)
{
	(void)nvml, (void)now;
	*ret_value = (gpu->reasons & THERMAL) != 0;
	return gpu->has_reasons;
}

static enum gt_nvml_result ask_throttled_brake(const struct gt_nvml_library *nvml,
					       struct gt_nvml_gpu *gpu, uint64_t now,
					       uint64_t *ret_value)
{
	(void)nvml, (void)now;
	*ret_value = (gpu->reasons & POWER_BRAKE) != 0;
	return gpu->has_reasons;
}

/* Where hardware does not say why. */
static enum gt_nvml_result ask_throttled_hardware(const struct gt_nvml_library *nvml,
						  struct gt_nvml_gpu *gpu, uint64_t now,
						  uint64_t *ret_value)
{
	(void)nvml, (void)now;
	*ret_value = gpu->reasons & HARDWARE && !(gpu->reasons & (THERMAL | POWER_BRAKE));
	return gpu->has_reasons;
}

static enum gt_nvml_result ask_throttled_sync(const struct gt_nvml_library *nvml,
					      struct gt_nvml_gpu *gpu, uint64_t now,
					      uint64_t *ret_value)
{
	(void)nvml, (void)now;
	*ret_value = (gpu->reasons & SYNC_BOOST) != 0;
	return gpu->has_reasons;
}

/* ---- errors of memory ---- */

static enum gt_nvml_result ask_errors(const struct gt_nvml_library *nvml,
				      const struct gt_nvml_gpu *gpu, uint32_t type,
				      uint64_t *ret_value)
{
	unsigned long long errors = 0;
	enum gt_nvml_result result = GT_NVML_NOT_SUPPORTED;

	if (nvml->nvmlDeviceGetTotalEccErrors)
		result = nvml->nvmlDeviceGetTotalEccErrors(gpu->handle, type,
							   GT_NVML_ECC_SINCE_LOADED, &errors);
	*ret_value = errors;
	return result;
}

static enum gt_nvml_result ask_corrected(const struct gt_nvml_library *nvml,
					 struct gt_nvml_gpu *gpu, uint64_t now, uint64_t *ret_value)
{
	(void)now;
	return ask_errors(nvml, gpu, GT_NVML_ERROR_CORRECTED, ret_value);
}

static enum gt_nvml_result ask_uncorrected(const struct gt_nvml_library *nvml,
					   struct gt_nvml_gpu *gpu, uint64_t now,
					   uint64_t *ret_value)
{
	(void)now;
	return ask_errors(nvml, gpu, GT_NVML_ERROR_UNCORRECTED, ret_value);
}

/* ---- links: kB/s ---- */

/* The rate since the last time: NVML has sums. There is none the first time. */
static enum gt_nvml_result ask_nvlink(const struct gt_nvml_library *nvml, struct gt_nvml_gpu *gpu,
				      int received, uint64_t now, uint64_t *ret_value)
{
	uint64_t sum, last = gpu->links[received], last_at = gpu->links_at[received];
	enum gt_nvml_result result = ask_field(
		nvml, gpu, received ? GT_NVML_FIELD_NVLINK_RECEIVED : GT_NVML_FIELD_NVLINK_SENT,
		GT_NVML_ALL_LINKS, &sum);

	if (result != GT_NVML_SUCCESS)
		return result;
	gpu->links[received] = sum;
	gpu->links_at[received] = now;
	if (!last_at || now <= last_at || sum < last)
		return GT_NVML_TIMEOUT;
	*ret_value = (uint64_t)((double)(sum - last) * 1.024e9 / (double)(now - last_at));
	return GT_NVML_SUCCESS;
}

static enum gt_nvml_result ask_nvlink_sent(const struct gt_nvml_library *nvml,
					   struct gt_nvml_gpu *gpu, uint64_t now,
					   uint64_t *ret_value)
{
	return ask_nvlink(nvml, gpu, 0, now, ret_value);
}

static enum gt_nvml_result ask_nvlink_received(const struct gt_nvml_library *nvml,
					       struct gt_nvml_gpu *gpu, uint64_t now,
					       uint64_t *ret_value)
{
	return ask_nvlink(nvml, gpu, 1, now, ret_value);
}

static enum gt_nvml_result ask_pcie(const struct gt_nvml_library *nvml, struct gt_nvml_gpu *gpu,
				    uint32_t counter, uint64_t now, uint64_t *ret_value)
{
	unsigned int kilobytes = 0;
	enum gt_nvml_result result;

	if (!nvml->nvmlDeviceGetPcieThroughput)
		return GT_NVML_NOT_SUPPORTED;
	if (gpu->pcie_at[counter] && now - gpu->pcie_at[counter] < PCIE_EVERY_NS)
		return GT_NVML_TIMEOUT;
	gpu->pcie_at[counter] = now;
	result = nvml->nvmlDeviceGetPcieThroughput(gpu->handle, counter, &kilobytes);
	*ret_value = kilobytes;
	return result;
}

static enum gt_nvml_result ask_pcie_sent(const struct gt_nvml_library *nvml,
					 struct gt_nvml_gpu *gpu, uint64_t now, uint64_t *ret_value)
{
	return ask_pcie(nvml, gpu, GT_NVML_TRAFFIC_SENT, now, ret_value);
}

static enum gt_nvml_result ask_pcie_received(const struct gt_nvml_library *nvml,
					     struct gt_nvml_gpu *gpu, uint64_t now,
					     uint64_t *ret_value)
{
	return ask_pcie(nvml, gpu, GT_NVML_TRAFFIC_RECEIVED, now, ret_value);
}

/* ---- any of them ---- */

static ask_fn *const askers[GT_HEALTH_READINGS_] = {
	[GT_HEALTH_POWER] = ask_power,
	[GT_HEALTH_ENERGY] = ask_energy,
	[GT_HEALTH_CLOCK_SM] = ask_clock_sm,
	[GT_HEALTH_CLOCK_MEMORY] = ask_clock_memory,
	[GT_HEALTH_TEMPERATURE] = ask_temperature,
	[GT_HEALTH_BUSY] = ask_busy,
	[GT_HEALTH_BUSY_MEMORY] = ask_busy_memory,
	[GT_HEALTH_ACTIVE_SM] = ask_active_sm,
	[GT_HEALTH_ACTIVE_WARPS] = ask_active_warps,
	[GT_HEALTH_ACTIVE_TENSOR] = ask_active_tensor,
	[GT_HEALTH_ACTIVE_DRAM] = ask_active_dram,
	[GT_HEALTH_THROTTLED_POWER] = ask_throttled_power,
	[GT_HEALTH_THROTTLED_THERMAL] = ask_throttled_thermal,
	[GT_HEALTH_THROTTLED_BRAKE] = ask_throttled_brake,
	[GT_HEALTH_THROTTLED_HARDWARE] = ask_throttled_hardware,
	[GT_HEALTH_THROTTLED_SYNC] = ask_throttled_sync,
	[GT_HEALTH_ECC_CORRECTED] = ask_corrected,
	[GT_HEALTH_ECC_UNCORRECTED] = ask_uncorrected,
	[GT_HEALTH_NVLINK_SENT] = ask_nvlink_sent,
	[GT_HEALTH_NVLINK_RECEIVED] = ask_nvlink_received,
	[GT_HEALTH_PCIE_SENT] = ask_pcie_sent,
	[GT_HEALTH_PCIE_RECEIVED] = ask_pcie_received,
};

static enum gt_nvml_result ask_outside_of_forks(const struct gt_nvml_library *nvml,
						struct gt_nvml_gpu *gpu,
						enum gt_health_reading reading, uint64_t now,
						uint64_t *ret_value)
{
	enum gt_nvml_result result;

	if (!gt_nvml_enter())
		return GT_NVML_TIMEOUT;
	result = askers[reading](nvml, gpu, now, ret_value);
	gt_nvml_leave();
	return result;
}

bool gt_nvml_read(const struct gt_nvml_library *nvml, struct gt_nvml_gpu *gpu,
		  enum gt_health_reading reading, uint64_t now, uint64_t *ret_value,
		  enum gt_nvml_result *ret_result)
{
	enum gt_nvml_result result;

	*ret_result = GT_NVML_SUCCESS;
	if (gpu->lacks >> reading & 1)
		return false;
	result = ask_outside_of_forks(nvml, gpu, reading, now, ret_value);
	if (result == GT_NVML_NOT_SUPPORTED || result == GT_NVML_NO_PERMISSION)
		gpu->lacks |= 1u << reading;
	else if (result != GT_NVML_TIMEOUT)
		*ret_result = result;
	return result == GT_NVML_SUCCESS;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "collectors/cupti/unified.h"

#include "collectors/cupti/buffers.h"
#include "collectors/cupti/contexts.h"
#include "collectors/cupti/library/quirks.h"
#include "collectors/cupti/library/refusal.h"

#define KIND CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER
#define BIT  ((uint64_t)1 << KIND)

/* The header of 11.8 has them all. A driver or GPU may have the first ones only. */
static const CUpti_ActivityUnifiedMemoryCounterKind counters[] = {
	CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD,
	CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH,
	CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT,
	CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT,
	CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THRASHING,
	CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THROTTLING,
	CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_REMOTE_MAP,
	CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOD,
};

#define COUNTERS (sizeof(counters) / sizeof(counters[0]))

static CUptiResult configure(size_t count)
{
	CUpti_ActivityUnifiedMemoryCounterConfig config[COUNTERS];

	for (size_t i = 0; i < count; i++)
		config[i] = (CUpti_ActivityUnifiedMemoryCounterConfig){
			.scope = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_ALL_DEVICES,
			.kind = counters[i],
			.enable = 1,
		};
	return gt_cupti.api.cuptiActivityConfigureUnifiedMemoryCounter(config, (uint32_t)count);
}

static CUptiResult enable(void)
{
	static const size_t counts[] = {COUNTERS, 4, 2};
	CUptiResult result = CUPTI_ERROR_NOT_SUPPORTED;

	if (!gt_cupti.api.cuptiActivityConfigureUnifiedMemoryCounter)
		return result;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		result = configure(counts[i]);
		if (result != CUPTI_ERROR_INVALID_PARAMETER && result != CUPTI_ERROR_NOT_SUPPORTED)
			break;
	}
	return result == CUPTI_SUCCESS ? gt_cupti.api.cuptiActivityEnable(KIND) : result;
}

/* CUPTI 13.0.1 answers NOT_READY while cuInit runs; it may be so for a moment behind it, too. */
static bool is_too_early(CUptiResult result)
{
	return result == CUPTI_ERROR_NOT_READY || result == CUPTI_ERROR_NOT_INITIALIZED;
}

static void attempt(void)
{
	CUptiResult result = atomic_load(&gt_cupti.kinds) & BIT ? CUPTI_SUCCESS : enable();

	atomic_store(&gt_cupti.unified_early, is_too_early(result) ? (int)result : 0);
	if (result == CUPTI_SUCCESS)
		atomic_fetch_or(&gt_cupti.kinds, BIT);
	else if (!is_too_early(result))
		atomic_store(&gt_cupti.unified_refused, (int)result);
	atomic_store(&gt_cupti.unified_waits, is_too_early(result));
}

/* Whether the driver is known to be initialized. Who came in the middle, behind another tool, knows
 * it by the first record. */
static bool is_ready(void)
{
	return atomic_load(&gt_cupti.init_finished) || gt_cupti.driver_was_up ||
	       (!gt_cupti.hears_init && gt_cupti_buffers_count().requested);
}

void gt_cupti_unified_enable(const struct gt_config *config)
{
	if (!gt_config_bool(config, GT_CONFIG_UNIFIED_MEMORY))
		return;
	if (is_ready())
		attempt();
	else
		atomic_store(&gt_cupti.unified_waits, true);
}

/* One thread at a time: who takes the flag. */
void gt_cupti_unified_retry(void)
{
	if (atomic_load_explicit(&gt_cupti.unified_waits, memory_order_relaxed) &&
	    atomic_exchange(&gt_cupti.unified_waits, false) && gt_cupti.api.cuptiActivityEnable)
		attempt();
}

void gt_cupti_unified_poll(void)
{
	if (is_ready())
		gt_cupti_unified_retry();
}

/* Without a context there was nothing to be recorded. */
void gt_cupti_unified_give_up(void)
{
	if (atomic_exchange(&gt_cupti.unified_waits, false) && gt_cupti_contexts_made())
		atomic_store(&gt_cupti.unified_refused, atomic_load(&gt_cupti.unified_early));
}

/* Some CUPTI take seconds for it: records that still come are outside of the window. */
void gt_cupti_unified_disable(void)
{
	bool is_slow = gt_cupti_has_quirk(gt_cupti.api.version, GT_QUIRK_UNIFIED_STOPS_SLOWLY);

	gt_cupti_unified_give_up();
	if (is_slow || !(atomic_load(&gt_cupti.kinds) & BIT))
		return;
	gt_cupti.api.cuptiActivityDisable(KIND);
	atomic_fetch_and(&gt_cupti.kinds, ~BIT);
}

bool gt_cupti_unified_refused(char *ret_why, size_t size)
{
	int result = atomic_exchange(&gt_cupti.unified_refused, 0);

	if (result)
		gt_cupti_refusal("CUPTI's counters of unified memory", result, ret_why, size);
	return result;
}

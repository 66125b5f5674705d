/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "collectors/cupti/kinds.h"

#include "collectors/cupti/internal.h"
#include "collectors/cupti/records/layout.h"
#include "core/config.h"

const struct gt_cupti_kind gt_cupti_kinds[GT_CUPTI_KIND_COUNT] = {
	{CUPTI_ACTIVITY_KIND_DEVICE, "DEVICE", GT_CUPTI_ALWAYS, true, 0},
	{CUPTI_ACTIVITY_KIND_CONTEXT, "CONTEXT", GT_CUPTI_ALWAYS, true, 0},
	{CUPTI_ACTIVITY_KIND_STREAM, "STREAM", GT_CUPTI_ALWAYS, true, 0},
	{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, "CONCURRENT_KERNEL", GT_CUPTI_ALWAYS, false, 0},
	{CUPTI_ACTIVITY_KIND_MEMCPY, "MEMCPY", GT_CUPTI_ALWAYS, false, 0},
	{CUPTI_ACTIVITY_KIND_MEMCPY2, "MEMCPY2", GT_CUPTI_ALWAYS, false, 0},
	{CUPTI_ACTIVITY_KIND_MEMSET, "MEMSET", GT_CUPTI_ALWAYS, false, 0},
	{CUPTI_ACTIVITY_KIND_OVERHEAD, "OVERHEAD", GT_CUPTI_ALWAYS, false, 0},
	{CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, "SYNCHRONIZATION", GT_CUPTI_WITH_SYNC, false, 0},
	{CUPTI_ACTIVITY_KIND_CUDA_EVENT, "CUDA_EVENT", GT_CUPTI_WITH_SYNC, false, 0},
	{CUPTI_ACTIVITY_KIND_MEMORY2, "MEMORY2", GT_CUPTI_WITH_MEMORY, false, 0},
	{CUPTI_ACTIVITY_KIND_MEMORY_POOL, "MEMORY_POOL", GT_CUPTI_WITH_MEMORY, false, 0},
	{(CUpti_ActivityKind)GT_CUPTI_KIND_HOST_NODE, "GRAPH_HOST_NODE", GT_CUPTI_WITH_SYNC, false,
	 GT_CUPTI_HOST_SINCE},
	{(CUpti_ActivityKind)GT_CUPTI_KIND_HOST_LAUNCH, "HOST_LAUNCH", GT_CUPTI_WITH_SYNC, false,
	 GT_CUPTI_HOST_SINCE},
};

static bool asks_for_memory(const struct gt_config *config, size_t i)
{
	return gt_cupti_kinds[i].when != GT_CUPTI_WITH_MEMORY ||
	       gt_config_bool(config, GT_CONFIG_MEMORY);
}

static bool exists(size_t i)
{
	return gt_cupti.api.version >= gt_cupti_kinds[i].since;
}

bool gt_cupti_kind_is_wanted(const struct gt_config *config, size_t i)
{
	return exists(i) && asks_for_memory(config, i) &&
	       (gt_cupti_kinds[i].when != GT_CUPTI_WITH_SYNC ||
		gt_config_bool(config, GT_CONFIG_SYNC));
}

/* Another tool's records of allocations stay its own. */
bool gt_cupti_kind_may_be_on(size_t i)
{
	return exists(i) && asks_for_memory(gt_cupti.config, i);
}

bool gt_cupti_kind_is_ours(size_t i)
{
	return asks_for_memory(gt_cupti.config, i);
}

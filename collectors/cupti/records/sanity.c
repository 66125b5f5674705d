/* SPDX-License-Identifier: Apache-2.0
 *
 * Plausibility of records, see the header. Pointers are tested (core/guest/peek.h), never followed.
 */
#include "collectors/cupti/records/sanity.h"

#include "collectors/cupti/records/layout.h"
#include "core/guest/peek.h"

#define MAX_DEVICE  1024u
#define MAX_THREADS 1024u

static bool kernel_is_sane(const void *record)
{
	const CUpti_ActivityKernel8 *r = record;
	uint64_t threads = (uint64_t)r->blockX * (uint64_t)r->blockY * (uint64_t)r->blockZ;

	return r->deviceId < MAX_DEVICE && r->gridX > 0 && r->gridY > 0 && r->gridZ > 0 &&
	       threads > 0 && threads <= MAX_THREADS && gt_peek_is_readable(r->name);
}

static bool memcpy_is_sane(const void *record)
{
	const CUpti_ActivityMemcpy5 *r = record;

	return r->deviceId < MAX_DEVICE && r->copyKind <= CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
}

static bool memset_is_sane(const void *record)
{
	const CUpti_ActivityMemset4 *r = record;

	return r->deviceId < MAX_DEVICE;
}

static bool graph_is_sane(const void *record)
{
	const CUpti_ActivityGraphTrace *r = record;

	return r->deviceId < MAX_DEVICE;
}

static bool host_node_is_sane(const void *record)
{
	const struct gt_cupti_host_node *r = record;

	return r->device < MAX_DEVICE;
}

static bool host_launch_is_sane(const void *record)
{
	const struct gt_cupti_host_launch *r = record;

	return r->device < MAX_DEVICE;
}

static bool pages_are_sane(const void *record)
{
	const CUpti_ActivityUnifiedMemoryCounter2 *r = record;

	return (uint32_t)r->counterKind < 64 && r->start && r->address;
}

static bool device_is_sane(const void *record)
{
	const CUpti_ActivityDevice4 *r = record;

	return r->id < MAX_DEVICE && r->computeCapabilityMajor < 100 &&
	       gt_peek_is_readable(r->name);
}

static bool (*const by_kind[])(const void *) = {
	[CUPTI_ACTIVITY_KIND_MEMCPY] = memcpy_is_sane,
	[CUPTI_ACTIVITY_KIND_MEMSET] = memset_is_sane,
	[CUPTI_ACTIVITY_KIND_KERNEL] = kernel_is_sane,
	[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL] = kernel_is_sane,
	[CUPTI_ACTIVITY_KIND_DEVICE] = device_is_sane,
	[CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER] = pages_are_sane,
	[CUPTI_ACTIVITY_KIND_GRAPH_TRACE] = graph_is_sane,
	[GT_CUPTI_KIND_HOST_NODE] = host_node_is_sane,
	[GT_CUPTI_KIND_HOST_LAUNCH] = host_launch_is_sane,
};

bool gt_cupti_is_sane(const void *record)
{
	uint32_t kind = (uint32_t)((const CUpti_Activity *)record)->kind;

	if (kind >= sizeof(by_kind) / sizeof(by_kind[0]) || !by_kind[kind])
		return true;
	return by_kind[kind](record);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. The records name neither a stream (the field of that name is invalid) nor a call
 * nor a kernel.
 */
#include "collectors/cupti/records/pages.h"

#include <string.h>

#include "collectors/cupti/records/layout.h"
#include "collectors/cupti/records/stamps.h"

_Static_assert((int)GT_UNIFIED_DTOD ==
		       (int)CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOD,
	       "kinds");
_Static_assert((int)GT_UNIFIED_THROTTLING ==
		       (int)CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THROTTLING,
	       "kinds");

/* Since 12.8 the record also has a mask of more devices than fit into srcId. */
#define PROCESSORS_SINCE 26u
#define PROCESSORS_AT    64

static uint16_t processor_of(uint32_t id)
{
	if (id == CUPTI_UNIFIED_MEMORY_CPU_DEVICE_ID)
		return GT_UNIFIED_CPU;
	return id < GT_UNIFIED_NONE ? (uint16_t)id : GT_UNIFIED_NONE;
}

static uint64_t devices_of(const struct gt_translate *t,
			   const CUpti_ActivityUnifiedMemoryCounter2 *r)
{
	uint64_t devices = r->srcId;

	if (t->version >= PROCESSORS_SINCE)
		memcpy(&devices, (const char *)r + PROCESSORS_AT, sizeof(devices));
	return devices;
}

static struct gt_unified_facts facts_of(const struct gt_translate *t,
					const CUpti_ActivityUnifiedMemoryCounter2 *r)
{
	struct gt_unified_facts facts = {.address = r->address,
					 .value = r->value,
					 .from = processor_of(r->srcId),
					 .to = GT_UNIFIED_NONE,
					 .kind = (uint8_t)r->counterKind};

	switch (facts.kind) {
	case GT_UNIFIED_THRASHING:
		facts.devices = devices_of(t, r);
		facts.on_cpu = (r->flags & CUPTI_ACTIVITY_FLAG_THRASHING_IN_CPU) != 0;
		facts.from = GT_UNIFIED_NONE;
		break;
	case GT_UNIFIED_THROTTLING:
		if (r->flags & CUPTI_ACTIVITY_FLAG_THROTTLING_IN_CPU)
			facts.from = GT_UNIFIED_CPU;
		facts.value = 0;
		break;
	case GT_UNIFIED_CPU_FAULT:
		facts.from = GT_UNIFIED_CPU;
		facts.why = (uint8_t)r->flags;
		break;
	case GT_UNIFIED_GPU_FAULT:
		facts.why = (uint8_t)r->flags;
		break;
	default:
		facts.to = processor_of(r->dstId);
		facts.why = (uint8_t)r->flags;
		break;
	}
	/* The host's id is 0 here, not CPU_DEVICE_ID (CUPTI 13.0.1 on an H200). */
	if (facts.kind == GT_UNIFIED_HTOD)
		facts.from = GT_UNIFIED_CPU;
	else if (facts.kind == GT_UNIFIED_DTOH)
		facts.to = GT_UNIFIED_CPU;
	return facts;
}

void gt_translate_pages(struct gt_translate *t, const void *record)
{
	const CUpti_ActivityUnifiedMemoryCounter2 *r = record;
	uint32_t kind = (uint32_t)r->counterKind;
	struct gt_event event = {.kind = GT_EVENT_RANGE};

	if (!kind || kind >= GT_UNIFIED_KIND_COUNT_) {
		gt_ledger_add(t->ledger, GT_LEDGER_RECORDS_UNKNOWN, 1);
		return;
	}
	gt_ledger_add(t->ledger, GT_LEDGER_RECORDS_UNIFIED, 1);
	if (!gt_stamps_set(t, &event, r->start,
			   gt_unified_lasts(kind) && r->end > r->start ? r->end : r->start))
		return;
	event.range = (struct gt_range_event){
		.name = gt_intern_cstr(t->strings, gt_unified_name(kind)),
		.is_unified = true,
		.unified = facts_of(t, r),
		.detached = true,
	};
	event.tid = gt_unified_row(&event.range.unified);
	t->emit(t->context, &event);
}

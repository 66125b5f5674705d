/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "collectors/cupti/records/pools.h"

#include "collectors/cupti/records/layout.h"
#include "collectors/cupti/records/stamps.h"
#include "core/guest/text.h"

/* The place of a pool, made when new; NULL: there are too many. */
static struct gt_translate_pool *place_of(struct gt_translate *t, uint32_t device, uint64_t address)
{
	for (uint32_t i = 0; i < GT_TRANSLATE_POOLS; i++) {
		struct gt_translate_pool *pool = &t->pools[i];

		if (!pool->address)
			*pool = (struct gt_translate_pool){.address = address, .device = device};
		if (pool->address == address)
			return pool;
	}
	return NULL;
}

static void put_reserved(struct gt_translate *t, uint32_t device, uint64_t stamp)
{
	struct gt_event event = {.kind = GT_EVENT_COUNTER, .place.device = device};
	uint64_t bytes = 0;
	char name[32];

	if (!gt_stamps_set(t, &event, stamp, stamp))
		return;
	for (uint32_t i = 0; i < GT_TRANSLATE_POOLS; i++)
		if (t->pools[i].device == device)
			bytes += t->pools[i].bytes;
	gt_text_format(name, sizeof(name), "GPU %u memory", device);
	event.counter = (struct gt_counter_event){
		.name = gt_intern_cstr(t->strings, name),
		.series = gt_intern_cstr(t->strings, "pool reserved"),
		.value = (int64_t)bytes,
		.on_gpu = true,
	};
	t->emit(t->context, &event);
}

static void set_bytes(struct gt_translate *t, uint32_t device, uint64_t address, uint64_t bytes,
		      uint64_t stamp)
{
	struct gt_translate_pool *pool = place_of(t, device, address);

	if (!pool || pool->bytes == bytes)
		return;
	pool->bytes = bytes;
	put_reserved(t, device, stamp);
}

/* A pool of another process holds what that one has reserved. */
void gt_translate_pool_use(struct gt_translate *t, const void *record)
{
	const CUpti_ActivityMemory3 *r = record;

	gt_ledger_add(t->ledger, GT_LEDGER_RECORDS_MEMORY, 1);
	if (r->memoryPoolConfig.memoryPoolType == CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL &&
	    r->memoryPoolConfig.address)
		set_bytes(t, r->deviceId, r->memoryPoolConfig.address,
			  r->memoryPoolConfig.pool.size, r->timestamp);
}

/* What a destroyed pool still holds goes with its last allocation, which has a record. */
void gt_translate_pool(struct gt_translate *t, const void *record)
{
	const CUpti_ActivityMemoryPool2 *r = record;

	gt_ledger_add(t->ledger, GT_LEDGER_RECORDS_MEMORY, 1);
	if (r->memoryPoolType == CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL && r->address)
		set_bytes(t, r->deviceId, r->address, r->size, r->timestamp);
}

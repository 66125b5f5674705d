/* SPDX-License-Identifier: Apache-2.0
 *
 * Handlers of the payload and counter extensions. Application threads; payloads are copied here and
 * decoded later (collectors/nvtx/decode.c).
 */
#include <stdatomic.h>
#include <string.h>

#include "collectors/nvtx/internal.h"
#include "collectors/nvtx/payload.h"
#include "collectors/nvtx/text.h"
#include "core/guest/clock.h"

/* Samples or events read from one batch, at most. */
#define BATCH_MAX 4096u

static uint64_t schema_register(nvtxDomainHandle_t domain,
				const nvtxPayloadSchemaAttr_t *attributes)
{
	return gt_nvtx_schema_add(gt_nvtx_domain(domain), attributes);
}

static uint64_t enum_register(nvtxDomainHandle_t domain, const nvtxPayloadEnumAttr_t *attributes)
{
	return gt_nvtx_enum_add(gt_nvtx_domain(domain), attributes);
}

/* ---- ranges and marks with only a payload ---- */

static struct gt_nvtx_call call_of(nvtxDomainHandle_t domain, const nvtxPayloadData_t *payloads,
				   size_t count)
{
	return (struct gt_nvtx_call){.domain = gt_nvtx_domain(domain),
				     .payloads = payloads,
				     .payload_count = payloads ? count : 0};
}

static void mark_payload(nvtxDomainHandle_t domain, const nvtxPayloadData_t *payloads, size_t count)
{
	struct gt_nvtx_call call = call_of(domain, payloads, count);

	call.op = GT_NVTX_MARK;
	gt_nvtx_write(&call);
}

static int range_push_payload(nvtxDomainHandle_t domain, const nvtxPayloadData_t *payloads,
			      size_t count)
{
	struct gt_nvtx_call call = call_of(domain, payloads, count);

	return gt_nvtx_push(&call);
}

static int range_pop_payload(nvtxDomainHandle_t domain, const nvtxPayloadData_t *payloads,
			     size_t count)
{
	struct gt_nvtx_call call = call_of(domain, payloads, count);

	return gt_nvtx_pop(&call);
}

static nvtxRangeId_t range_start_payload(nvtxDomainHandle_t domain,
					 const nvtxPayloadData_t *payloads, size_t count)
{
	struct gt_nvtx_call call = call_of(domain, payloads, count);

	return gt_nvtx_start(&call);
}

static void range_end_payload(nvtxDomainHandle_t domain, nvtxRangeId_t id,
			      const nvtxPayloadData_t *payloads, size_t count)
{
	struct gt_nvtx_call call = call_of(domain, payloads, count);

	gt_nvtx_end(&call, id);
}

/* NVTX 3.2.0 and 3.2.1 record nothing unless a tool implements this (REQ-77). */
static uint8_t domain_is_enabled(nvtxDomainHandle_t domain)
{
	(void)domain;
	return 1;
}

/* ---- deferred events ---- */

static int64_t timestamp_get(void)
{
	return (int64_t)gt_clock_now();
}

static void event_submit(nvtxDomainHandle_t domain, const nvtxPayloadData_t *payloads, size_t count)
{
	struct gt_nvtx_call call = call_of(domain, payloads, count);

	call.op = GT_NVTX_DEFERRED;
	gt_nvtx_write(&call);
}

static void event_batch_submit(nvtxDomainHandle_t domain, const nvtxEventBatch_t *batch)
{
	const struct gt_nvtx_schema *schema;

	if (!batch || !batch->events)
		return;
	schema = gt_nvtx_schema_find(gt_nvtx_domain(domain), batch->eventSchemaId);
	if (!schema || !schema->static_size) {
		gt_nvtx_count_wrong();
		return;
	}
	for (size_t i = 0; i < batch->size / schema->static_size && i < BATCH_MAX; i++) {
		nvtxPayloadData_t payload = {batch->eventSchemaId, schema->static_size,
					     (const char *)batch->events + i * schema->static_size};

		event_submit(domain, &payload, 1);
	}
}

/* ---- counters ---- */

static _Atomic uint64_t last_counter;

static uint64_t counter_register(nvtxDomainHandle_t domain, const nvtxCounterAttr_t *attributes)
{
	struct gt_nvtx_counter *counter;
	struct gt_nvtx_key key = {.kind = GT_NVTX_COUNTER, .domain = gt_nvtx_domain(domain)};
	bool cut;

	if (!attributes || attributes->structSize < sizeof(*attributes))
		return NVTX_COUNTER_ID_NONE;
	key.number = attributes->counterId;
	key.text = attributes->name ? attributes->name : "counter";
	key.length = gt_nvtx_text_length(key.text, GT_NVTX_NAME_MAX, &cut);
	if (key.number && gt_nvtx_find(&key))
		return key.number;
	if (!key.number)
		key.number = NVTX_COUNTER_ID_DYNAMIC_START +
			     atomic_fetch_add_explicit(&last_counter, 1, memory_order_relaxed);
	counter = gt_nvtx_registry_room(sizeof(*counter));
	if (!counter)
		return NVTX_COUNTER_ID_NONE;
	counter->schema = attributes->schemaId;
	return gt_nvtx_add(&key, counter) ? key.number : NVTX_COUNTER_ID_NONE;
}

/* The counter is stored in place of a name. NULL: not registered. */
static const struct gt_nvtx_counter *find_counter(struct gt_nvtx_call *call, uint64_t id)
{
	struct gt_nvtx_key key = {
		.kind = GT_NVTX_COUNTER, .domain = call->domain, .number = id, .text = ""};
	const struct gt_nvtx_object *object = gt_nvtx_find(&key);

	if (!object) {
		gt_nvtx_count_wrong();
		return NULL;
	}
	call->op = GT_NVTX_SAMPLE;
	call->string = gt_nvtx_reference(object);
	return object->body;
}

static void counter_sample_int64(nvtxDomainHandle_t domain, uint64_t id, int64_t value)
{
	struct gt_nvtx_call call = {.domain = gt_nvtx_domain(domain)};

	call.value_type = GT_NVTX_SIGNED;
	call.value = (uint64_t)value;
	if (find_counter(&call, id))
		gt_nvtx_write(&call);
}

static void counter_sample_float64(nvtxDomainHandle_t domain, uint64_t id, double value)
{
	struct gt_nvtx_call call = {.domain = gt_nvtx_domain(domain)};

	call.value_type = GT_NVTX_REAL;
	memcpy(&call.value, &value, sizeof(value));
	if (find_counter(&call, id))
		gt_nvtx_write(&call);
}

static void sample_at(uint32_t domain, uint64_t id, const void *values, size_t size, uint64_t time)
{
	struct gt_nvtx_call call = {.domain = domain, .time = time};
	const struct gt_nvtx_counter *counter = find_counter(&call, id);
	nvtxPayloadData_t payload = {.size = size, .payload = values};

	if (!counter || !values || !size)
		return;
	payload.schemaId = counter->schema;
	call.payloads = &payload;
	call.payload_count = 1;
	gt_nvtx_write(&call);
}

static void counter_sample(nvtxDomainHandle_t domain, uint64_t id, const void *values, size_t size)
{
	sample_at(gt_nvtx_domain(domain), id, values, size, 0);
}

static void counter_sample_no_value(nvtxDomainHandle_t domain, uint64_t id, uint8_t reason)
{
	if (reason == NVTX_COUNTER_SAMPLE_ZERO)
		counter_sample_int64(domain, id, 0);
}

/* Time stamps are used if they come from timestamp_get, one per sample. */
static uint64_t batch_time(const nvtxCounterBatch_t *batch, size_t i)
{
	if (!batch->timestamps || batch->timestampsSize / sizeof(int64_t) <= i ||
	    batch->timestamps[i] <= 0 || (uint64_t)batch->timestamps[i] > gt_clock_now())
		return 0;
	return (uint64_t)batch->timestamps[i];
}

static void counter_batch_submit(nvtxDomainHandle_t handle, const nvtxCounterBatch_t *batch)
{
	struct gt_nvtx_call call = {.domain = gt_nvtx_domain(handle)};
	const struct gt_nvtx_counter *counter;
	const struct gt_nvtx_schema *schema;
	size_t width;

	if (!batch || !batch->counters)
		return;
	counter = find_counter(&call, batch->counterId);
	if (!counter)
		return;
	schema = gt_nvtx_schema_find(call.domain, counter->schema);
	width = schema ? schema->static_size : gt_nvtx_type_size(counter->schema);
	for (size_t i = 0; width && i < batch->countersSize / width && i < BATCH_MAX; i++)
		sample_at(call.domain, batch->counterId, (const char *)batch->counters + i * width,
			  width, batch_time(batch, i));
}

const struct gt_nvtx_slot gt_nvtx_payload_slots[] = {
	GT_NVTX_SLOT(NVTX3EXT_CBID_nvtxPayloadSchemaRegister, schema_register),
	GT_NVTX_SLOT(NVTX3EXT_CBID_nvtxPayloadEnumRegister, enum_register),
	GT_NVTX_SLOT(NVTX3EXT_CBID_nvtxMarkPayload, mark_payload),
	GT_NVTX_SLOT(NVTX3EXT_CBID_nvtxRangePushPayload, range_push_payload),
	GT_NVTX_SLOT(NVTX3EXT_CBID_nvtxRangePopPayload, range_pop_payload),
	GT_NVTX_SLOT(NVTX3EXT_CBID_nvtxRangeStartPayload, range_start_payload),
	GT_NVTX_SLOT(NVTX3EXT_CBID_nvtxRangeEndPayload, range_end_payload),
	GT_NVTX_SLOT(NVTX3EXT_CBID_nvtxDomainIsEnabled, domain_is_enabled),
	GT_NVTX_SLOT(NVTX3EXT_CBID_nvtxTimestampGet, timestamp_get),
	GT_NVTX_SLOT(NVTX3EXT_CBID_nvtxEventSubmit, event_submit),
	GT_NVTX_SLOT(NVTX3EXT_CBID_nvtxEventBatchSubmit, event_batch_submit),
	{0},
};

const struct gt_nvtx_slot gt_nvtx_counter_slots[] = {
	GT_NVTX_SLOT(NVTX3EXT_CBID_nvtxCounterRegister, counter_register),
	GT_NVTX_SLOT(NVTX3EXT_CBID_nvtxCounterSampleInt64, counter_sample_int64),
	GT_NVTX_SLOT(NVTX3EXT_CBID_nvtxCounterSampleFloat64, counter_sample_float64),
	GT_NVTX_SLOT(NVTX3EXT_CBID_nvtxCounterSample, counter_sample),
	GT_NVTX_SLOT(NVTX3EXT_CBID_nvtxCounterSampleNoValue, counter_sample_no_value),
	GT_NVTX_SLOT(NVTX3EXT_CBID_nvtxCounterBatchSubmit, counter_batch_submit),
	{0},
};

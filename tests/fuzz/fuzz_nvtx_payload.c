/* SPDX-License-Identifier: Apache-2.0
 *
 * Arbitrary bytes as a schema and a payload: registered, copied and decoded as the program's would
 * be.
 *
 *   byte 0       schema type; byte 1: how many entries; byte 2: packing; byte 3: stated size
 *   then 6 bytes an entry: flags (2), type (1, over 200: a schema registered before), detail,
 * offset, name; the rest is the payload
 */
#include "collectors/nvtx/payload.h"
#include "tests/fuzz/fuzz.h"

/* The table itself, to empty it between inputs: a process has one that only grows. */
#include "collectors/nvtx/registry.c"

#include <stdlib.h>

static uint64_t
	inner[4]; /* two schemas, one of which contains the other, a union, an enumeration */

static uint64_t add(uint64_t type, const nvtxPayloadSchemaEntry_t *entries, size_t count,
		    size_t size)
{
	nvtxPayloadSchemaAttr_t attributes = {
		.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
			     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
			     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
			     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE,
		.type = type,
		.entries = entries,
		.numEntries = count,
		.payloadStaticSize = size,
	};

	return gt_nvtx_schema_add(0, &attributes);
}

static void empty_registry(void)
{
	struct registry *r = get();

	memset(r->bucket, 0, sizeof(r->bucket));
	memset(r->arena, 0, r->used);
	r->used = ALIGNMENT;
}

static void add_inner(void)
{
	nvtxPayloadSchemaEntry_t entries[2] = {{.type = NVTX_PAYLOAD_ENTRY_TYPE_INT32, .name = "a"},
					       {.type = NVTX_PAYLOAD_ENTRY_TYPE_FLOAT16}};
	nvtxPayloadEnum_t values[2] = {{"one", 1, 1}, {"two", 2, 1}};
	nvtxPayloadEnumAttr_t attributes = {
		.fieldMask = NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES |
			     NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES |
			     NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE,
		.entries = values,
		.numEntries = 2,
		.sizeOfEnum = 4,
	};

	if (gt_nvtx_registry_start())
		abort();
	empty_registry();
	inner[0] = add(NVTX_PAYLOAD_SCHEMA_TYPE_STATIC, entries, 2, 8);
	entries[0].type = inner[0];
	inner[1] = add(NVTX_PAYLOAD_SCHEMA_TYPE_DYNAMIC, entries, 2, 0);
	inner[2] = add(NVTX_PAYLOAD_SCHEMA_TYPE_UNION, entries, 2, 8);
	inner[3] = gt_nvtx_enum_add(0, &attributes);
}

static size_t read_entries(const uint8_t *data, size_t size, nvtxPayloadSchemaEntry_t *entries,
			   size_t count)
{
	static const char *const names[] = {NULL, "", "x", "a longer name"};
	size_t used = 0;

	for (size_t i = 0; i < count && used + 6 <= size; i++, used += 6) {
		const uint8_t *e = data + used;

		entries[i].flags = (uint64_t)e[0] | (uint64_t)e[1] << 8;
		entries[i].type = e[2] > 200 ? inner[e[2] % 4] : e[2];
		entries[i].arrayOrUnionDetail = e[3];
		entries[i].offset = e[4];
		entries[i].name = names[e[5] % 4];
	}
	return used;
}

static void ignore_number(void *context, const struct gt_nvtx_number *number)
{
	*(double *)context += number->is_real ? number->real : (double)number->integer;
}

static void decode(const char *blobs, size_t size)
{
	struct gt_nvtx_decoded decoded;
	double sum = 0;

	gt_nvtx_decode(0, blobs, size, &decoded);
	if (strnlen(decoded.text, sizeof(decoded.text)) == sizeof(decoded.text) ||
	    strnlen(decoded.message, sizeof(decoded.message)) == sizeof(decoded.message))
		abort();
	gt_nvtx_decode_numbers(0, blobs, size, ignore_number, &sum);
}

/* As the program would have it: exactly @size bytes, or, where it does not say how many there are,
 * as many as its schema or a terminated string may need. The caller frees. */
static char *place_payload(const uint8_t *data, size_t size, bool has_size)
{
	char *place = calloc(1, (has_size ? 0 : GT_NVTX_BLOB_MAX) + size + 1);

	if (!place)
		abort();
	memcpy(place, data, size);
	return has_size ? realloc(place, size ? size : 1) : place;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	nvtxPayloadSchemaEntry_t entries[64] = {0};
	_Alignas(8) char blobs[GT_NVTX_PAYLOAD_MAX];
	nvtxPayloadData_t payload = {0};
	size_t count, used;
	char *place;

	if (size < 4)
		return 0;
	add_inner();
	count = 1 + data[1] % 64;
	used = 4 + read_entries(data + 4, size - 4, entries, count);
	payload.schemaId = add(data[0] % 6, entries, count, data[2] & 1 ? size - used : 0);
	place = place_payload(data + used, size - used, !(data[3] & 1));
	payload.payload = place;
	payload.size = data[3] & 1 ? SIZE_MAX : size - used;
	if (data[3] & 2) /* no schema at all: a predefined type, or raw */
		payload.schemaId = data[3];
	used = gt_nvtx_payload_copy(0, &payload, 1, blobs, sizeof(blobs));
	free(place);
	decode(blobs, used);
	/* and what never was a blob */
	used = size < sizeof(blobs) ? size : sizeof(blobs);
	memcpy(blobs, data, used);
	decode(blobs, used);
	return 0;
}

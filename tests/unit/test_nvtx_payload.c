/* SPDX-License-Identifier: Apache-2.0
 *
 * Payloads of NVTX: schemas, their entries as text and numbers, counters.
 */
#include "tests/unit/nvtx_fixture.h" /* first: it has the bodies of the toolkit's headers */

#include <criterion/criterion.h>
#include <stdio.h>
#include <sys/mman.h>

#include "collectors/nvtx/payload.h"
#include "collectors/nvtx/registry.h"

static uint64_t schema_of(const nvtxPayloadSchemaEntry_t *entries, size_t count, size_t size)
{
	nvtxPayloadSchemaAttr_t attributes = {
		.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
			     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
			     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
			     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE,
		.type = size ? NVTX_PAYLOAD_SCHEMA_TYPE_STATIC : NVTX_PAYLOAD_SCHEMA_TYPE_DYNAMIC,
		.entries = entries,
		.numEntries = count,
		.payloadStaticSize = size,
	};

	return nvtxPayloadSchemaRegister(NULL, &attributes);
}

static struct gt_nvtx_decoded decode_mark(uint64_t schema, const void *data, size_t size)
{
	nvtxPayloadData_t payload = {schema, size, data};
	const struct gt_nvtx_record *record;
	struct gt_nvtx_decoded decoded;

	nvtxMarkPayload(NULL, &payload, 1);
	record = next();
	cr_assert_eq(record->head.flags, GT_NVTX_MARK);
	gt_nvtx_decode(0, record->data + gt_nvtx_payload_offset(record->text_length),
		       record->payload_length, &decoded);
	return decoded;
}

Test(nvtx, payloads_become_text)
{
	struct {
		const char *op;
		uint64_t bytes;
		int32_t root;
		uint32_t kind;
		double share;
	} values = {"sum", 1 << 20, -3, 3, 1.5e-7};
	nvtxPayloadEnum_t flags[] = {{"fast", 1, 1}, {"safe", 2, 1}};
	nvtxPayloadEnumAttr_t enumeration = {.fieldMask = NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES |
							  NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES |
							  NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE,
					     .entries = flags,
					     .numEntries = 2,
					     .sizeOfEnum = 4};
	nvtxPayloadSchemaEntry_t entries[] = {
		{.type = NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, .name = "op"},
		{.type = NVTX_PAYLOAD_ENTRY_TYPE_UINT64, .name = "bytes"},
		{.type = NVTX_PAYLOAD_ENTRY_TYPE_INT32, .name = "root"},
		{.name = "kind"},
		{.type = NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE, .name = "share"},
	};

	start_session(1 << 16);
	entries[3].type = nvtxPayloadEnumRegister(NULL, &enumeration);
	cr_assert_str_eq(
		decode_mark(schema_of(entries, 5, sizeof(values)), &values, sizeof(values)).text,
		"op=sum bytes=1048576 root=-3 kind=fast|safe share=1.5e-7");
}

Test(nvtx, arrays_take_their_length_from_an_entry)
{
	uint32_t values[] = {3, 10, 20, 30};
	nvtxPayloadSchemaEntry_t entries[] = {
		{.type = NVTX_PAYLOAD_ENTRY_TYPE_UINT32, .name = "n"},
		{.type = NVTX_PAYLOAD_ENTRY_TYPE_UINT32,
		 .name = "shape",
		 .flags = NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_LENGTH_INDEX,
		 .arrayOrUnionDetail = 0},
	};
	uint64_t schema;

	start_session(1 << 16);
	schema = schema_of(entries, 2, 0);
	cr_assert_str_eq(decode_mark(schema, values, sizeof(values)).text, "n=3 shape=[10,20,30]");
	values[0] = 0xffffffff; /* more than there is */
	cr_assert_str_eq(decode_mark(schema, values, sizeof(values)).text,
			 "n=4294967295 shape=[10,20,30,...]");
}

static void add_number(void *context, const struct gt_nvtx_number *number)
{
	char *text = context;

	sprintf(text + strlen(text), "%s=%ld ", number->name, (long)number->integer);
}

static void expect_numbers(uint64_t schema, const void *data, size_t size, const char *wanted)
{
	nvtxPayloadData_t payload = {schema, size, data};
	const struct gt_nvtx_record *record;
	char text[256] = "";

	nvtxMarkPayload(NULL, &payload, 1);
	record = next();
	gt_nvtx_decode_numbers(0, record->data + gt_nvtx_payload_offset(record->text_length),
			       record->payload_length, add_number, text);
	cr_assert_str_eq(text, wanted);
}

#define SHOWN "[5,5,5,5,5,5,5,5,5,5,5,5,5,5,5,5"

Test(nvtx, what_follows_an_array_is_not_read_from_inside_it)
{
	uint32_t values[300];
	nvtxPayloadSchemaEntry_t entries[] = {
		{.type = NVTX_PAYLOAD_ENTRY_TYPE_UINT32, .name = "n"},
		{.type = NVTX_PAYLOAD_ENTRY_TYPE_UINT32,
		 .name = "shape",
		 .flags = NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_LENGTH_INDEX,
		 .arrayOrUnionDetail = 0},
		{.type = NVTX_PAYLOAD_ENTRY_TYPE_UINT32, .name = "after"},
	};
	uint64_t schema;

	start_session(1 << 16);
	schema = schema_of(entries, 3, 0);
	for (int i = 0; i < 300; i++)
		values[i] = 5;
	values[0] = 298; /* more than is copied */
	cr_assert_str_eq(decode_mark(schema, values, sizeof(values)).text,
			 "n=298 shape=" SHOWN ",...]");
	expect_numbers(schema, values, sizeof(values), "n=298 ");
	values[0] = 20;
	values[21] = 9;
	cr_assert_str_eq(decode_mark(schema, values, 22 * 4).text,
			 "n=20 shape=" SHOWN ",...] after=9");
	expect_numbers(schema, values, 22 * 4, "n=20 after=9 ");
	entries[1].flags = NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_ZERO_TERMINATED;
	schema = schema_of(entries, 3, 0);
	values[20] = 0;
	cr_assert_str_eq(decode_mark(schema, values, 22 * 4).text, "n=20 shape=" SHOWN "] after=9");
	values[2] = 0;
	values[3] = 7;
	cr_assert_str_eq(decode_mark(schema, values, 22 * 4).text, "n=20 shape=[5] after=7");
}

Test(nvtx, entries_without_a_place_lie_where_c_puts_them)
{
	struct {
		char tag;
		struct {
			uint16_t x, y;
		} pair;
		char other;
		void *pointer;
		char last;
		const char *name;
	} values = {1, {2, 3}, 4, (void *)0x50, 6, (const char *)0x70};
	nvtxPayloadSchemaEntry_t pair[] = {
		{.type = NVTX_PAYLOAD_ENTRY_TYPE_UINT16, .name = "x"},
		{.type = NVTX_PAYLOAD_ENTRY_TYPE_UINT16, .name = "y"},
	};
	nvtxPayloadSchemaEntry_t entries[] = {
		{.type = NVTX_PAYLOAD_ENTRY_TYPE_UINT8, .name = "tag"},
		{.name = "pair"},
		{.type = NVTX_PAYLOAD_ENTRY_TYPE_UINT8, .name = "other"},
		{.type = NVTX_PAYLOAD_ENTRY_TYPE_UINT16,
		 .name = "pointer",
		 .flags = NVTX_PAYLOAD_ENTRY_FLAG_POINTER},
		{.type = NVTX_PAYLOAD_ENTRY_TYPE_UINT8, .name = "last"},
		{.type = NVTX_PAYLOAD_ENTRY_TYPE_CSTRING,
		 .flags = NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE},
	};
	struct gt_nvtx_decoded decoded;

	start_session(1 << 16);
	entries[1].type = schema_of(pair, 2, sizeof(values.pair));
	decoded = decode_mark(schema_of(entries, 6, sizeof(values)), &values, sizeof(values));
	cr_assert_str_eq(decoded.text, "tag=1 pair={x=2 y=3} other=4 pointer=0x50 last=6");
	cr_assert_str_eq(decoded.message, "0x70");
}

/* The page after the payload is not mapped. */
Test(nvtx, a_payload_that_lies_about_its_size_is_cut_where_memory_ends)
{
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *end = pages + 4096;
	uint64_t wild = 0x10;
	nvtxPayloadSchemaEntry_t entry = {.type = NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, .name = "s"};

	start_session(1 << 16);
	cr_assert_eq(mprotect(end, 4096, PROT_NONE), 0);
	memset(end - 4, 'z', 4);
	cr_assert_str_eq(decode_mark(NVTX_TYPE_PAYLOAD_SCHEMA_RAW, end - 4, 4096).text,
			 "0x7a7a7a7a");
	cr_assert_str_eq(decode_mark(NVTX_TYPE_PAYLOAD_SCHEMA_RAW, end - 4, SIZE_MAX).text, "");
	cr_assert_str_eq(decode_mark(schema_of(&entry, 1, 8), &wild, 8).text, "s=0x10");
	cr_assert_str_eq(decode_mark(12345678901u, &wild, 8).text, "0x1000000000000000");
	wild = UINT64_MAX; /* the last byte of the last page */
	cr_assert_str_eq(decode_mark(schema_of(&entry, 1, 8), &wild, 8).text,
			 "s=0xffffffffffffffff");
}

Test(nvtx, the_message_of_an_event_comes_from_its_payload)
{
	nvtxPayloadSchemaEntry_t entries[] = {
		{.type = NVTX_PAYLOAD_ENTRY_TYPE_CSTRING,
		 .flags = NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE,
		 .arrayOrUnionDetail = 4},
		{.type = NVTX_PAYLOAD_ENTRY_TYPE_UINT8, .name = "n"},
	};
	struct gt_nvtx_decoded decoded;

	start_session(1 << 16);
	decoded = decode_mark(schema_of(entries, 2, 5), "name\007", 5);
	cr_assert_str_eq(decoded.message, "name");
	cr_assert_str_eq(decoded.text, "n=7");
}

Test(nvtx, what_is_hidden_still_names_and_times_its_event)
{
	struct {
		int64_t time;
		char name[4];
		uint32_t n;
	} values = {77, "name", 7};
	nvtxPayloadSchemaEntry_t entries[] = {
		{.type = NVTX_PAYLOAD_ENTRY_TYPE_INT64,
		 .name = "time",
		 .flags = NVTX_PAYLOAD_ENTRY_FLAG_TIMESTAMP | NVTX_PAYLOAD_ENTRY_FLAG_HIDE},
		{.type = NVTX_PAYLOAD_ENTRY_TYPE_CSTRING,
		 .flags = NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE | NVTX_PAYLOAD_ENTRY_FLAG_HIDE,
		 .arrayOrUnionDetail = 4},
		{.type = NVTX_PAYLOAD_ENTRY_TYPE_UINT32, .name = "n"},
	};
	struct gt_nvtx_decoded decoded;

	start_session(1 << 16);
	decoded = decode_mark(schema_of(entries, 3, sizeof(values)), &values, sizeof(values));
	cr_assert_str_eq(decoded.message, "name");
	cr_assert_str_eq(decoded.text, "n=7");
	cr_assert(decoded.has_times && decoded.begin == 77);
}

Test(nvtx, domains_are_enabled_and_counters_known)
{
	nvtxCounterAttr_t attributes = {.structSize = sizeof(attributes),
					.schemaId = NVTX_PAYLOAD_ENTRY_TYPE_UINT16,
					.name = "queue"};
	uint16_t sample = 40000;
	const struct gt_nvtx_record *record;
	uint64_t id;

	start_session(1 << 16);
	cr_assert_eq(nvtxDomainIsEnabled(NULL), 1);
	id = nvtxCounterRegister(NULL, &attributes);
	cr_assert_neq(id, NVTX_COUNTER_ID_NONE);
	nvtxCounterSampleInt64(NULL, id, -5);
	record = next();
	cr_assert_eq((int64_t)record->value, -5);
	cr_assert_str_eq(gt_nvtx_at(record->string)->text, "queue");
	nvtxCounterSample(NULL, id, &sample, sizeof(sample));
	cr_assert_gt(next()->payload_length, 0);
	nvtxCounterSampleInt64(NULL, id + 1, 1);
	cr_assert_null(next());
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * The NVTX injection: the toolkit's headers in this program call the handlers, the records are read
 * back from the ring of the thread.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* The headers' own code, which finds a tool in a symbol of the program, set below. */
#include <nvtx3/nvToolsExtCuda.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <nvtx3/nvToolsExtCounters.h>

#include "collectors/call/call.h"
#include "collectors/call/records.h"
#include "collectors/nvtx/early.h"
#include "collectors/nvtx/nvtx.h"
#include "collectors/nvtx/payload.h"
#include "collectors/nvtx/record.h"
#include "collectors/nvtx/registry.h"
#include "collectors/nvtx/self.h"
#include "collectors/nvtx/text.h"
#include "core/guest/forkguard.h"
#include "core/guest/text.h"
#include "core/thread.h"

__attribute__((constructor)) static void attach(void)
{
	unsetenv("NVTX_INJECTION64_PATH");
	InitializeInjectionNvtx2_fnptr = InitializeInjectionNvtx2;
	InitializeInjectionNvtxExtension_fnptr = InitializeInjectionNvtxExtension;
}

static void start_session(size_t ring_bytes)
{
	struct gt_thread_limits limits = {.ring_bytes = ring_bytes,
					  .extra_bytes = gt_call_state_bytes(),
					  .max_bytes = 64 << 20};

	cr_assert_eq(gt_forkguard_arm(), 0);
	cr_assert_eq(gt_threads_start(&limits), 0);
}

static const struct gt_nvtx_record *next(void)
{
	static const struct gt_nvtx_record *last;

	if (last) {
		gt_ring_pass(&gt_thread_self->ring, &last->head);
		gt_ring_release(&gt_thread_self->ring);
	}
	last = (const void *)gt_ring_next(&gt_thread_self->ring);
	cr_assert(!last || last->head.type == GT_RECORD_NVTX);
	return last;
}

static void expect_record(enum gt_nvtx_op op, uint64_t id, const char *text)
{
	const struct gt_nvtx_record *record = next();

	cr_assert_not_null(record, "no record for %s", text);
	cr_assert_eq(record->head.flags, op);
	cr_assert_eq(record->id, id, "%s: id %lu", text, (unsigned long)record->id);
	cr_assert_eq(record->text_length, strlen(text));
	cr_assert_eq(memcmp(record->data, text, strlen(text)), 0);
}

Test(nvtx, levels_count_per_domain_and_names_are_copied)
{
	nvtxDomainHandle_t domain;
	char name[] = "outer";
	nvtxEventAttributes_t attributes = {.version = NVTX_VERSION,
					    .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
					    .messageType = NVTX_MESSAGE_TYPE_ASCII};

	start_session(1 << 16);
	domain = nvtxDomainCreateA("d");
	cr_assert_not_null(domain);
	cr_assert_eq(domain, nvtxDomainCreateA("d"));
	cr_assert_neq(domain, nvtxDomainCreateA("e"));
	attributes.message.ascii = "in a domain";
	cr_assert_eq(nvtxRangePushA(name), 0);
	memset(name, 'x', 5);
	cr_assert_eq(nvtxRangePushW(L"\u00fcber \U0001f600"), 1);
	cr_assert_eq(nvtxDomainRangePushEx(domain, &attributes), 0);
	cr_assert_eq(nvtxRangePop(), 1);
	cr_assert_eq(nvtxDomainRangePop(domain), 0);
	cr_assert_eq(nvtxRangePop(), 0);
	cr_assert_eq(nvtxRangePop(), NVTX_NO_PUSH_POP_TRACKING);
	expect_record(GT_NVTX_PUSH, 0, "outer");
	expect_record(GT_NVTX_PUSH, 1, "\u00fcber \U0001f600");
	expect_record(GT_NVTX_PUSH, 0, "in a domain");
	expect_record(GT_NVTX_POP, 1, "");
	expect_record(GT_NVTX_POP, 0, "");
	expect_record(GT_NVTX_POP, 0, "");
	cr_assert_null(next());
	cr_assert_eq(gt_nvtx_count().wrong, 1);
}

/* Ends of ranges among the records; their beginnings are in @ret_pushes. */
static int count_records(int *ret_pushes)
{
	const struct gt_nvtx_record *record;
	int pops = 0;

	while ((record = next())) {
		*ret_pushes += record->head.flags == GT_NVTX_PUSH;
		pops += record->head.flags == GT_NVTX_POP;
	}
	return pops;
}

/* Each range whole or not at all; steps always. */
Test(nvtx, what_follows_closely_is_left_out_when_asked)
{
	int pushes = 0, pops;

	start_session(1 << 20);
	gt_nvtx_thin(true);
	for (int i = 0; i < 1000; i++) {
		cr_assert_eq(nvtxRangePushA("outer"), 0);
		cr_assert_eq(nvtxRangePushA("ProfilerStep#1"), 1);
		cr_assert_eq(nvtxRangePushA("inner"), 2);
		cr_assert_eq(nvtxRangePop(), 2);
		cr_assert_eq(nvtxRangePop(), 1);
		cr_assert_eq(nvtxRangePop(), 0);
	}
	gt_nvtx_thin(false);
	nvtxRangePushA("last");
	nvtxRangePop();
	pops = count_records(&pushes);
	cr_assert_eq(pushes, pops);
	cr_assert_eq((uint64_t)pushes + gt_threads_sum(GT_THREAD_RANGES_THINNED), 3001);
	cr_assert_geq(pushes, 1000 + 2 + 1);
	cr_assert_lt(pushes, 3001);
	cr_assert_eq(gt_nvtx_count().lost, 0);
}

Test(nvtx, a_name_of_a_megabyte_is_cut_and_says_so)
{
	const struct gt_nvtx_record *record;
	char *name = malloc((1 << 20) + 1);

	start_session(1 << 16);
	memset(name, 'n', 1 << 20);
	name[1 << 20] = 0;
	nvtxRangePushA(name);
	record = next();
	cr_assert_eq(record->text_length, GT_NVTX_NAME_MAX);
	cr_assert(record->cut);
	free(name);
}

Test(nvtx, attributes_are_read_as_far_as_their_size_goes)
{
	nvtxEventAttributes_t attributes = {
		.version = 1, .category = 5, .colorType = 1, .color = 7};

	start_session(1 << 16);
	attributes.size = (uint16_t)offsetof(nvtxEventAttributes_t, colorType);
	nvtxRangePushEx(&attributes);
	cr_assert_eq(next()->category, 5);
	attributes.size = 2;
	nvtxRangePushEx(&attributes);
	cr_assert_eq(next()->category, 0);
	nvtxRangePushEx(NULL);
	cr_assert_not_null(next());
}

Test(nvtx, foreign_handles_are_not_followed)
{
	nvtxEventAttributes_t attributes = {.version = NVTX_VERSION,
					    .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
					    .messageType = NVTX_MESSAGE_TYPE_REGISTERED};

	start_session(1 << 16);
	attributes.message.registered = (nvtxStringHandle_t)(uintptr_t)0x1000;
	cr_assert_eq(nvtxDomainRangePushEx((nvtxDomainHandle_t)(uintptr_t)0x1001, &attributes), 0);
	cr_assert_eq(next()->domain, 0);
	attributes.message.registered = nvtxDomainRegisterStringA(NULL, "known");
	nvtxMarkEx(&attributes);
	cr_assert_str_eq(gt_nvtx_at(next()->string)->text, "known");
}

Test(nvtx, a_full_ring_loses_ranges_counted_and_levels_stay_right)
{
	uint64_t records = 0;

	start_session(4096);
	for (int i = 0; i < 1000; i++)
		cr_assert_eq(nvtxRangePushA("deep"), i);
	while (next())
		records++;
	cr_assert_eq(gt_nvtx_count().lost, 1000 - records);
	cr_assert_eq(gt_threads_sum(GT_THREAD_RANGES_LOST), 1000 - records, "recovery finds it");
	cr_assert_eq(nvtxRangePop(), 999);
	cr_assert_eq(next()->id, 999);
}

Test(nvtx, a_range_whose_begin_is_lost_is_counted_once)
{
	int pushes = 0, pops;

	start_session(4096);
	for (int i = 0; i < 1000; i++) {
		cr_assert_eq(nvtxRangePushA("outer"), 0);
		cr_assert_eq(nvtxRangePushA("inner"), 1);
		cr_assert_eq(nvtxRangePop(), 1);
		cr_assert_eq(nvtxRangePop(), 0);
	}
	pops = count_records(&pushes);
	cr_assert_lt(pushes, 2000);
	cr_assert_leq(pops, pushes);
	cr_assert_eq(gt_nvtx_count().lost + gt_threads_sum(GT_THREAD_RANGES_THINNED),
		     (uint64_t)(2000 - pops));
}

Test(nvtx, levels_over_the_limit_are_counted_and_pops_still_match)
{
	const uint64_t extra = 10;
	const struct gt_nvtx_record *record;

	start_session(32 << 20);
	for (uint64_t i = 0; i < GT_NVTX_LEVELS + extra; i++)
		cr_assert_eq(nvtxRangePushA("deep"), (int)i);
	cr_assert_eq(gt_nvtx_count().lost, extra);
	for (uint64_t i = 0; i < GT_NVTX_LEVELS; i++) {
		record = next();
		cr_assert_eq(record->id, i);
	}
	cr_assert_null(next());
	for (uint64_t i = GT_NVTX_LEVELS + extra; i-- > 0;)
		cr_assert_eq(nvtxRangePop(), (int)i);
	for (uint64_t i = GT_NVTX_LEVELS; i-- > 0;) {
		record = next();
		cr_assert_eq(record->head.flags, GT_NVTX_POP);
		cr_assert_eq(record->id, i);
	}
	cr_assert_null(next());
	cr_assert_eq(nvtxRangePop(), NVTX_NO_PUSH_POP_TRACKING);
	cr_assert_eq(gt_nvtx_count().wrong, 1);
	cr_assert_eq(gt_nvtx_count().lost, extra);
}

Test(nvtx, nothing_happens_in_a_forked_child)
{
	int status;
	pid_t child;

	start_session(1 << 16);
	nvtxRangePushA("parent");
	child = fork();
	if (child == 0) {
		nvtxRangePushA("child");
		nvtxRangePop();
		_exit(next() && next() ? 1 : 0); /* one record only: the parent's */
	}
	waitpid(child, &status, 0);
	cr_assert_eq(status, 0);
}

static void collect(void *context, const struct gt_nvtx_record *record)
{
	char *names = context;

	strncat(names, record->data, record->text_length);
	strcat(names, " ");
}

static void *end_range(void *id)
{
	nvtxRangeEnd(*(nvtxRangeId_t *)id);
	return NULL;
}

Test(nvtx, ranges_open_before_the_session_are_kept_and_others_counted)
{
	char names[256] = "";
	nvtxRangeId_t over, open;
	pthread_t thread;

	nvtxRangePushA("outer");
	nvtxRangePushA("finished");
	nvtxRangePop();
	nvtxMarkA("mark");
	over = nvtxRangeStartA("started and ended");
	open = nvtxRangeStartA("started");
	nvtxRangePushA("inner");
	pthread_create(&thread, NULL, end_range, &over);
	pthread_join(thread, NULL);
	cr_assert_neq(open, over);
	cr_assert(gt_nvtx_early_is_pending());
	gt_nvtx_early_drain(collect, names);
	cr_assert_str_eq(names, "outer started inner ");
	cr_assert_not(gt_nvtx_early_is_pending());
	cr_assert_eq(gt_nvtx_early_count().over, 3);
	start_session(1 << 16);
	cr_assert_eq(nvtxRangePop(), 1);
	expect_record(GT_NVTX_POP, 1, "");
}

Test(nvtx, more_early_ranges_than_slots_are_counted)
{
	for (unsigned int i = 0; i < GT_NVTX_EARLY_SLOTS + 10; i++)
		nvtxRangePushA("early");
	cr_assert_eq(gt_nvtx_count().lost, 10);
}

#define RACERS 64

static pthread_barrier_t barrier;

static void *race(void *unused)
{
	(void)unused;
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 100; i++) {
		nvtxRangePushA("race");
		nvtxDomainCreateA("raced");
		nvtxRangePop();
	}
	return nvtxDomainCreateA("raced");
}

Test(nvtx, threads_that_race_for_the_first_call_find_one_domain)
{
	pthread_t threads[RACERS];
	void *handle, *first = NULL;
	uint64_t records = 0;

	start_session(1 << 16);
#ifdef __SANITIZE_THREAD__
	nvtxInitialize(NULL); /* the headers' own table is read and written without order */
#endif
	pthread_barrier_init(&barrier, NULL, RACERS);
	for (int i = 0; i < RACERS; i++)
		pthread_create(&threads[i], NULL, race, NULL);
	for (int i = 0; i < RACERS; i++) {
		pthread_join(threads[i], &handle);
		cr_assert(!first || handle == first);
		first = handle;
	}
	for (struct gt_thread *t = gt_threads_first(); t; t = t->next)
		for (const struct gt_ring_record *r; (r = gt_ring_next(&t->ring)); records++)
			gt_ring_pass(&t->ring, r);
	cr_assert_eq(records + gt_nvtx_count().lost, RACERS * 200);
}

/* ---- payloads ---- */

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

/* ---- text ---- */

static const char *real(double value)
{
	static char text[32];

	text[gt_text_real(text, value)] = 0;
	return text;
}

Test(nvtx, real_numbers)
{
	cr_assert_str_eq(real(0), "0");
	cr_assert_str_eq(real(-0.25), "-0.25");
	cr_assert_str_eq(real(1e15), "1e+15");
	cr_assert_str_eq(real(123456789), "123456789");
	cr_assert_str_eq(real(100), "100");
	cr_assert_str_eq(real(1.0 / 3), "0.333333333");
	cr_assert_str_eq(real(0.00001), "0.00001");
	cr_assert_str_eq(real(999999999.9), "1000000000");
	cr_assert_str_eq(real(1.7976931348623157e308), "1.79769313e+308");
	cr_assert_str_eq(real(-INFINITY), "-inf");
	cr_assert_str_eq(real(NAN), "nan");
}

Test(nvtx, a_cut_does_not_fall_into_a_character)
{
	char out[8];
	bool cut;

	cr_assert_eq(gt_nvtx_text_length("ab\u20ac", 4, &cut), 2);
	cr_assert(cut);
	cr_assert_eq(gt_nvtx_text_length("ab\u20ac", 5, &cut), 5);
	cr_assert_not(cut);
	cr_assert_eq(gt_nvtx_text_length("\x80\x80\x80\x80\x80", 3, &cut), 3);
	cr_assert_eq(gt_nvtx_text_from_wide(L"ab\u20ac", out, 4, &cut), 2);
	cr_assert(cut);
	cr_assert_eq(gt_nvtx_text_from_wide((const wchar_t[]){0xd800, 0}, out, 8, &cut), 3);
	cr_assert_eq(memcmp(out, "\xef\xbf\xbd", 3), 0);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * NCCL's own NVTX ranges as calls of NCCL: the toolkit's headers in this program call the handlers,
 * the records become ranges, a kernel that is launched in one shows what it knows.
 */
#include <criterion/criterion.h>
#include <stdlib.h>

/* The headers' own code, which finds a tool in a symbol of the program, set below. */
#include <nvtx3/nvToolsExtCuda.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <nvtx3/nvToolsExtCounters.h>

#include "collectors/call/call.h"
#include "collectors/nvtx/internal.h"
#include "collectors/nvtx/nvtx.h"
#include "collectors/nvtx/record.h"
#include "core/config.h"
#include "core/guest/forkguard.h"
#include "core/intern.h"
#include "core/thread.h"
#include "pipeline/output/outlet.h"
#include "pipeline/ranges/internal.h"
#include "pipeline/ranges/ranges.h"
#include "pipeline/spool/spooled.h"

#define MADE   (NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + 0)
#define CALLED (NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + 5)
#define SENT   (NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + 9)
#define WRONG  (NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + 40)
#define ENUM   (NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + 24)

#define ID     0xfedcba9876543210u

struct made {
	uint64_t comm;
	int ranks, rank, device;
};

struct called {
	uint64_t comm;
	size_t bytes;
	int number;
};

static struct gt_config config;
static struct gt_clock trace_clock;
static struct gt_metadata metadata;
static struct gt_ledger ledger;
static _Atomic bool has_cupti;
static struct gt_spooling spooling; /* without a spool */
static struct gt_output output;
static struct gt_outlet outlet;
static struct gt_ranges *ranges;
static struct gt_intern *strings;
static nvtxDomainHandle_t domain;

__attribute__((constructor)) static void attach(void)
{
	unsetenv("NVTX_INJECTION64_PATH");
	InitializeInjectionNvtx2_fnptr = InitializeInjectionNvtx2;
	InitializeInjectionNvtxExtension_fnptr = InitializeInjectionNvtxExtension;
}

static void add_schema(nvtxDomainHandle_t to, uint64_t id, const nvtxPayloadSchemaEntry_t *entries,
		       size_t count, size_t size)
{
	const nvtxPayloadSchemaAttr_t attributes = {
		.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
			     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
			     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
			     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE |
			     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID,
		.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
		.entries = entries,
		.numEntries = count,
		.payloadStaticSize = size,
		.schemaId = id};

	nvtxPayloadSchemaRegister(to, &attributes);
}

#define ENTRY(kind, text, of, member)                                                              \
	{                                                                                          \
		.type = (kind), .name = (text), .offset = offsetof(struct of, member)              \
	}
#define COMM(kind, of)       ENTRY(kind, "NCCL communicator ID", of, comm)
#define NUMBER(text, of, at) ENTRY(NVTX_PAYLOAD_ENTRY_TYPE_INT, text, of, at)
#define BYTES(kind)          ENTRY(kind, "Message size [bytes]", called, bytes)

static void add_schemas(void)
{
	static const nvtxPayloadEnum_t names[] = {{"Sum", 0, 0}, {"Max", 2, 0}};
	static const nvtxPayloadEnumAttr_t reductions = {
		.fieldMask = NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES |
			     NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES |
			     NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE |
			     NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID,
		.entries = names,
		.numEntries = 2,
		.sizeOfEnum = 4,
		.schemaId = ENUM};
	const nvtxPayloadSchemaEntry_t made[] = {
		COMM(NVTX_PAYLOAD_ENTRY_TYPE_UINT64, made), NUMBER("No. of ranks", made, ranks),
		NUMBER("Rank", made, rank), NUMBER("CUDA device", made, device)};
	const nvtxPayloadSchemaEntry_t called[] = {
		COMM(NVTX_PAYLOAD_ENTRY_TYPE_UINT64, called), BYTES(NVTX_PAYLOAD_ENTRY_TYPE_SIZE),
		ENTRY(ENUM, "Reduction operation", called, number)};
	const nvtxPayloadSchemaEntry_t sent[] = {COMM(NVTX_PAYLOAD_ENTRY_TYPE_UINT64, called),
						 BYTES(NVTX_PAYLOAD_ENTRY_TYPE_SIZE),
						 NUMBER("Peer rank", called, number)};

	nvtxPayloadEnumRegister(domain, &reductions);
	add_schema(domain, MADE, made, 4, sizeof(struct made));
	add_schema(domain, CALLED, called, 3, sizeof(struct called));
	add_schema(domain, SENT, sent, 3, sizeof(struct called));
}

static void setup(void)
{
	struct gt_ranges_options options = {
		.clock = &trace_clock, .ledger = &ledger, .outlet = &outlet, .step_range = ""};
	struct gt_thread_limits limits = {
		.ring_bytes = 1 << 20, .extra_bytes = gt_call_state_bytes(), .max_bytes = 64 << 20};

	strings = options.strings = gt_intern_new(1 << 20);
	gt_config_init(&config);
	cr_assert_eq(gt_config_set(&config, GT_CONFIG_FORMAT, "null"), 0);
	gt_clock_init(&trace_clock);
	output = (struct gt_output){
		.config = &config, .metadata = &metadata, .ledger = &ledger, .spooling = &spooling};
	outlet = (struct gt_outlet){.output = &output,
				    .clock = &trace_clock,
				    .has_cupti = &has_cupti,
				    .metadata = &metadata};
	ranges = gt_ranges_new(&options);
	cr_assert_not_null(ranges);
	cr_assert_eq(gt_forkguard_arm(), 0);
	cr_assert_eq(gt_threads_start(&limits), 0);
	domain = nvtxDomainCreateA("NCCL");
	add_schemas();
}

static void teardown(void)
{
	gt_ranges_free(ranges);
	gt_outlet_fini(&outlet);
	gt_output_close(&output);
}

TestSuite(nccl_ranges, .init = setup, .fini = teardown);

/* What the thread has recorded so far. */
static void read_ring(void)
{
	const struct gt_ring_record *record;

	while (gt_thread_self && (record = gt_ring_next(&gt_thread_self->ring)) != NULL) {
		gt_ranges_record(ranges, (const void *)record);
		gt_ring_pass(&gt_thread_self->ring, record);
	}
}

static void end_round(void)
{
	gt_ranges_round_begins(ranges);
	read_ring();
	gt_ranges_round(ranges);
}

static void push_in(nvtxDomainHandle_t to, const char *name, uint64_t schema, const void *data,
		    size_t size)
{
	nvtxPayloadData_t payload = {schema, size, data};
	nvtxEventAttributes_t attributes = {.version = NVTX_VERSION,
					    .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
					    .messageType = NVTX_MESSAGE_TYPE_REGISTERED,
					    .message.registered =
						    nvtxDomainRegisterStringA(to, name)};

	if (data) {
		attributes.payloadType = NVTX_PAYLOAD_TYPE_EXT;
		attributes.reserved0 = 1;
		attributes.payload.ullValue = (uintptr_t)&payload;
	}
	nvtxDomainRangePushEx(to, &attributes);
}

static void push(const char *name, uint64_t schema, uint64_t comm, size_t bytes, int number)
{
	const struct called data = {comm, bytes, number};

	push_in(domain, name, schema, schema ? &data : NULL, sizeof(data));
}

static void pop(void)
{
	nvtxDomainRangePop(domain);
}

static void make(int ranks, int rank)
{
	const struct made data = {ID, ranks, rank, 0};
	nvtxPayloadData_t payload = {MADE, sizeof(data), &data};

	push("ncclCommInitRank", 0, 0, 0, 0);
	nvtxRangePopPayload(domain, &payload, 1);
}

/* A launch where the program is now. */
static struct gt_launch launch(void)
{
	struct gt_launch made = {.start = 1};

	read_ring();
	if (gt_thread_self)
		made.tid = gt_thread_self->tid;
	gt_ranges_launch(ranges, &made, true, true);
	return made;
}

/* What its kernel shows. */
static struct gt_library_call kernel_of(const struct gt_launch *of, const char *name)
{
	struct gt_event event = {.kind = GT_EVENT_KERNEL, .start = 2, .end = 3, .launch = *of};

	event.kernel.name = gt_intern_cstr(strings, name);
	gt_ranges_operation(ranges, &event);
	return event.kernel.library;
}

static void check_text(const struct gt_launch *of, const char *name, const char *expected)
{
	struct gt_library_call call = kernel_of(of, name);
	char text[GT_LIBRARY_TEXT_MAX];

	gt_library_text(&call, true, text);
	cr_assert_str_eq(text, expected);
}

#define OF_ID "Group size: 4, Process Group Name: 0xfedcba9876543210, Rank: 2"

Test(nccl_ranges, a_kernel_shows_its_call)
{
	struct gt_launch first, second;

	make(4, 2);
	push("ncclAllReduce", CALLED, ID, 400, 2);
	first = launch();
	pop();
	push("ncclReduceScatter", CALLED, ID, 100, 7);
	second = launch();
	pop();
	end_round();
	check_text(&first, "ncclDevKernel_AllReduce_Max_f32_RING_LL()",
		   "Collective name: allreduce, dtype: Float, In msg nelems: 100, Out msg nelems: "
		   "100, reduction: max, " OF_ID ", Seq: 1");
	check_text(&second, "ncclDevKernel_Generic()",
		   "Collective name: _reduce_scatter_base, sent bytes: 400, received bytes: 100, "
		   "reduction: custom, " OF_ID ", Seq: 2");
}

Test(nccl_ranges, a_group)
{
	struct gt_launch at_end;

	make(4, 2);
	push("ncclGroupStart", 0, 0, 0, 0);
	pop();
	for (int i = 0; i < 2; i++) {
		push("ncclAllReduce", CALLED, ID, 400, 0);
		pop();
	}
	push("ncclGroupEnd", 0, 0, 0, 0);
	at_end = launch();
	pop();
	end_round();
	check_text(&at_end, "ncclDevKernel_Generic()",
		   "Collective name: allreduce, reduction: sum, " OF_ID
		   ", Seq: 1, fused operations: 2");
}

/* NCCL before 2.25 has the end of the group that launches it inside, with a range of its own. */
Test(nccl_ranges, a_send_with_a_group_of_its_own)
{
	struct gt_launch at_end;

	make(4, 2);
	push("ncclSend", SENT, ID, 512, 3);
	push("ncclGroupStart", 0, 0, 0, 0);
	pop();
	push("ncclGroupEnd", 0, 0, 0, 0);
	at_end = launch();
	pop();
	pop();
	end_round();
	check_text(&at_end, "ncclDevKernel_SendRecv()",
		   "Collective name: send, sent bytes: 512, received bytes: 512, " OF_ID
		   ", Dst Rank: 3");
}

Test(nccl_ranges, a_rank_that_cannot_be)
{
	struct gt_launch first;

	make(2, 2);
	push("ncclSend", SENT, ID, 512, -3);
	first = launch();
	pop();
	end_round();
	check_text(&first, "ncclDevKernel_SendRecv()",
		   "Collective name: send, sent bytes: 512, received bytes: 512, Process Group "
		   "Name: 0xfedcba9876543210");
}

/* As NCCL's profiler interface has it, of an operation of the call that is open. */
static void tell(uint8_t function, uint64_t count, uint8_t algorithm)
{
	const struct gt_library_call told = {.function = function,
					     .operations = 1,
					     .communicator = ID,
					     .in = count,
					     .dtype = 7 + 1,
					     .ranks = 4,
					     .rank = 3,
					     .algorithm = algorithm,
					     .protocol = 1,
					     .channels = 2};
	struct gt_nvtx_call call = {
		.op = GT_NVTX_TOLD, .id = 1, .library = &told, .value_type = GT_NVTX_LIBRARY};

	gt_nvtx_write(&call);
}

/* Of a communicator that was split no range tells the size. */
Test(nccl_ranges, the_profiler_knows_the_size)
{
	struct gt_launch first, second;

	tell(GT_NCCL_ALL_REDUCE, 1, 2);
	push("ncclReduceScatter", CALLED, ID, 400, 0);
	first = launch();
	tell(GT_NCCL_REDUCE_SCATTER, 100, 2);
	pop();
	push("ncclAllGather", CALLED, ID, 400, 0);
	second = launch();
	tell(GT_NCCL_ALL_GATHER, 100, 9);
	pop();
	end_round();
	check_text(&first, "ncclDevKernel_Generic()",
		   "Collective name: _reduce_scatter_base, sent bytes: 1600, received bytes: 400, "
		   "reduction: sum, " OF_ID ", algorithm: RING, protocol: LL, channels: 2");
	check_text(&second, "ncclDevKernel_Generic()",
		   "Collective name: _allgather_base, sent bytes: 400, received bytes: 1600, "
		   "reduction: sum, " OF_ID ", algorithm: other, protocol: LL, channels: 2");
	cr_assert_eq(ledger.count[GT_LEDGER_NCCL_TOLD], 3);
	cr_assert_eq(ledger.count[GT_LEDGER_NCCL_UNMATCHED], 1);
}

/* Of two in one kernel it shows what both have. */
Test(nccl_ranges, the_profiler_tells_of_a_group)
{
	struct gt_launch at_end;

	make(4, 2);
	push("ncclGroupStart", 0, 0, 0, 0);
	pop();
	for (int i = 0; i < 2; i++) {
		push("ncclAllReduce", CALLED, ID, 400, 0);
		pop();
	}
	push("ncclGroupEnd", 0, 0, 0, 0);
	at_end = launch();
	tell(GT_NCCL_ALL_REDUCE, 100, 1);
	tell(GT_NCCL_ALL_REDUCE, 100, 2);
	pop();
	end_round();
	check_text(&at_end, "ncclDevKernel_Generic()",
		   "Collective name: allreduce, reduction: sum, " OF_ID
		   ", Seq: 1, fused operations: 2, protocol: LL, channels: 2");
}

/* Of another library, which calls its domain so. */
Test(nccl_ranges, strangers)
{
	const nvtxPayloadSchemaEntry_t wrong[] = {
		COMM(NVTX_PAYLOAD_ENTRY_TYPE_UINT32, called), BYTES(NVTX_PAYLOAD_ENTRY_TYPE_INT64),
		ENTRY(NVTX_PAYLOAD_ENTRY_TYPE_FLOAT, "Root", called, number)};
	const struct called data = {ID, 400, 1};
	nvtxDomainHandle_t other = nvtxDomainCreateA("NCCL tests");
	nvtxEventAttributes_t started = {.version = NVTX_VERSION,
					 .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
					 .messageType = NVTX_MESSAGE_TYPE_ASCII,
					 .message.ascii = "ncclAllReduce"};
	struct gt_launch at[5];
	nvtxRangeId_t range;

	add_schema(domain, WRONG, wrong, 3, sizeof(data));
	push("ncclAllReduce", WRONG, ID, 400, 1);
	at[0] = launch();
	pop();
	push("ncclSomething", CALLED, ID, 400, 0);
	at[1] = launch();
	pop();
	push_in(other, "ncclAllReduce", CALLED, &data, sizeof(data));
	at[2] = launch();
	nvtxDomainRangePop(other);
	range = nvtxDomainRangeStartEx(domain, &started);
	at[3] = launch();
	nvtxDomainRangeEnd(domain, range);
	push_in(domain, "ncclAllGather", CALLED, &data, 7);
	at[4] = launch();
	pop();
	end_round();
	check_text(&at[0], "kernel", "Collective name: allreduce");
	for (int i = 1; i < 4; i++)
		check_text(&at[i], "kernel", "");
	check_text(&at[4], "kernel", "Collective name: _allgather_base");
}

Test(nccl_ranges, a_schema_that_is_registered_again)
{
	const nvtxPayloadSchemaEntry_t again[] = {
		ENTRY(NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "Message size [bytes]", called, comm),
		ENTRY(NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "NCCL communicator ID", called, bytes)};
	struct gt_launch first;

	add_schema(domain, CALLED, again, 2, 4096);
	push("ncclAllReduce", CALLED, ID, 400, 0);
	first = launch();
	pop();
	end_round();
	check_text(&first, "kernel",
		   "Collective name: allreduce, sent bytes: 400, received bytes: 400, reduction: "
		   "sum, Process Group Name: 0xfedcba9876543210");
}

/* The kernel ends when its call is not kept any more: that is counted. */
Test(nccl_ranges, a_kernel_that_ends_late)
{
	const struct gt_library_call call = {.function = GT_NCCL_ALL_REDUCE, .operations = 1};
	struct gt_launch first = {.library = gt_range_library_begin(ranges, 1, &call)};
	struct gt_launch last = first;

	for (uint32_t i = 1; i < GT_RANGE_LIBRARIES; i++)
		last.library = gt_range_library_begin(ranges, 1, &call);
	cr_assert_neq(kernel_of(&first, "kernel").function, 0);
	cr_assert_eq(ledger.count[GT_LEDGER_LIBRARY_KERNELS], 0);
	gt_range_library_begin(ranges, 1, &call);
	cr_assert_eq(kernel_of(&first, "kernel").function, 0);
	cr_assert_neq(kernel_of(&last, "kernel").function, 0);
	cr_assert_eq(ledger.count[GT_LEDGER_LIBRARY_KERNELS], 1);
}

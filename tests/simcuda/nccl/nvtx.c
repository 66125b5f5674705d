/* SPDX-License-Identifier: Apache-2.0
 *
 * NVTX as NCCL makes it (NVIDIA/nccl src/include/nvtx.h, nvtx_payload_schemas.h): push/pop ranges
 * of the domain "NCCL", registered names, static schema ids. Collectives tell their payload at the
 * push, what makes a communicator at the pop.
 *
 *   NCCL_NVTX_DISABLE=1  no ranges, as NCCL has it
 *   SIMNCCL_NVTX=2.18    as before 2.25: no communicator
 *   SIMNCCL_NVTX=wrong   what does not fit its schema: too short, of other types, of no schema
 */
#include "nccl/sim_nccl.h"

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA(id)   (NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + (id))
#define REDUCTIONS   SCHEMA(24)
#define INIT_RANK    SCHEMA(0)
#define INIT_ALL     SCHEMA(1)
#define SPLIT        SCHEMA(13)

#define COMMUNICATOR "NCCL communicator ID"

enum layout { NEW, OLD, WRONG };

struct call_payload {
	uint64_t comm;
	size_t bytes;
	int first, second;
};

struct made_payload {
	uint64_t comm;
	int ranks, rank, device;
};

struct all_payload {
	uint64_t comm;
	int devices;
};

struct split_payload {
	uint64_t comm, parent;
	int ranks, rank, device, color, key;
};

static const struct {
	const char *function;
	int schema;
	const char *peer; /* what the first number is; NULL: there is none */
	bool reduces;
} calls[] = {
	[SIM_ALL_REDUCE] = {"ncclAllReduce", 5, NULL, true},
	[SIM_BROADCAST] = {"ncclBroadcast", 6, "Root", false},
	[SIM_REDUCE] = {"ncclReduce", 8, "Root", true},
	[SIM_ALL_GATHER] = {"ncclAllGather", 4, NULL, false},
	[SIM_REDUCE_SCATTER] = {"ncclReduceScatter", 7, NULL, true},
	[SIM_ALL_TO_ALL] = {"ncclAlltoAll", 16, NULL, false},
	[SIM_GATHER] = {"ncclGather", 17, "Root", false},
	[SIM_SCATTER] = {"ncclScatter", 18, "Root", false},
	[SIM_SEND] = {"ncclSend", 9, "Peer rank", false},
	[SIM_RECV] = {"ncclRecv", 10, "Peer rank", false},
	[SIM_PUT] = {"ncclPutSignal", 19, "Peer rank", false},
	[SIM_SIGNAL] = {"ncclSignal", 20, "Peer rank", false},
	[SIM_WAIT_SIGNAL] = {"ncclWaitSignal", 21, "Number of peers", false},
};

#define CALLS (sizeof(calls) / sizeof(calls[0]))

static struct {
	pthread_once_t once;
	bool is_off;
	enum layout layout;
	nvtxDomainHandle_t domain;
	nvtxStringHandle_t names[CALLS];
} nvtx = {.once = PTHREAD_ONCE_INIT};

static void add_schema(uint64_t id, const nvtxPayloadSchemaEntry_t *entries, size_t count,
		       size_t size)
{
	nvtxPayloadSchemaAttr_t attributes = {.fieldMask =
						      NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
						      NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
						      NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
						      NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE |
						      NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID,
					      .type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
					      .entries = entries,
					      .numEntries = count,
					      .payloadStaticSize = nvtx.layout == OLD ? 0 : size,
					      .schemaId = id};

	nvtxPayloadSchemaRegister(nvtx.domain, &attributes);
}

static nvtxPayloadSchemaEntry_t entry(uint64_t type, const char *name, size_t offset)
{
	return (nvtxPayloadSchemaEntry_t){.type = type, .name = name, .offset = offset};
}

static const char *size_name(size_t i)
{
	return nvtx.layout == OLD && calls[i].peer && !calls[i].reduces ? "Bytes"
									: "Message size [bytes]";
}

static void add_call(size_t i)
{
	size_t skip = nvtx.layout == OLD ? offsetof(struct call_payload, bytes) : 0, count = 0;
	size_t last = offsetof(struct call_payload, first), size = last;
	nvtxPayloadSchemaEntry_t entries[4] = {0};

	if (nvtx.layout != OLD)
		entries[count++] = entry(NVTX_PAYLOAD_ENTRY_TYPE_UINT64, COMMUNICATOR, 0);
	entries[count++] = entry(nvtx.layout == WRONG ? NVTX_PAYLOAD_ENTRY_TYPE_FLOAT
						      : NVTX_PAYLOAD_ENTRY_TYPE_SIZE,
				 size_name(i), offsetof(struct call_payload, bytes) - skip);
	if (calls[i].peer) {
		entries[count++] = entry(NVTX_PAYLOAD_ENTRY_TYPE_INT, calls[i].peer, last - skip);
		last = offsetof(struct call_payload, second);
	}
	if (calls[i].reduces)
		entries[count++] = entry(REDUCTIONS, "Reduction operation", last - skip);
	if (calls[i].peer || calls[i].reduces)
		size = sizeof(struct call_payload);
	add_schema(SCHEMA((uint64_t)calls[i].schema), entries, count, size);
	nvtx.names[i] = nvtxDomainRegisterStringA(nvtx.domain, calls[i].function);
}

#define INT(text, of, member) entry(NVTX_PAYLOAD_ENTRY_TYPE_INT, text, offsetof(struct of, member))
#define ID(text, of, member)                                                                       \
	entry(NVTX_PAYLOAD_ENTRY_TYPE_UINT64, text, offsetof(struct of, member))

static void add_communicators(void)
{
	const nvtxPayloadSchemaEntry_t made[] = {
		ID(COMMUNICATOR, made_payload, comm), INT("No. of ranks", made_payload, ranks),
		INT("Rank", made_payload, rank), INT("CUDA device", made_payload, device)};
	const nvtxPayloadSchemaEntry_t all[] = {ID(COMMUNICATOR, all_payload, comm),
						INT("No. of devices", all_payload, devices)};
	const nvtxPayloadSchemaEntry_t split[] = {
		ID(COMMUNICATOR, split_payload, comm),
		ID("Parent NCCL communicator ID", split_payload, parent),
		INT("No. of ranks", split_payload, ranks),
		INT("Rank", split_payload, rank),
		INT("CUDA device", split_payload, device),
		INT("Color", split_payload, color),
		INT("Key", split_payload, key)};

	add_schema(INIT_RANK, made, 4, sizeof(struct made_payload));
	add_schema(INIT_ALL, all, 2, sizeof(struct all_payload));
	add_schema(SPLIT, split, 7, sizeof(struct split_payload));
}

static void add_reductions(void)
{
	static const nvtxPayloadEnum_t names[] = {
		{"Sum", 0, 0}, {"Product", 1, 0}, {"Max", 2, 0}, {"Min", 3, 0}, {"Avg", 4, 0}};
	const nvtxPayloadEnumAttr_t attributes = {.fieldMask =
							  NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES |
							  NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES |
							  NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE |
							  NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID,
						  .entries = names,
						  .numEntries = 5,
						  .sizeOfEnum = sizeof(int),
						  .schemaId = REDUCTIONS};

	nvtxPayloadEnumRegister(nvtx.domain, &attributes);
}

static void start(void)
{
	const char *off = getenv("NCCL_NVTX_DISABLE"), *layout = getenv("SIMNCCL_NVTX");

	nvtx.is_off = off && atoi(off);
	nvtx.layout = !layout ? NEW : !strcmp(layout, "wrong") ? WRONG : OLD;
	if (nvtx.is_off)
		return;
	nvtx.domain = nvtxDomainCreateA("NCCL");
	add_reductions();
	for (size_t i = 0; i < CALLS; i++)
		add_call(i);
	add_communicators();
}

static bool is_on(void)
{
	pthread_once(&nvtx.once, start);
	return !nvtx.is_off;
}

/* The same in all members. */
static uint64_t hash_of(ncclComm_t comm)
{
	uint64_t hash = 0xcbf29ce484222325;

	if (!comm || comm->is_deferred) /* in a group it has none yet */
		return 0;
	for (const char *p = comm->name; *p; p++)
		hash = (hash ^ (unsigned char)*p) * 0x100000001b3;
	return hash;
}

static void push(nvtxStringHandle_t name, const nvtxPayloadData_t *payload)
{
	nvtxEventAttributes_t attributes = {.version = NVTX_VERSION,
					    .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
					    .messageType = NVTX_MESSAGE_TYPE_REGISTERED,
					    .message.registered = name};

	if (payload) {
		attributes.payloadType = NVTX_PAYLOAD_TYPE_EXT;
		attributes.reserved0 = 1;
		attributes.payload.ullValue = (uintptr_t)payload;
	}
	nvtxDomainRangePushEx(nvtx.domain, &attributes);
}

static size_t size_of(ncclDataType_t type)
{
	static const uint8_t bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};

	return (unsigned int)type < sizeof(bytes) ? bytes[type] : 0;
}

void sim_nvtx_begin_operation(const struct sim_operation *op)
{
	size_t i = op->function;
	struct call_payload data = {hash_of(op->comm), op->count * size_of(op->type), op->peer,
				    op->reduction};
	nvtxPayloadData_t payload = {SCHEMA((uint64_t)calls[i].schema), sizeof(data), &data};

	if (!is_on())
		return;
	if (!calls[i].peer)
		data.first = op->reduction;
	if (!calls[i].peer && !calls[i].reduces)
		payload.size = offsetof(struct call_payload, first);
	if (nvtx.layout == OLD) {
		payload.payload = &data.bytes;
		payload.size -= offsetof(struct call_payload, bytes);
	} else if (nvtx.layout == WRONG) {
		payload.schemaId = op->function == SIM_SEND ? SCHEMA(99) : payload.schemaId;
		payload.size = op->function == SIM_ALL_REDUCE ? 6 : SIZE_MAX;
	}
	push(nvtx.names[i], &payload);
}

void sim_nvtx_begin_destroy(ncclComm_t comm)
{
	struct made_payload data;
	nvtxPayloadData_t payload = {INIT_RANK, sizeof(data), &data};

	if (!is_on())
		return;
	if (comm)
		data = (struct made_payload){hash_of(comm), comm->ranks, comm->rank, comm->device};
	push(nvtxDomainRegisterStringA(nvtx.domain, "ncclCommDestroy"),
	     comm && nvtx.layout == NEW ? &payload : NULL);
}

void sim_nvtx_begin_call(const char *function)
{
	if (is_on())
		push(nvtxDomainRegisterStringA(nvtx.domain, function), NULL);
}

void sim_nvtx_end(void)
{
	if (is_on())
		nvtxDomainRangePop(nvtx.domain);
}

static void pop(uint64_t schema, size_t size, const void *data)
{
	nvtxPayloadData_t payload = {schema, size, data};

	nvtxRangePopPayload(nvtx.domain, &payload, 1);
}

void sim_nvtx_end_made(ncclComm_t comm)
{
	if (!is_on() || !comm || nvtx.layout == OLD)
		sim_nvtx_end();
	else
		pop(INIT_RANK, sizeof(struct made_payload),
		    &(struct made_payload){hash_of(comm), comm->ranks, comm->rank, comm->device});
}

void sim_nvtx_end_all(ncclComm_t comm, int devices)
{
	if (!is_on() || !comm || nvtx.layout == OLD)
		sim_nvtx_end();
	else
		pop(INIT_ALL, sizeof(struct all_payload),
		    &(struct all_payload){hash_of(comm), devices});
}

/* The ranks, rank and device are those of the parent, as in NCCL. */
void sim_nvtx_end_split(ncclComm_t comm, ncclComm_t parent, int color, int key)
{
	if (!is_on() || !comm || nvtx.layout == OLD)
		sim_nvtx_end();
	else
		pop(SPLIT, sizeof(struct split_payload),
		    &(struct split_payload){hash_of(comm), hash_of(parent), parent->ranks,
					    parent->rank, parent->device, color, key});
}

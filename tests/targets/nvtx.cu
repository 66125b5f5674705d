/* SPDX-License-Identifier: Apache-2.0
 *
 * NVTX ranges around launches, in every form of the toolkit's headers: nested, in domains,
 * across threads, open before CUDA is used, never closed, popped too often, with payloads.
 */
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCounters.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <pthread.h>
#include <string.h>

#include "tests/targets/expect.h"

__global__ void first(int *data)
{
	data[threadIdx.x] = 1;
}

__global__ void second(int *data)
{
	data[threadIdx.x] += 2;
}

__global__ void bare(int *data)
{
	data[threadIdx.x] += 3;
}

static int *data;
static cudaStream_t side;
static nvtxDomainHandle_t library;

static nvtxEventAttributes_t named(const char *name)
{
	nvtxEventAttributes_t attributes;

	memset(&attributes, 0, sizeof(attributes));
	attributes.version = NVTX_VERSION;
	attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
	attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
	attributes.message.ascii = name;
	return attributes;
}

__attribute__((noinline)) void launch_first(cudaStream_t stream)
{
	first<<<1, 32, 0, stream>>>(data);
	CHECK(cudaGetLastError());
}

__attribute__((noinline)) void launch_second(cudaStream_t stream)
{
	second<<<1, 32, 0, stream>>>(data);
	CHECK(cudaGetLastError());
}

__attribute__((noinline)) void launch_bare(void)
{
	bare<<<1, 32>>>(data);
	CHECK(cudaGetLastError());
}

/* "epoch" covers both streams, "forward" in a domain only one of them. */
static void nested(void)
{
	nvtxEventAttributes_t forward = named("forward");
	char transient[32] = "epoch";

	forward.category = 3;
	forward.colorType = NVTX_COLOR_ARGB;
	forward.color = 0xff336699;
	forward.payloadType = NVTX_PAYLOAD_TYPE_INT64;
	forward.payload.llValue = -42;
	nvtxDomainNameCategoryA(library, 3, "math");
	nvtxRangePushA(transient);
	memset(transient, 'x', sizeof(transient) - 1); /* the name was copied at the call */
	launch_first(side);
	nvtxDomainRangePushEx(library, &forward);
	launch_second(0);
	launch_second(0);
	nvtxDomainRangePop(library);
	CHECK(cudaStreamSynchronize(side));
	nvtxRangePop();
	expect_range("epoch", "", 1);
	expect_range("forward", "library", 1);
	expect_shadow("epoch", 2);
	expect_shadow("forward", 1);
	expect_nvtx("first", "epoch", 1);
	expect_nvtx("second", "library:forward", 2);
}

static void *end_it(void *id)
{
	nvtxRangeEnd(*(nvtxRangeId_t *)id);
	return NULL;
}

/* Started here, ended on another thread; overlaps "overlapped" partly. */
static void across_threads(void)
{
	nvtxRangeId_t id = nvtxRangeStartA("request");
	pthread_t thread;

	nvtxRangePushA("overlapped");
	launch_first(0);
	pthread_create(&thread, NULL, end_it, &id);
	pthread_join(thread, NULL);
	launch_second(0);
	nvtxRangePop();
	expect_range("request", "", 1);
	expect_range("overlapped", "", 1);
	expect_shadow("request", 1);
	expect_shadow("overlapped", 1);
	expect_nvtx("first", "overlapped", 1);
	expect_nvtx("second", "overlapped", 1);
}

static void strings(void)
{
	nvtxEventAttributes_t attributes = named(NULL);

	attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	attributes.message.registered = nvtxDomainRegisterStringA(library, "registered");
	nvtxDomainRangePushEx(library, &attributes);
	nvtxDomainRangePop(library);
	nvtxRangePushW(L"wide \u00e9\u20ac");
	nvtxRangePop();
	nvtxMarkA("here");
	expect_range("registered", "library", 1);
	expect_range("wide \u00e9\u20ac", "", 1);
	expect_mark("here", 1);
}

static void payload(void)
{
	struct {
		uint64_t bytes;
		int32_t root;
		float share;
	} values = {4096, -1, 0.25f};
	nvtxPayloadSchemaEntry_t entries[] = {
		{0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "bytes"},
		{0, NVTX_PAYLOAD_ENTRY_TYPE_INT32, "root"},
		{0, NVTX_PAYLOAD_ENTRY_TYPE_FLOAT, "share"},
	};
	nvtxPayloadSchemaAttr_t schema;
	nvtxPayloadData_t data_of_range = {0, sizeof(values), &values};
	nvtxEventAttributes_t attributes = named("reduce");

	memset(&schema, 0, sizeof(schema));
	schema.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
			   NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
			   NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
			   NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE;
	schema.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
	schema.entries = entries;
	schema.numEntries = 3;
	schema.payloadStaticSize = sizeof(values);
	data_of_range.schemaId = nvtxPayloadSchemaRegister(library, &schema);
	attributes.payloadType = NVTX_PAYLOAD_TYPE_EXT;
	attributes.reserved0 = 1;
	attributes.payload.ullValue = (uint64_t)&data_of_range;
	nvtxDomainRangePushEx(library, &attributes);
	nvtxDomainRangePop(library);
	expect_range("reduce", "library", 1);
	expect_payload("reduce", "bytes=4096 root=-1 share=0.25");
	expect_payload("forward", "-42");
}

static void counter(void)
{
	nvtxCounterAttr_t attributes;
	uint64_t id;

	memset(&attributes, 0, sizeof(attributes));
	attributes.structSize = sizeof(attributes);
	attributes.schemaId = NVTX_PAYLOAD_ENTRY_TYPE_INT64;
	attributes.name = "queue length";
	id = nvtxCounterRegister(library, &attributes);
	nvtxCounterSampleInt64(library, id, 7);
	nvtxCounterSampleFloat64(library, id, 0.5);
	expect_counter("library:queue length", 2);
}

static void steps(void)
{
	for (int i = 0; i < 3; i++) {
		nvtxRangePushA("step");
		launch_first(0);
		nvtxRangePop();
	}
	expect_step("step", 3);
	expect_nvtx("first", "step", 3);
}

int main(void)
{
	nvtxRangePushA("over before CUDA");
	nvtxRangePop();
	nvtxRangePop(); /* one too many */
	nvtxRangePushA("open before CUDA");
	library = nvtxDomainCreateA("library");
	CHECK(cudaMalloc((void **)&data, 4096));
	CHECK(cudaStreamCreate(&side));
	nvtxNameCudaStreamA(side, "copies");
	launch_bare();
	nvtxRangePop();
	launch_bare();
	nested();
	across_threads();
	strings();
	payload();
	counter();
	steps();
	nvtxRangePushA("never closed");
	launch_bare();
	CHECK(cudaDeviceSynchronize());

	expect_range("open before CUDA", "", 1);
	expect_nvtx("bare", "open before CUDA", 1);
	expect_nvtx("bare", "", 1);
	expect_nvtx("bare", "never closed", 1);
	expect_range("never closed", "", 1);
	expect_unfinished("never closed", 1);
	expect_shadow("open before CUDA", 1);
	expect_shadow("never closed", 1);
	expect_kernel("first(int*)", 5, "launch_first(CUstream_st*)");
	expect_kernel("second(int*)", 3, "launch_second(CUstream_st*)");
	expect_kernel("bare(int*)", 3, "launch_bare()");
	expect_call("cudaLaunchKernel", 11);
	return 0;
}

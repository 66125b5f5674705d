/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong uses of NVTX, in every way that is harmless without a tool: each is counted, cut or
 * refused, and correct ranges are not affected.
 */
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <nvtx3/nvToolsExtPayload.h>

#include <cuda_runtime_api.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/targets/expect.h"

#define NAME_MAX_BYTES 1000  /* collectors/nvtx/registry.h */
#define LEVELS         60000 /* collectors/nvtx/self.h */
#define TOO_DEEP       10

static void *data;
static int wrong; /* the count expected in the ledger */

static __attribute__((noinline)) void clear(void)
{
	CHECK(cudaMemset(data, 0, 64));
}

static nvtxEventAttributes_t attributes_of(int32_t message_type, const void *message)
{
	nvtxEventAttributes_t attributes;

	memset(&attributes, 0, sizeof(attributes));
	attributes.version = NVTX_VERSION;
	attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
	attributes.messageType = message_type;
	attributes.message.ascii = message;
	return attributes;
}

static void *leave_open(void *unused)
{
	nvtxRangePushA("left open");
	nvtxRangePushA("left open inside");
	clear();
	return unused;
}

static void thread_that_ends(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, leave_open, NULL);
	pthread_join(thread, NULL);
	expect_range("left open", "", 1);
	expect_range("left open inside", "", 1);
	expect_shadow("left open", 1);
	expect_shadow("left open inside", 1);
	expect_unfinished("left open", 1);
	expect_unfinished("left open inside", 1);
}

static void too_many_pops(void)
{
	for (int i = 0; i < 3; i++)
		nvtxRangePop();
	nvtxRangeEnd(0);
	nvtxRangeEnd(1u << 30); /* never started */
	wrong += 5;
}

static void *go_deep(void *unused)
{
	for (int i = 0; i < LEVELS + TOO_DEEP; i++)
		nvtxRangePushA("deep");
	for (int i = 0; i < LEVELS + TOO_DEEP; i++)
		nvtxRangePop();
	nvtxRangePushA("after the deep ones");
	clear();
	nvtxRangePop();
	return unused;
}

static void too_deep(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, go_deep, NULL);
	pthread_join(thread, NULL);
	expect_range("deep", "", LEVELS);
	expect_range("after the deep ones", "", 1);
	expect_shadow("after the deep ones", 1);
	expect_ledger("ranges_lost", TOO_DEEP);
}

static void names(void)
{
	size_t size = 1 << 20;
	char *name = malloc(size + 1);

	memset(name, 'n', size);
	name[size] = 0;
	nvtxRangePushA(name);
	nvtxRangePop();
	name[NAME_MAX_BYTES] = 0;
	expect_range(name, "", 1);
	free(name);
	expect_ledger("range_names_cut", 1);
	nvtxRangePushA("\xff is \xc3( not UTF-8 \xe2\x82");
	nvtxRangePop();
	expect_range("\ufffd is \ufffd( not UTF-8 \ufffd\ufffd", "", 1);
	nvtxRangePushW((const wchar_t[]){'w', 0xd800, 0x7fffffff, 0});
	nvtxRangePop();
	expect_range("w\ufffd\ufffd", "", 1);
	nvtxRangePushA(NULL);
	nvtxRangePop();
	nvtxRangePushEx(NULL);
	nvtxRangePop();
	wrong++;
	expect_range("(no name)", "", 2);
}

/* Handles that are invalid, or of another object. */
static void handles(void)
{
	nvtxDomainHandle_t domain = nvtxDomainCreateA("right");
	nvtxStringHandle_t string = nvtxDomainRegisterStringA(domain, "a string");
	const void *const handles[] = {(void *)16, (void *)0x1234567, &wrong, string,
				       (char *)domain + 1};
	nvtxEventAttributes_t attributes = attributes_of(NVTX_MESSAGE_TYPE_ASCII, "wrong domain");

	for (size_t i = 0; i < sizeof(handles) / sizeof(handles[0]); i++) {
		nvtxDomainHandle_t handle = (nvtxDomainHandle_t)(uintptr_t)handles[i];

		nvtxDomainRangePushEx(handle, &attributes);
		nvtxDomainRangePop(handle);
		nvtxDomainDestroy(handle);
		wrong += 2;
	}
	expect_range("wrong domain", "", 5);
	attributes = attributes_of(NVTX_MESSAGE_TYPE_REGISTERED, domain);
	nvtxDomainRangePushEx(domain, &attributes);
	nvtxDomainRangePop(domain);
	wrong++;
	expect_range("(no name)", "right", 1);
	attributes = attributes_of(NVTX_MESSAGE_TYPE_REGISTERED, string);
	nvtxDomainDestroy(domain);
	nvtxDomainRangePushEx(domain, &attributes); /* after the domain was destroyed */
	nvtxDomainRangePop(domain);
	expect_range("a string", "right", 1);
}

static void push_payload(const char *name, uint64_t schema, size_t size, const void *bytes)
{
	nvtxPayloadData_t payload = {schema, size, bytes};
	nvtxEventAttributes_t attributes = attributes_of(NVTX_MESSAGE_TYPE_ASCII, name);

	attributes.payloadType = NVTX_PAYLOAD_TYPE_EXT;
	attributes.reserved0 = 1;
	attributes.payload.ullValue = (uintptr_t)&payload;
	nvtxRangePushEx(&attributes);
	nvtxRangePop();
	expect_range(name, "", 1);
}

/* Four bytes at the end of the last mapped page. */
static void payloads(void)
{
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *bytes = pages + 4092;

	memset(bytes, 'z', 4);
	mprotect(pages + 4096, 4096, PROT_NONE);
	push_payload("size of a page", NVTX_TYPE_PAYLOAD_SCHEMA_RAW, 4096, bytes);
	push_payload("no size", NVTX_TYPE_PAYLOAD_SCHEMA_RAW, SIZE_MAX, bytes);
	push_payload("no schema", 987654321, 4, bytes);
	push_payload("a size too much", NVTX_PAYLOAD_ENTRY_TYPE_INT32, 1 << 20, bytes);
	push_payload("no bytes", NVTX_PAYLOAD_ENTRY_TYPE_INT32, 4, NULL);
	expect_payload("size of a page", "0x7a7a7a7a");
	expect_payload("no schema", "0x7a7a7a7a");
	expect_payload("a size too much", "2054847098");
}

int main(void)
{
	CHECK(cudaMalloc(&data, 64));
	thread_that_ends();
	too_many_pops();
	too_deep();
	names();
	handles();
	payloads();
	nvtxRangePushA("right");
	clear();
	nvtxRangePop();
	nvtxRangePushA("never popped");
	nvtxRangePushA("never popped inside");
	CHECK(cudaDeviceSynchronize());
	expect_range("right", "", 1);
	expect_shadow("right", 1);
	expect_range("never popped", "", 1);
	expect_range("never popped inside", "", 1);
	expect_unfinished("never popped", 1);
	expect_unfinished("never popped inside", 1);
	expect_ledger("ranges_wrong", wrong);
	expect_memset(64, 3, "*");
	expect_call("cudaMemset", 3);
	return 0;
}

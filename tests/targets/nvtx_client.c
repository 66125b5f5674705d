/* SPDX-License-Identifier: Apache-2.0
 *
 * Uses what every NVTX has, from the headers of 2.x, which need a library, to the current ones:
 * built against each of them (with_nvtx_headers.py). Also payloads if available.
 */
#ifdef GT_NVTX_2
#include <nvToolsExt.h>
#include <nvToolsExtCudaRt.h>
#else
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#ifdef GT_NVTX_PAYLOAD
#include <nvtx3/nvToolsExtPayload.h>
#endif
#endif

#include <cuda_runtime_api.h>
#include <pthread.h>
#include <string.h>

#include "tests/targets/expect.h"

static void *data;
static nvtxDomainHandle_t domain;

static __attribute__((noinline)) void clear(void)
{
	CHECK(cudaMemset(data, 0, 64));
}

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

static void in_domain(void)
{
	nvtxEventAttributes_t attributes = named("in a domain");

	attributes.category = 1;
	attributes.colorType = NVTX_COLOR_ARGB;
	attributes.color = 0xff00ff00;
	attributes.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
	attributes.payload.dValue = 0.5;
	nvtxDomainNameCategoryA(domain, 1, "kind");
	nvtxDomainRangePushEx(domain, &attributes);
	clear();
	nvtxDomainRangePop(domain);
	attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	attributes.message.registered = nvtxDomainRegisterStringA(domain, "registered");
	nvtxDomainRangeEnd(domain, nvtxDomainRangeStartEx(domain, &attributes));
	expect_range("in a domain", "old and new", 1);
	expect_range("registered", "old and new", 1);
	expect_payload("in a domain", "0.5");
	expect_payload("registered", "0.5");
	expect_shadow("in a domain", 1);
}

/* Each domain has its own stack: the range that ends first need not have begun last. */
static void crossing(void)
{
	nvtxEventAttributes_t attributes = named("crossed");

	nvtxRangePushA("around both");
	nvtxDomainRangePushEx(domain, &attributes);
	nvtxRangePushA("test::crosses");
	clear();
	nvtxDomainRangePop(domain);
	nvtxRangePushA("in what crosses");
	nvtxRangePop();
	nvtxRangePop();
	nvtxRangePop();
	expect_range("around both", "", 1);
	expect_range("crossed", "old and new", 1);
	expect_range("test::crosses", "", 1);
	expect_range("in what crosses", "", 1);
	expect_shadow("around both", 1);
	expect_shadow("crossed", 1);
	expect_shadow("test::crosses", 1);
}

static void *end_it(void *id)
{
	nvtxNameOsThreadA(0, "not this one");
	nvtxRangeEnd(*(nvtxRangeId_t *)id);
	return NULL;
}

static void across_threads(void)
{
	nvtxRangeId_t id = nvtxRangeStartA("across");
	pthread_t thread;

	clear();
	pthread_create(&thread, NULL, end_it, &id);
	pthread_join(thread, NULL);
	expect_range("across", "", 1);
	expect_shadow("across", 1);
}

static void payload(void)
{
#ifdef GT_NVTX_PAYLOAD
	nvtxPayloadData_t value = {NVTX_PAYLOAD_ENTRY_TYPE_INT32, sizeof(int), &(int){-7}};
	nvtxEventAttributes_t attributes = named("with a payload");

	attributes.payloadType = NVTX_PAYLOAD_TYPE_EXT;
	attributes.reserved0 = 1;
	attributes.payload.ullValue = (uintptr_t)&value;
	if (nvtxDomainIsEnabled(domain)) { /* as Python's package does */
		nvtxDomainRangePushEx(domain, &attributes);
		nvtxDomainRangePop(domain);
	}
	expect_range("with a payload", "old and new", 1);
	expect_payload("with a payload", "-7");
#endif
}

int main(void)
{
	cudaStream_t stream;

	CHECK(cudaMalloc(&data, 64));
	CHECK(cudaStreamCreate(&stream));
	nvtxNameCudaStreamA(stream, "named");
	domain = nvtxDomainCreateA("old and new");
	nvtxRangePushA("outer");
	nvtxRangePushW(L"wide \u00e4\u20ac");
	clear();
	nvtxRangePop();
	nvtxMarkA("mark");
	nvtxRangePop();
	in_domain();
	crossing();
	across_threads();
	payload();
	CHECK(cudaDeviceSynchronize());
	expect_range("outer", "", 1);
	expect_range("wide \u00e4\u20ac", "", 1);
	expect_shadow("outer", 1);
	expect_shadow("wide \u00e4\u20ac", 1);
	expect_mark("mark", 1);
	expect_memset(64, 4, "*");
	expect_call("cudaMemset", 4);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Repeated ranges, of which --step-range=auto selects a single name: see pipeline/ranges/steps.c.
 */
#include <nvtx3/nvToolsExt.h>

#include <cuda_runtime_api.h>
#include <pthread.h>
#include <string.h>

#include "tests/targets/expect.h"

static void *data;
static int clears;

static __attribute__((noinline)) void clear(void)
{
	CHECK(cudaMemset(data, 0, 64));
	clears++;
}

static void in_domain(nvtxDomainHandle_t domain, const char *name)
{
	nvtxEventAttributes_t attributes;

	memset(&attributes, 0, sizeof(attributes));
	attributes.version = NVTX_VERSION;
	attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
	attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
	attributes.message.ascii = name;
	nvtxDomainRangePushEx(domain, &attributes);
	clear();
	nvtxDomainRangePop(domain);
}

/* Ranges that are no steps: in a library's domain, without work, not pushed, not outermost, or by
 * different threads. */
static void no_steps(void)
{
	nvtxDomainHandle_t domain = nvtxDomainCreateA("library");

	for (int i = 0; i < 3; i++) {
		nvtxRangeId_t id;

		in_domain(domain, "of a library");
		nvtxRangePushA("without work");
		nvtxRangePop();
		id = nvtxRangeStartA("started");
		clear();
		nvtxRangeEnd(id);
	}
	nvtxRangePushA("epoch");
	for (int i = 0; i < 3; i++) {
		nvtxRangePushA("inside");
		clear();
		nvtxRangePop();
	}
	nvtxRangePop();
	expect_range("of a library", "library", 3);
	expect_range("without work", "", 3);
	expect_range("started", "", 3);
	expect_range("epoch", "", 1);
	expect_range("inside", "", 3);
	expect_shadow("of a library", 3);
	expect_shadow("started", 3);
	expect_shadow("epoch", 1);
	expect_shadow("inside", 3);
}

static void *train_once(void *unused)
{
	nvtxRangePushA("train");
	clear();
	nvtxRangePop();
	return unused;
}

static void on_another_thread(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, train_once, NULL);
	pthread_join(thread, NULL);
}

int main(void)
{
	CHECK(cudaMalloc(&data, 64));
	no_steps();
	on_another_thread(); /* not the same thread's */
	train_once(NULL);    /* recognized as a step at the next one */
	for (int i = 0; i < 2; i++) {
		nvtxRangePushA("train");
		train_once(NULL); /* a step inside a step is not renamed */
		nvtxRangePop();
	}
	on_another_thread(); /* not the thread of the steps */
	CHECK(cudaDeviceSynchronize());
	expect_range("train", "", 2 + 3);
	expect_shadow("train", 2 + 3);
	for (int i = 1; i <= 2; i++) {
		char name[32];

		snprintf(name, sizeof(name), "ProfilerStep#%d", i);
		expect_range(name, "", 1);
		expect_shadow(name, 1);
	}
	expect_memset(64, clears, "*");
	expect_call("cudaMemset", clears);
	return 0;
}

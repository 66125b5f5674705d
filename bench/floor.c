/* SPDX-License-Identifier: Apache-2.0
 *
 * The least that a CUPTI tool costs, as a base line (CUDA_INJECTION64_PATH): it enables the calls,
 * kinds and attributes of the tracer, but callbacks only count, and buffers are recycled unread.
 * GPUTRACE_FLOOR_BUFFER=BYTES sets the size of a buffer, GPUTRACE_FLOOR_PER_THREAD=0|1 whether each
 * thread has one, GPUTRACE_FLOOR_CALLS=0 leaves the callbacks out, GPUTRACE_FLOOR_KINDS=N enables
 * the first N kinds only.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "collectors/cupti/library/load.h"
#include "core/schema/cuda_api.h"

#define BUFFERS_MAX 64

static struct gt_cupti_api api;
static __thread unsigned long count;
static size_t buffer_bytes;

static struct {
	pthread_mutex_t lock;
	uint8_t *free[BUFFERS_MAX];
	int count;
} buffers = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void CUPTIAPI on_callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
				 const void *data)
{
	count++;
}

static void CUPTIAPI on_request(uint8_t **buffer, size_t *size, size_t *records)
{
	pthread_mutex_lock(&buffers.lock);
	*buffer = buffers.count ? buffers.free[--buffers.count] : NULL;
	pthread_mutex_unlock(&buffers.lock);
	if (!*buffer)
		*buffer = aligned_alloc(8, buffer_bytes);
	*size = *buffer ? buffer_bytes : 0;
	*records = 0;
}

static void CUPTIAPI on_complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
				 size_t valid)
{
	bool kept;

	pthread_mutex_lock(&buffers.lock);
	kept = buffers.count < BUFFERS_MAX;
	if (kept)
		buffers.free[buffers.count++] = buffer;
	pthread_mutex_unlock(&buffers.lock);
	if (!kept)
		free(buffer);
}

static void enable_calls(CUpti_SubscriberHandle subscriber)
{
	static const CUpti_CallbackDomain domains[GT_API_DOMAIN_COUNT_] = {
		[GT_API_RUNTIME] = CUPTI_CB_DOMAIN_RUNTIME_API,
		[GT_API_DRIVER] = CUPTI_CB_DOMAIN_DRIVER_API,
	};
	struct gt_cuda_set wanted;

	gt_cuda_set_init(&wanted, GT_CUDA_DEFAULT | GT_CUDA_FLUSH_BEFORE);
	for (int domain = 0; domain < GT_API_DOMAIN_COUNT_; domain++)
		for (uint32_t cbid = 1; cbid < gt_cuda_api_end((enum gt_api_domain)domain); cbid++)
			if (gt_cuda_set_has(&wanted, (enum gt_api_domain)domain, cbid))
				api.cuptiEnableCallback(1, subscriber, domains[domain], cbid);
}

static unsigned long number(const char *name, unsigned long otherwise)
{
	const char *value = getenv(name);

	return value ? strtoul(value, NULL, 0) : otherwise;
}

static void set_attribute(CUpti_ActivityAttribute attribute, uint8_t value)
{
	size_t size = sizeof(value);

	if (api.cuptiActivitySetAttribute)
		api.cuptiActivitySetAttribute(attribute, &size, &value);
}

/* Each thread has a buffer, as under the tracer. */
static void set_attributes(void)
{
	set_attribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, 0);
	set_attribute(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER,
		      number("GPUTRACE_FLOOR_PER_THREAD", 1) != 0);
	buffer_bytes = number("GPUTRACE_FLOOR_BUFFER", 4ul << 20);
}

__attribute__((visibility("default"))) int InitializeInjection(void);

int InitializeInjection(void)
{
	static const CUpti_ActivityKind kinds[] = {
		CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
		CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET,
		CUPTI_ACTIVITY_KIND_OVERHEAD};
	CUpti_SubscriberHandle subscriber;
	char why[256] = "cuptiSubscribe was refused";

	if (gt_cupti_load("", GT_CUPTI_IN_INIT, &api, why, sizeof(why)) ||
	    api.cuptiSubscribe(&subscriber, on_callback, NULL) != CUPTI_SUCCESS) {
		fprintf(stderr, "floor: no CUPTI: %s\n", why);
		return 0;
	}
	set_attributes();
	api.cuptiActivityRegisterCallbacks(on_request, on_complete);
	if (number("GPUTRACE_FLOOR_CALLS", 1))
		enable_calls(subscriber);
	for (size_t i = 0; i < number("GPUTRACE_FLOOR_KINDS", sizeof(kinds) / sizeof(kinds[0]));
	     i++)
		api.cuptiActivityEnable(kinds[i]);
	return 1;
}

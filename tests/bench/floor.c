/* SPDX-License-Identifier: Apache-2.0
 *
 * The bare minimum of a CUPTI tool, to compare with (CUDA_INJECTION64_PATH): the same calls and kinds
 * are enabled, callbacks only count, buffers are thrown away.
 */
#include <cupti.h>
#include <dlfcn.h>
#include <stdlib.h>

#include "collectors/cuda_api.h"

static __thread unsigned long count;

static void CUPTIAPI on_callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
				 const void *data)
{
	count++;
}

static void CUPTIAPI on_request(uint8_t **buffer, size_t *size, size_t *records)
{
	*size = 4 << 20;
	*records = 0;
	*buffer = aligned_alloc(8, *size);
}

static void CUPTIAPI on_complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
				 size_t valid)
{
	free(buffer);
}

static void *cupti(const char *name)
{
	static void *library;

	if (!library)
		library = dlopen("libcupti.so.13", RTLD_NOW);
	return library ? dlsym(library, name) : NULL;
}

#define CALL(name) ((__typeof__(&name))cupti(#name))

static void enable_calls(CUpti_SubscriberHandle subscriber)
{
	struct gt_cuda_set wanted;

	gt_cuda_set_init(&wanted, GT_CUDA_DEFAULT | GT_CUDA_FLUSH_BEFORE);
	for (int domain = 0; domain < GT_API_DOMAIN_COUNT_; domain++) {
		for (uint32_t cbid = 1; cbid < gt_cuda_api_end((enum gt_api_domain)domain);
		     cbid++) {
			if (gt_cuda_set_has(&wanted, (enum gt_api_domain)domain, cbid))
				CALL(cuptiEnableCallback)
			(1, subscriber,
			 domain == GT_API_RUNTIME ? CUPTI_CB_DOMAIN_RUNTIME_API
						  : CUPTI_CB_DOMAIN_DRIVER_API,
			 cbid);
		}
	}
}

__attribute__((visibility("default"))) int InitializeInjection(void);

int InitializeInjection(void)
{
	CUpti_SubscriberHandle subscriber;

	if (!cupti("cuptiSubscribe"))
		return 0;
	CALL(cuptiSubscribe)(&subscriber, on_callback, NULL);
	CALL(cuptiActivityRegisterCallbacks)(on_request, on_complete);
	enable_calls(subscriber);
	CALL(cuptiActivityEnable)(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	CALL(cuptiActivityEnable)(CUPTI_ACTIVITY_KIND_MEMCPY);
	CALL(cuptiActivityEnable)(CUPTI_ACTIVITY_KIND_MEMSET);
	CALL(cuptiActivityEnable)(CUPTI_ACTIVITY_KIND_OVERHEAD);
	return 1;
}

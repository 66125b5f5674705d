/* SPDX-License-Identifier: Apache-2.0
 *
 * CUPTI's callback, on application threads, often with locks of the driver held. An API callback
 * becomes gt_call_enter or gt_call_exit; the others are few and rare. No CUPTI call here but the
 * flush before a context goes away, which CUPTI allows in API callbacks.
 */
#include "collectors/call.h"
#include "collectors/cuda_api.h"
#include "collectors/cupti_internal.h"
#include "core/forkguard.h"

static enum gt_api_domain domain_of(CUpti_CallbackDomain domain)
{
	return domain == CUPTI_CB_DOMAIN_RUNTIME_API ? GT_API_RUNTIME : GT_API_DRIVER;
}

/* Both result types are 32-bit enums with 0 for success. */
static int32_t result_of(const CUpti_CallbackData *data)
{
	return data->functionReturnValue ? *(const int32_t *)data->functionReturnValue : 0;
}

/* All records of a context are lost with it (REQ-39). */
static void flush_before(enum gt_api_domain domain, uint32_t cbid)
{
	const struct gt_cuda_api *api = gt_cuda_api_find(domain, cbid);

	if (api && api->flags & GT_CUDA_FLUSH_BEFORE &&
	    !atomic_load_explicit(&gt_cupti.dead, memory_order_relaxed))
		gt_cupti.api.cuptiActivityFlushAll(0);
}

static void on_api(CUpti_CallbackDomain cupti_domain, uint32_t cbid, const CUpti_CallbackData *data)
{
	enum gt_api_domain domain = domain_of(cupti_domain);

	if (data->callbackSite == CUPTI_API_ENTER) {
		flush_before(domain, cbid);
		gt_call_enter(domain, cbid, data->correlationId);
	} else {
		gt_call_exit(domain, cbid, result_of(data));
	}
}

static void on_init_finished(void)
{
	if (!atomic_exchange(&gt_cupti.init_finished, true) && gt_cupti.on_init_finished)
		gt_cupti.on_init_finished();
}

static void on_resource(CUpti_CallbackId cbid)
{
	switch (cbid) {
	case CUPTI_CBID_RESOURCE_CU_INIT_FINISHED:
	case CUPTI_CBID_RESOURCE_CONTEXT_CREATED: /* where the former does not come */
		on_init_finished();
		break;
	case CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED:
		gt_call_mark_captured();
		break;
	default:
		break;
	}
}

static void on_state(CUpti_CallbackId cbid, const void *data)
{
	const CUpti_StateData *state = data;

	if (cbid != CUPTI_CBID_STATE_FATAL_ERROR)
		return;
	atomic_store(&gt_cupti.dead, true);
	atomic_store(&gt_cupti.fatal, state && state->notification.message
					      ? state->notification.message
					      : "CUPTI reported a fatal error");
}

void CUPTIAPI gt_cupti_callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
				const void *data)
{
	(void)user;
	if (!gt_forkguard_holds() || !atomic_load_explicit(&gt_cupti.active, memory_order_relaxed))
		return;
	if (domain == CUPTI_CB_DOMAIN_RUNTIME_API || domain == CUPTI_CB_DOMAIN_DRIVER_API)
		on_api(domain, cbid, data);
	else if (domain == CUPTI_CB_DOMAIN_RESOURCE)
		on_resource(cbid);
	else if (domain == CUPTI_CB_DOMAIN_STATE)
		on_state(cbid, data);
}

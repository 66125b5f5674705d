/* SPDX-License-Identifier: Apache-2.0
 *
 * The one subscriber, and which callbacks it wants. Any thread.
 */
#include "cupti/cupti_sim.h"

#include <stdio.h>
#include <string.h>

#define PREFIX "CUPTI for "

/* As cuptiSubscribe_v2 tells it to whoever comes second. */
static char owner[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN];

static void set_owner(const char *name)
{
	snprintf(owner, sizeof(owner), "%s%.*s", name ? PREFIX : "CUPTI",
		 CUPTI_SUBSCRIBER_NAME_MAX_LEN, name ? name : "");
}

/* The handle is never read by clients; any address of ours will do. */
static CUpti_SubscriberHandle handle(void)
{
	return (CUpti_SubscriberHandle)&cupti.subscribed;
}

static CUptiResult subscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
			     void *user)
{
	CUptiResult result = cupti_check();

	if (result)
		return result;
	if (!subscriber)
		return cupti_fail(CUPTI_ERROR_INVALID_PARAMETER);
	if (cupti.faults.subscribe) {
		cupti.table->truth("{\"truth\":\"fault\",\"fault\":\"subscribe\",\"result\":%d}\n",
				   cupti.faults.subscribe);
		snprintf(owner, sizeof(owner), "simulated tool");
		return cupti_fail(cupti.faults.subscribe);
	}
	if (atomic_exchange(&cupti.subscribed, true))
		return cupti_fail(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
	memset(cupti.callbacks, 0, sizeof(cupti.callbacks));
	cupti.user = user;
	cupti.callback = callback;
	*subscriber = handle();
	return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiSubscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
				    void *user)
{
	CUptiResult result = subscribe(subscriber, callback, user);

	if (!result)
		set_owner(NULL);
	return result;
}

CUptiResult CUPTIAPI cuptiSubscribe_v2(CUpti_SubscriberHandle *subscriber,
				       CUpti_CallbackFunc callback, void *user,
				       CUpti_SubscriberParams *params)
{
	CUptiResult result;

	if (params && params->structSize < CUpti_SubscriberParams_STRUCT_SIZE)
		return cupti_fail(CUPTI_ERROR_INVALID_PARAMETER);
	result = subscribe(subscriber, callback, user);
	if (!result)
		set_owner(params ? params->subscriberName : NULL);
	if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED && params &&
	    params->oldSubscriberName && params->oldSubscriberSize)
		snprintf(params->oldSubscriberName, params->oldSubscriberSize, "%s", owner);
	return result;
}

void cupti_unsubscribe_all(void)
{
	memset(cupti.callbacks, 0, sizeof(cupti.callbacks));
	cupti.callback = NULL;
	cupti.subscribed = false;
}

CUptiResult CUPTIAPI cuptiUnsubscribe(CUpti_SubscriberHandle subscriber)
{
	CUptiResult result = cupti_check();

	if (result)
		return result;
	if (subscriber != handle() || !cupti.subscribed)
		return cupti_fail(CUPTI_ERROR_INVALID_PARAMETER);
	cupti_unsubscribe_all();
	return CUPTI_SUCCESS;
}

static CUptiResult check(CUpti_SubscriberHandle subscriber, unsigned int domain)
{
	CUptiResult result = cupti_check();

	if (result)
		return result;
	if (subscriber != handle() || !cupti.subscribed || !domain ||
	    domain >= CUPTI_CB_DOMAIN_SIZE)
		return cupti_fail(CUPTI_ERROR_INVALID_PARAMETER);
	return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber,
					 CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
	CUptiResult result = check(subscriber, domain);

	if (result)
		return result;
	if (!cbid || cbid >= SIM_MAX_CBID)
		return cupti_fail(CUPTI_ERROR_INVALID_PARAMETER);
	cupti.callbacks[domain][cbid] = enable != 0;
	return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle subscriber,
				       CUpti_CallbackDomain domain)
{
	CUptiResult result = check(subscriber, domain);

	if (!result)
		memset(cupti.callbacks[domain], enable != 0, SIM_MAX_CBID);
	return result;
}

CUptiResult CUPTIAPI cuptiEnableAllDomains(uint32_t enable, CUpti_SubscriberHandle subscriber)
{
	CUptiResult result = check(subscriber, CUPTI_CB_DOMAIN_DRIVER_API);

	if (!result)
		memset(cupti.callbacks, enable != 0, sizeof(cupti.callbacks));
	return result;
}

CUptiResult CUPTIAPI cuptiGetCallbackState(uint32_t *enable, CUpti_SubscriberHandle subscriber,
					   CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
	CUptiResult result = check(subscriber, domain);

	if (result)
		return result;
	if (!enable || !cbid || cbid >= SIM_MAX_CBID)
		return cupti_fail(CUPTI_ERROR_INVALID_PARAMETER);
	*enable = cupti.callbacks[domain][cbid];
	return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiSupportedDomains(size_t *count, CUpti_DomainTable *table)
{
	static CUpti_CallbackDomain domains[] = {
		CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_CB_DOMAIN_RESOURCE,
		CUPTI_CB_DOMAIN_SYNCHRONIZE, CUPTI_CB_DOMAIN_STATE};

	*count = SIM_CUPTI_VERSION >= 20 ? 5 : 4;
	*table = domains;
	return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t cbid,
					  const char **name)
{
	const char *found = NULL;

	if (name && cbid < SIM_MAX_CBID && domain == CUPTI_CB_DOMAIN_DRIVER_API)
		found = sim_driver_names[cbid];
	if (name && cbid < SIM_MAX_CBID && domain == CUPTI_CB_DOMAIN_RUNTIME_API)
		found = sim_runtime_names[cbid];
	if (!found)
		return cupti_fail(CUPTI_ERROR_INVALID_PARAMETER);
	*name = found;
	return CUPTI_SUCCESS;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * The one subscriber, and which callbacks it wants. Any thread.
 */
#include "cupti/cupti_sim.h"

#include <stdio.h>

#define PREFIX "CUPTI for "

/* As cuptiSubscribe_v2 tells it to whoever comes second. */
static pthread_mutex_t owner_mutex = PTHREAD_MUTEX_INITIALIZER;
static char owner[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN];

static void set_owner(const char *prefix, const char *name)
{
	pthread_mutex_lock(&owner_mutex);
	snprintf(owner, sizeof(owner), "%s%.*s", prefix, CUPTI_SUBSCRIBER_NAME_MAX_LEN, name);
	pthread_mutex_unlock(&owner_mutex);
}

static void tell_owner(const CUpti_SubscriberParams *params)
{
	pthread_mutex_lock(&owner_mutex);
	snprintf(params->oldSubscriberName, params->oldSubscriberSize, "%s", owner);
	pthread_mutex_unlock(&owner_mutex);
}

static void switch_callbacks(bool on)
{
	cupti_switch_all(cupti.callbacks[0], sizeof(cupti.callbacks), on);
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
		set_owner("simulated tool", "");
		return cupti_fail(cupti.faults.subscribe);
	}
	if (atomic_exchange(&cupti.subscribed, true))
		return cupti_fail(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
	switch_callbacks(false);
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
		set_owner("CUPTI", "");
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
	if (!result && params && params->subscriberName)
		set_owner(PREFIX, params->subscriberName);
	else if (!result)
		set_owner("CUPTI", "");
	if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED && params &&
	    params->oldSubscriberName && params->oldSubscriberSize)
		tell_owner(params);
	return result;
}

void cupti_unsubscribe_all(void)
{
	switch_callbacks(false);
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
		cupti_switch_all(cupti.callbacks[domain], SIM_MAX_CBID, enable != 0);
	return result;
}

CUptiResult CUPTIAPI cuptiEnableAllDomains(uint32_t enable, CUpti_SubscriberHandle subscriber)
{
	CUptiResult result = check(subscriber, CUPTI_CB_DOMAIN_DRIVER_API);

	if (!result)
		switch_callbacks(enable != 0);
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
	CUptiResult started = cupti_check_started();
	const char *found = NULL;

	if (started)
		return started;
	if (name && cbid < SIM_MAX_CBID && domain == CUPTI_CB_DOMAIN_DRIVER_API)
		found = sim_driver_names[cbid];
	if (name && cbid < SIM_MAX_CBID && domain == CUPTI_CB_DOMAIN_RUNTIME_API)
		found = sim_runtime_names[cbid];
	if (!found)
		return cupti_fail(CUPTI_ERROR_INVALID_PARAMETER);
	*name = found;
	return CUPTI_SUCCESS;
}

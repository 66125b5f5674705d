/* SPDX-License-Identifier: Apache-2.0
 *
 * The subscriber of other tools, see the header. Which callbacks it wants is a bit each; CUPTI has
 * those enabled that it or we want.
 */
#include <stdatomic.h>

#include "collectors/cupti/internal.h"
#include "collectors/cupti/relay.h"
#include "core/guest/forkguard.h"

static struct {
	_Atomic bool taken;
	_Atomic(CUpti_CallbackFunc) callback; /* NULL: none to be called */
	void *_Atomic user;
	struct gt_cupti_callbacks wanted;
} tool;

/* Never read by tools: an address that CUPTI does not hand out. */
static CUpti_SubscriberHandle handle(void)
{
	return (CUpti_SubscriberHandle)(void *)&tool;
}

static CUptiResult set(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, bool enable)
{
	CUptiResult result = CUPTI_SUCCESS;

	if (!gt_cupti_callbacks_set(&tool.wanted, domain, cbid, enable))
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (gt_cupti_relay_is_on() && !gt_cupti_callbacks_has(&gt_cupti.wanted, domain, cbid))
		result =
			gt_cupti.api.cuptiEnableCallback(enable, gt_cupti.subscriber, domain, cbid);
	if (result != CUPTI_SUCCESS)
		gt_cupti_callbacks_set(&tool.wanted, domain, cbid, false);
	return result;
}

/* Most ids of a domain exist not: CUPTI refuses those. */
static CUptiResult set_domain(CUpti_CallbackDomain domain, bool enable)
{
	CUptiResult result = CUPTI_ERROR_INVALID_PARAMETER;

	for (CUpti_CallbackId cbid = 1; cbid < GT_CUPTI_CBIDS; cbid++) {
		bool was = gt_cupti_callbacks_has(&tool.wanted, domain, cbid);

		if ((enable || was) && set(domain, cbid, enable) == CUPTI_SUCCESS)
			result = CUPTI_SUCCESS;
	}
	return enable ? result : CUPTI_SUCCESS;
}

static CUptiResult set_domains(CUpti_CallbackDomain domain, bool enable)
{
	if (domain != GT_CUPTI_ALL_DOMAINS)
		return set_domain(domain, enable);
	for (int i = 1; i < GT_CUPTI_DOMAINS; i++)
		set_domain((CUpti_CallbackDomain)i, enable);
	return CUPTI_SUCCESS;
}

bool gt_cupti_relay_subscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
			      void *user, CUptiResult *ret_result)
{
	if (!gt_cupti_relay_is_on())
		return false;
	*ret_result = CUPTI_ERROR_INVALID_PARAMETER;
	if (!subscriber)
		return true;
	*ret_result = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	if (atomic_exchange(&tool.taken, true))
		return true;
	atomic_store(&tool.user, user);
	atomic_store(&tool.callback, callback);
	*subscriber = handle();
	*ret_result = CUPTI_SUCCESS;
	return true;
}

void gt_cupti_relay_forget_callbacks(void)
{
	atomic_store(&tool.callback, NULL);
	set_domains(GT_CUPTI_ALL_DOMAINS, false);
	atomic_store(&tool.taken, false);
}

/* @ret_result: what CUPTI says to a handle that is not subscribed. False: another's handle. */
static bool is_handle(CUpti_SubscriberHandle subscriber, CUptiResult *ret_result)
{
	bool taken = atomic_load(&tool.taken);

	*ret_result = taken ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
	return subscriber == handle();
}

bool gt_cupti_relay_unsubscribe(CUpti_SubscriberHandle subscriber, CUptiResult *ret_result)
{
	if (!is_handle(subscriber, ret_result))
		return false;
	if (*ret_result == CUPTI_SUCCESS)
		gt_cupti_relay_forget_callbacks();
	return true;
}

bool gt_cupti_relay_enable_callback(bool enable, CUpti_SubscriberHandle subscriber,
				    CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
				    CUptiResult *ret_result)
{
	if (!is_handle(subscriber, ret_result))
		return false;
	if (*ret_result == CUPTI_SUCCESS)
		*ret_result = set(domain, cbid, enable);
	return true;
}

bool gt_cupti_relay_enable_domain(bool enable, CUpti_SubscriberHandle subscriber,
				  CUpti_CallbackDomain domain, CUptiResult *ret_result)
{
	if (!is_handle(subscriber, ret_result))
		return false;
	if (*ret_result == CUPTI_SUCCESS)
		*ret_result = set_domains(domain, enable);
	return true;
}

bool gt_cupti_relay_callback_state(uint32_t *ret_enabled, CUpti_SubscriberHandle subscriber,
				   CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
				   CUptiResult *ret_result)
{
	if (!is_handle(subscriber, ret_result))
		return false;
	if (*ret_result == CUPTI_SUCCESS && ret_enabled)
		*ret_enabled = gt_cupti_callbacks_has(&tool.wanted, domain, cbid);
	return true;
}

void gt_cupti_relay_restore_callbacks(void)
{
	for (int domain = 1; domain < GT_CUPTI_DOMAINS; domain++) {
		for (CUpti_CallbackId cbid = 1; cbid < GT_CUPTI_CBIDS; cbid++) {
			if (gt_cupti_callbacks_has(&tool.wanted, domain, cbid))
				set((CUpti_CallbackDomain)domain, cbid, true);
		}
	}
}

bool gt_cupti_relay_has_callbacks(void)
{
	return atomic_load_explicit(&tool.callback, memory_order_relaxed) != NULL;
}

void gt_cupti_relay_callback(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void *data)
{
	CUpti_CallbackFunc callback = atomic_load(&tool.callback);

	if (callback && gt_cupti_callbacks_has(&tool.wanted, domain, cbid))
		callback(atomic_load(&tool.user), domain, cbid, data);
}

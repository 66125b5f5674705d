/* SPDX-License-Identifier: Apache-2.0
 *
 * The interposed calls of CUPTI: another tool in this process is seen when it takes what we have,
 * and is given what it asks for: by us, where both can have it (collectors/cupti/relay.h). Else
 * each calls the function that its caller would have reached without us, with the same arguments,
 * and returns what that returned; but cuptiFinalize, which ends what everybody has in CUPTI, ends
 * what its caller has there. Application threads, a few times a session.
 *
 * Our own calls of CUPTI never come here: they go by address (collectors/cupti/library/load.c).
 * Calls of libcupti to itself may; they are passed on and mean nothing.
 */
#include <errno.h>
#include <string.h>

#include <cupti.h>

#include "collectors/cupti/cupti.h"
#include "collectors/cupti/foreign.h"
#include "collectors/cupti/relay.h"
#include "pipeline/sources/coexist.h"
#include "preload/forward.h"

#define EXPORTED       __attribute__((visibility("default")))
#define RETURN_ADDRESS __builtin_return_address(0)

/* The function's own name is its symbol; in C it has another, as the toolkit declares that one. */
#define HOOK(symbol, ...)                                                                          \
	EXPORTED CUptiResult gt_hook_##symbol(__VA_ARGS__) __asm__(#symbol);                       \
	CUptiResult gt_hook_##symbol(__VA_ARGS__)

struct cupti_hooks_call {
	void *real;
	const char *caller; /* file name of the library that calls; NULL: libcupti itself */
	bool is_served;     /* a tool that may share our CUPTI */
};

static const char *file_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	if (slash && slash[1])
		return slash + 1;
	return path && *path ? path : program_invocation_short_name;
}

static struct cupti_hooks_call find(const char *symbol, const void *return_address)
{
	struct gt_forward_named found = gt_forward_by_name(symbol, return_address);

	return (struct cupti_hooks_call){.real = found.target,
					 .caller = found.own ? NULL : file_name(found.caller),
					 .is_served =
						 !found.own && gt_cupti_relay_serves(found.target)};
}

#define FIND(symbol) find(#symbol, RETURN_ADDRESS)

HOOK(cuptiSubscribe, CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
     void *userdata)
{
	struct cupti_hooks_call call = FIND(cuptiSubscribe);
	CUptiResult (*real)(CUpti_SubscriberHandle *, CUpti_CallbackFunc, void *) = call.real;
	CUptiResult result;

	if (!real)
		return CUPTI_ERROR_NOT_INITIALIZED;
	if (call.is_served && gt_cupti_relay_subscribe(subscriber, callback, userdata, &result))
		return result;
	if (call.caller)
		gt_coexist_before_subscribe(call.caller);
	result = real(subscriber, callback, userdata);
	if (call.caller && result == CUPTI_SUCCESS)
		gt_cupti_foreign_subscribed(*subscriber);
	return result;
}

/* @params: CUpti_SubscriberParams, which older headers lack. */
HOOK(cuptiSubscribe_v2, CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
     void *userdata, void *params)
{
	struct cupti_hooks_call call = FIND(cuptiSubscribe_v2);
	CUptiResult (*real)(CUpti_SubscriberHandle *, CUpti_CallbackFunc, void *, void *) =
		call.real;
	CUptiResult result;

	if (!real)
		return CUPTI_ERROR_NOT_INITIALIZED;
	if (call.caller)
		gt_coexist_before_subscribe(call.caller);
	result = real(subscriber, callback, userdata, params);
	if (call.caller && result == CUPTI_SUCCESS)
		gt_cupti_foreign_subscribed(*subscriber);
	return result;
}

HOOK(cuptiUnsubscribe, CUpti_SubscriberHandle subscriber)
{
	struct cupti_hooks_call call = FIND(cuptiUnsubscribe);
	CUptiResult (*real)(CUpti_SubscriberHandle) = call.real;
	CUptiResult result;

	if (gt_cupti_relay_unsubscribe(subscriber, &result))
		return result;
	result = real ? real(subscriber) : CUPTI_ERROR_NOT_INITIALIZED;
	if (call.caller && result == CUPTI_SUCCESS)
		gt_cupti_foreign_unsubscribed();
	return result;
}

HOOK(cuptiEnableCallback, uint32_t enable, CUpti_SubscriberHandle subscriber,
     CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
	CUptiResult (*real)(uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain,
			    CUpti_CallbackId) = FIND(cuptiEnableCallback).real;
	CUptiResult result;

	if (gt_cupti_relay_enable_callback(enable, subscriber, domain, cbid, &result))
		return result;
	return real ? real(enable, subscriber, domain, cbid) : CUPTI_ERROR_NOT_INITIALIZED;
}

HOOK(cuptiEnableDomain, uint32_t enable, CUpti_SubscriberHandle subscriber,
     CUpti_CallbackDomain domain)
{
	CUptiResult (*real)(uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain) =
		FIND(cuptiEnableDomain).real;
	CUptiResult result;

	if (gt_cupti_relay_enable_domain(enable, subscriber, domain, &result))
		return result;
	return real ? real(enable, subscriber, domain) : CUPTI_ERROR_NOT_INITIALIZED;
}

HOOK(cuptiEnableAllDomains, uint32_t enable, CUpti_SubscriberHandle subscriber)
{
	CUptiResult (*real)(uint32_t, CUpti_SubscriberHandle) = FIND(cuptiEnableAllDomains).real;
	CUptiResult result;

	if (gt_cupti_relay_enable_domain(enable, subscriber, GT_CUPTI_ALL_DOMAINS, &result))
		return result;
	return real ? real(enable, subscriber) : CUPTI_ERROR_NOT_INITIALIZED;
}

HOOK(cuptiGetCallbackState, uint32_t *enable, CUpti_SubscriberHandle subscriber,
     CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
	CUptiResult (*real)(uint32_t *, CUpti_SubscriberHandle, CUpti_CallbackDomain,
			    CUpti_CallbackId) = FIND(cuptiGetCallbackState).real;
	CUptiResult result;

	if (gt_cupti_relay_callback_state(enable, subscriber, domain, cbid, &result))
		return result;
	return real ? real(enable, subscriber, domain, cbid) : CUPTI_ERROR_NOT_INITIALIZED;
}

HOOK(cuptiFinalize, void)
{
	struct cupti_hooks_call call = FIND(cuptiFinalize);
	CUptiResult (*real)(void) = call.real;
	CUptiResult result;

	if (!real)
		return CUPTI_ERROR_NOT_INITIALIZED;
	if (call.caller && gt_cupti_foreign_finalizing(call.caller))
		return CUPTI_SUCCESS;
	result = real();
	if (call.caller && result == CUPTI_SUCCESS)
		gt_cupti_foreign_finalized();
	return result;
}

HOOK(cuptiActivityRegisterCallbacks, CUpti_BuffersCallbackRequestFunc requested,
     CUpti_BuffersCallbackCompleteFunc completed)
{
	struct cupti_hooks_call call = FIND(cuptiActivityRegisterCallbacks);
	CUptiResult (*real)(CUpti_BuffersCallbackRequestFunc, CUpti_BuffersCallbackCompleteFunc) =
		call.real;

	if (!real)
		return CUPTI_ERROR_NOT_INITIALIZED;
	if (call.is_served && requested && completed &&
	    gt_cupti_relay_register(requested, completed))
		return CUPTI_SUCCESS;
	if (call.caller && requested && completed)
		gt_cupti_foreign_registering(call.caller, requested, completed);
	return real(requested, completed);
}

HOOK(cuptiActivityRegisterTimestampCallback, CUpti_TimestampCallbackFunc timestamp)
{
	struct cupti_hooks_call call = FIND(cuptiActivityRegisterTimestampCallback);
	CUptiResult (*real)(CUpti_TimestampCallbackFunc) = call.real;
	CUptiResult result;

	if (!real)
		return CUPTI_ERROR_NOT_INITIALIZED;
	if (call.is_served && gt_cupti_relay_has_clock(timestamp))
		return CUPTI_SUCCESS;
	if (call.caller)
		gt_cupti_clock_changing();
	result = real(timestamp);
	gt_cupti_clock_changed();
	if (call.caller && result == CUPTI_SUCCESS)
		gt_cupti_foreign_clock(call.caller, timestamp);
	return result;
}

/* What is on for us stays on. */
static bool may_set(const struct cupti_hooks_call *call, CUpti_ActivityKind kind)
{
	return !call->is_served || !gt_cupti_relay_keeps_kind(kind);
}

static CUptiResult see_kind(const struct cupti_hooks_call *call, CUpti_ActivityKind kind,
			    bool enabled, CUptiResult result)
{
	if (call->caller && result == CUPTI_SUCCESS)
		gt_cupti_foreign_kind((uint32_t)kind, enabled);
	return result;
}

static CUptiResult set_kind(const struct cupti_hooks_call *call, CUpti_ActivityKind kind,
			    bool enabled)
{
	CUptiResult (*real)(CUpti_ActivityKind) = call->real;
	CUptiResult result = CUPTI_SUCCESS;

	if (!real)
		return CUPTI_ERROR_NOT_INITIALIZED;
	if (may_set(call, kind))
		result = real(kind);
	return see_kind(call, kind, enabled, result);
}

HOOK(cuptiActivityEnable, CUpti_ActivityKind kind)
{
	struct cupti_hooks_call call = FIND(cuptiActivityEnable);

	return set_kind(&call, kind, true);
}

HOOK(cuptiActivityDisable, CUpti_ActivityKind kind)
{
	struct cupti_hooks_call call = FIND(cuptiActivityDisable);

	return set_kind(&call, kind, false);
}

HOOK(cuptiActivityEnableAndDump, CUpti_ActivityKind kind)
{
	struct cupti_hooks_call call = FIND(cuptiActivityEnableAndDump);
	CUptiResult (*real)(CUpti_ActivityKind) = call.real;

	if (!real)
		return CUPTI_ERROR_NOT_INITIALIZED;
	if (gt_cupti_relay_is_on()) /* before the dump */
		see_kind(&call, kind, true, CUPTI_SUCCESS);
	return see_kind(&call, kind, true, real(kind));
}

static CUptiResult set_context_kind(const struct cupti_hooks_call *call, CUcontext context,
				    CUpti_ActivityKind kind, bool enabled)
{
	CUptiResult (*real)(CUcontext, CUpti_ActivityKind) = call->real;
	CUptiResult result = CUPTI_SUCCESS;

	if (!real)
		return CUPTI_ERROR_NOT_INITIALIZED;
	if (may_set(call, kind))
		result = real(context, kind);
	return see_kind(call, kind, enabled, result);
}

HOOK(cuptiActivityEnableContext, CUcontext context, CUpti_ActivityKind kind)
{
	struct cupti_hooks_call call = FIND(cuptiActivityEnableContext);

	return set_context_kind(&call, context, kind, true);
}

HOOK(cuptiActivityDisableContext, CUcontext context, CUpti_ActivityKind kind)
{
	struct cupti_hooks_call call = FIND(cuptiActivityDisableContext);

	return set_context_kind(&call, context, kind, false);
}

HOOK(cuptiActivityFlushAll, uint32_t flag)
{
	struct cupti_hooks_call call = FIND(cuptiActivityFlushAll);
	CUptiResult (*real)(uint32_t) = call.real;
	CUptiResult result;

	if (!real)
		return CUPTI_ERROR_NOT_INITIALIZED;
	if (call.is_served && gt_cupti_relay_flush(flag, &result))
		return result;
	return real(flag);
}

HOOK(cuptiActivityGetNumDroppedRecords, CUcontext context, uint32_t stream, size_t *dropped)
{
	struct cupti_hooks_call call = FIND(cuptiActivityGetNumDroppedRecords);
	CUptiResult (*real)(CUcontext, uint32_t, size_t *) = call.real;
	CUptiResult result;

	if (!real)
		return CUPTI_ERROR_NOT_INITIALIZED;
	if (call.is_served && gt_cupti_relay_dropped(dropped, &result))
		return result;
	return real(context, stream, dropped);
}

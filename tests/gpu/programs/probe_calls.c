/* SPDX-License-Identifier: Apache-2.0
 *
 * Callbacks, subscriptions and ids. See probes.def.
 */
#include "probes.h"

#include <dlfcn.h>

bool probe_second_subscriber(void)
{
	CUpti_SubscriberHandle other;
	CUptiResult result;

	rig_start();
	result = rig.cupti.cuptiSubscribe(&other, NULL, NULL);
	return probe_seen(result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, "result %d",
			  result);
}

bool probe_callbacks_on_caller(void)
{
	const struct rig_callback *enter, *leave;
	pid_t self = (pid_t)syscall(SYS_gettid);

	probe_one_kernel();
	enter = rig_find_callback(DRIVER, LAUNCH, CUPTI_API_ENTER, 0);
	leave = rig_find_callback(DRIVER, LAUNCH, CUPTI_API_EXIT, 0);
	if (!enter || !leave)
		return probe_seen(false, "no callback");
	return probe_seen(enter->tid == self && leave->tid == self &&
				  enter->correlation == leave->correlation && enter->correlation,
			  "threads %d %d of %d, correlation %u %u", enter->tid, leave->tid, self,
			  enter->correlation, leave->correlation);
}

/* No kind of calls is enabled: neither RUNTIME nor DRIVER. */
bool probe_correlation_of_kernel(void)
{
	const CUpti_ActivityKernel9 *kernel = probe_one_kernel();
	const struct rig_callback *enter = rig_find_callback(DRIVER, LAUNCH, CUPTI_API_ENTER, 0);

	if (!kernel || !enter)
		return probe_seen(false, "no record or no callback");
	return probe_seen(kernel->correlationId == enter->correlation, "record %u, callback %u",
			  kernel->correlationId, enter->correlation);
}

/* What the hang report says of work in flight. */
bool probe_callback_names_kernel(void)
{
	const CUpti_ActivityKernel9 *kernel = probe_one_kernel();
	const struct rig_callback *enter = rig_find_callback(DRIVER, LAUNCH, CUPTI_API_ENTER, 0);
	const struct rig_callback *leave = rig_find_callback(DRIVER, LAUNCH, CUPTI_API_EXIT, 0);

	if (!kernel || !enter || !leave)
		return probe_seen(false, "no record or no callback");
	return probe_seen(!strcmp(enter->symbol, kernel->name) &&
				  !strcmp(leave->symbol, kernel->name) &&
				  enter->context == kernel->contextId,
			  "'%s' and '%s' of '%s', context %u of %u", enter->symbol, leave->symbol,
			  kernel->name, enter->context, kernel->contextId);
}

bool probe_thread_ids_are_system(void)
{
	const CUpti_ActivityAPI *call;
	pid_t self = (pid_t)syscall(SYS_gettid);

	rig_open();
	rig.cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_DRIVER);
	rig_use_device();
	rig_launch();
	rig_flush(0);
	for (unsigned n = 0; (call = rig_find(CUPTI_ACTIVITY_KIND_DRIVER, n)); n++) {
		if (call->cbid == LAUNCH)
			return probe_seen(call->threadId == (uint32_t)self, "record %u, thread %d",
					  call->threadId, self);
	}
	return probe_seen(false, "no record of the launch");
}

bool probe_context_and_stream_are_told(void)
{
	bool context, stream;

	rig_start();
	context = rig_find_callback(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_CREATED,
				    0, 0);
	stream = rig_find_callback(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_STREAM_CREATED, 0,
				   0);
	return probe_seen(context && stream, "context %d, stream %d", context, stream);
}

bool probe_kernel_kinds_exclude(void)
{
	CUptiResult result;

	rig_start();
	result = rig.cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_KERNEL);
	return probe_seen(result == CUPTI_ERROR_NOT_COMPATIBLE, "result %d", result);
}

/* What CUPTI says while the driver starts: the tracer begins there. */
bool probe_inside_injection(void)
{
	const char *path = probe_inject();
	const unsigned *calls = NULL, *good = NULL;
	void *library;

	if (cuInit(0)) {
		fputs("cuInit fails\n", stderr);
		exit(CANNOT_TRY);
	}
	library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
	if (library) {
		calls = dlsym(library, "probe_injection_calls");
		good = dlsym(library, "probe_injection_good");
	}
	return probe_seen(calls && *calls == 1 && *good, "called %u times, subscribed: %s",
			  calls ? *calls : 0, good && *good ? "yes" : "no");
}

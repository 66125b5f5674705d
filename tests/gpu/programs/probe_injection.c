/* SPDX-License-Identifier: Apache-2.0
 *
 * The library that the driver loads for the probe inside-injection: asks CUPTI what the tracer asks
 * it there, and prints each answer. It registers for nothing that calls back later. For the probe
 * unified-memory-inside-injection it calls that one back.
 */
#include <cupti.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

__attribute__((visibility("default"))) unsigned probe_injection_calls, probe_injection_good;
__attribute__((visibility("default"))) int InitializeInjection(void);

static void *cupti;

static void *find(const char *name)
{
	return cupti ? dlsym(cupti, name) : NULL;
}

static void answer(const char *what, int result, unsigned long long value)
{
	printf("%s: result %d, value %llu\n", what, result, value);
}

static void CUPTIAPI see_nothing(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
				 const void *data)
{
	(void)user;
	(void)domain;
	(void)id;
	(void)data;
}

static void open_cupti(void)
{
	static const char *const names[] = {"libcupti.so.13", "libcupti.so.12",
					    "/usr/local/cuda/lib64/libcupti.so.13",
					    "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.13"};
	const char *given = getenv("GPUTRACE_CUPTI");

	cupti = given && *given ? dlopen(given, RTLD_NOW) : NULL;
	for (size_t i = 0; !cupti && i < sizeof(names) / sizeof(names[0]); i++)
		cupti = dlopen(names[i], RTLD_NOW);
	printf("libcupti: %s\n", cupti ? "found" : dlerror());
}

static void ask_versions(void)
{
	__typeof__(&cuptiGetVersion) get_version = find("cuptiGetVersion");
	__typeof__(&cuptiGetTimestamp) get_timestamp = find("cuptiGetTimestamp");
	uint32_t version = 0;
	uint64_t stamp = 0;
	int error;

	error = get_version ? (int)get_version(&version) : -1;
	answer("cuptiGetVersion", error, version);
	error = get_timestamp ? (int)get_timestamp(&stamp) : -1;
	answer("cuptiGetTimestamp", error, stamp);
	answer("time", 0, (unsigned long long)time(NULL));
}

static void ask_attributes(void)
{
	__typeof__(&cuptiActivityGetAttribute) get = find("cuptiActivityGetAttribute");

	for (int i = 0; get && i <= CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE_DEVICE_GRAPHS; i++) {
		size_t value = 0, size = sizeof(value);
		int error = (int)get((CUpti_ActivityAttribute)i, &size, &value);

		printf("attribute %d: result %d, size %zu, value %zu\n", i, error, size, value);
	}
}

static void ask_kinds(void)
{
	static const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
						   CUPTI_ACTIVITY_KIND_MEMCPY,
						   CUPTI_ACTIVITY_KIND_MEMSET,
						   CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
						   CUPTI_ACTIVITY_KIND_OVERHEAD,
						   CUPTI_ACTIVITY_KIND_GRAPH_TRACE,
						   CUPTI_ACTIVITY_KIND_MEMORY2,
						   CUPTI_ACTIVITY_KIND_MEMCPY2};
	__typeof__(&cuptiActivityEnable) enable = find("cuptiActivityEnable");
	__typeof__(&cuptiActivityDisable) disable = find("cuptiActivityDisable");

	for (size_t i = 0; enable && disable && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		int error = (int)enable(kinds[i]);

		printf("kind %d: enable %d, disable %d\n", (int)kinds[i], error,
		       error ? -1 : (int)disable(kinds[i]));
	}
}

/* PROBE_INSIDE is the address of a function of this process. */
static bool calls_back(void)
{
	const char *address = getenv("PROBE_INSIDE");
	union {
		unsigned long address;
		void (*call)(void);
	} inside;

	if (!address)
		return false;
	inside.address = strtoul(address, NULL, 0);
	inside.call();
	return true;
}

int InitializeInjection(void)
{
	__typeof__(&cuptiSubscribe) subscribe;
	__typeof__(&cuptiUnsubscribe) unsubscribe;
	CUpti_SubscriberHandle subscriber;
	int error;

	probe_injection_calls++;
	if (calls_back())
		return 1;
	open_cupti();
	subscribe = find("cuptiSubscribe");
	unsubscribe = find("cuptiUnsubscribe");
	if (!subscribe || !unsubscribe)
		return 1;
	ask_versions();
	error = (int)subscribe(&subscriber, see_nothing, NULL);
	answer("cuptiSubscribe", error, 0);
	ask_attributes();
	ask_kinds();
	if (!error) {
		answer("cuptiUnsubscribe", (int)unsubscribe(subscriber), 0);
		probe_injection_good++;
	}
	return 1;
}

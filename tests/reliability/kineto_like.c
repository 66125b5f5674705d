/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. Built twice: linked with libcupti, as libtorch_cpu.so is, and with -DBY_DLSYM
 * finding it at run time, as Proton and XLA do.
 */
#include "tests/reliability/kineto_like.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cupti.h>

#define BUFFER_BYTES (64u * 1024u)
#define BUFFERS      4096

#ifdef BY_DLSYM
#define CALL(name)                                                                                 \
	((__typeof__(&name))dlsym(dlopen(getenv("KINETO_CUPTI"), RTLD_NOW | RTLD_LOCAL), #name))
#else
#define CALL(name) name
#endif

static const CUpti_ActivityKind kinds[] = {
	CUPTI_ACTIVITY_KIND_MEMCPY,  CUPTI_ACTIVITY_KIND_MEMSET,
	CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
	CUPTI_ACTIVITY_KIND_DRIVER,  CUPTI_ACTIVITY_KIND_OVERHEAD,
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static CUpti_SubscriberHandle subscriber;
static CUptiResult subscribed = CUPTI_ERROR_UNKNOWN;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uint8_t *buffers[BUFFERS]; /* handed out */
static unsigned int completed, unknown, refused, kernels, copies, sets;
static uint64_t clock_first, clock_last;
static uint64_t session_begin, session_end; /* CLOCK_REALTIME ns: all kinds are on */
static _Atomic bool tear_down;
static _Atomic bool gone;     /* it has called cuptiFinalize: CUPTI knows nothing of it */
static __thread bool leaving; /* and is inside that call */
static _Atomic unsigned int late, late_ticks; /* callbacks after that */

static void see_late(void)
{
	if (leaving || atomic_load(&gone))
		atomic_fetch_add(&late, 1);
}

static uint64_t realtime(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void check_status(CUptiResult result)
{
	refused += result != CUPTI_SUCCESS;
}

static void on_request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	see_late();
	pthread_mutex_lock(&mutex);
	*buffer = aligned_alloc(8, BUFFER_BYTES);
	*size = BUFFER_BYTES;
	*max_records = 0;
	for (int i = 0; i < BUFFERS; i++) {
		if (!buffers[i]) {
			buffers[i] = *buffer;
			break;
		}
	}
	pthread_mutex_unlock(&mutex);
}

static void see_times(const CUpti_ActivityKernel8 *kernel)
{
	if (!clock_first || kernel->start < clock_first)
		clock_first = kernel->start;
	if (kernel->end > clock_last)
		clock_last = kernel->end;
	kernels++;
}

/* Kind, correlation id, start, end. */
static void list(FILE *file, const CUpti_Activity *record)
{
	const CUpti_ActivityKernel8 *kernel = (const void *)record;
	const CUpti_ActivityMemcpy5 *copy = (const void *)record;
	const CUpti_ActivityMemset4 *set = (const void *)record;

	if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
		fprintf(file, "kernel %u %lu %lu\n", kernel->correlationId, kernel->start,
			kernel->end);
	else if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY)
		fprintf(file, "gpu_memcpy %u %lu %lu\n", copy->correlationId, copy->start,
			copy->end);
	else if (record->kind == CUPTI_ACTIVITY_KIND_MEMSET)
		fprintf(file, "gpu_memset %u %lu %lu\n", set->correlationId, set->start, set->end);
	else
		fprintf(file, "%u 0 0 0\n", (unsigned int)record->kind);
}

/* Its records are appended to the file KINETO_RECORDS. */
static void read_buffer(uint8_t *buffer, size_t valid)
{
	const char *path = getenv("KINETO_RECORDS");
	FILE *file = path ? fopen(path, "ae") : NULL;
	CUpti_Activity *record = NULL;

	while (CALL(cuptiActivityGetNextRecord)(buffer, valid, &record) == CUPTI_SUCCESS) {
		if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
			see_times((const void *)record);
		copies += record->kind == CUPTI_ACTIVITY_KIND_MEMCPY;
		sets += record->kind == CUPTI_ACTIVITY_KIND_MEMSET;
		if (file)
			list(file, record);
	}
	if (file)
		fclose(file);
}

/* Ignores buffers that it did not provide; with KINETO_FREES it frees them, as NVIDIA's samples
 * do. */
static void on_complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
			size_t valid)
{
	bool known = false;

	(void)context;
	(void)stream;
	(void)size;
	see_late();
	pthread_mutex_lock(&mutex);
	for (int i = 0; i < BUFFERS && !known; i++) {
		known = buffers[i] == buffer;
		if (known)
			buffers[i] = NULL;
	}
	completed += known;
	unknown += !known;
	if (known)
		read_buffer(buffer, valid);
	if (known || getenv("KINETO_FREES"))
		free(buffer);
	pthread_mutex_unlock(&mutex);
}

/* Buffers that CUPTI still had are not returned, and no longer written to. */
static void forget_buffers(void)
{
	pthread_mutex_lock(&mutex);
	for (int i = 0; i < BUFFERS; i++) {
		if (buffers[i])
			memset(buffers[i], 0xdb, BUFFER_BYTES);
		free(buffers[i]);
		buffers[i] = NULL;
	}
	pthread_mutex_unlock(&mutex);
}

static void finalize(void)
{
	leaving = true;
	check_status(CALL(cuptiFinalize)());
	leaving = false;
	atomic_store(&gone, true);
	forget_buffers();
	subscribed = CUPTI_ERROR_UNKNOWN;
}

/* Calls cuptiFinalize in the exit callback of a CUDA call, as NVIDIA advises. */
static void on_callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
			const void *data)
{
	const CUpti_CallbackData *call = data;

	(void)user;
	(void)cbid;
	see_late();
	if (domain != CUPTI_CB_DOMAIN_RUNTIME_API && domain != CUPTI_CB_DOMAIN_DRIVER_API)
		return;
	if (call->callbackSite != CUPTI_API_EXIT || !atomic_exchange(&tear_down, false))
		return;
	check_status(CALL(cuptiUnsubscribe)(subscriber));
	finalize();
}

void kineto_init(void)
{
	atomic_store(&gone, false);
	subscribed = CALL(cuptiSubscribe)(&subscriber, on_callback, NULL);
	if (subscribed == CUPTI_SUCCESS)
		check_status(CALL(cuptiEnableCallback)(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE,
						       CUPTI_CBID_RESOURCE_CONTEXT_CREATED));
}

static uint64_t ticks(void)
{
	if (atomic_load(&gone))
		atomic_fetch_add(&late_ticks, 1);
	return __builtin_ia32_rdtsc();
}

void kineto_clock(void)
{
	check_status(CALL(cuptiActivityRegisterTimestampCallback)(ticks));
}

/* Records GPU activities only with a subscription, unless KINETO_RUDE is set: CUPTI does not
 * require one. */
static bool has_gpu(void)
{
	return subscribed == CUPTI_SUCCESS || getenv("KINETO_RUDE");
}

void kineto_start(void)
{
	if (subscribed != CUPTI_SUCCESS && getenv("TEARDOWN_CUPTI"))
		kineto_init(); /* lazy re-initialisation after a teardown */
	if (!has_gpu())
		return;
	atomic_store(&gone, false);
	check_status(CALL(cuptiActivityRegisterCallbacks)(on_request, on_complete));
	for (size_t i = 0; i < KINDS; i++)
		check_status(CALL(cuptiActivityEnable)(kinds[i]));
	session_begin = realtime();
	session_end = 0;
}

void kineto_disable(void)
{
	if (!session_end)
		session_end = realtime();
	for (size_t i = 0; i < KINDS; i++)
		check_status(CALL(cuptiActivityDisable)(kinds[i]));
}

void kineto_stop(void)
{
	uint8_t value = 0;
	size_t size = sizeof(value);

	if (!has_gpu())
		return;
	kineto_disable();
	check_status(CALL(cuptiActivityFlushAll)(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
	check_status(CALL(cuptiActivitySetAttribute)(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER,
						     &size, &value));
}

void kineto_teardown(void)
{
	if (subscribed != CUPTI_SUCCESS)
		return;
	check_status(CALL(cuptiEnableDomain)(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API));
	check_status(CALL(cuptiEnableDomain)(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API));
	check_status(CALL(cuptiActivityFlushAll)(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
	atomic_store(&tear_down, true);
}

void kineto_finalize(void)
{
	finalize();
}

void kineto_report(void)
{
	const char *path = getenv("KINETO_OUT");
	FILE *file = path ? fopen(path, "we") : NULL;
	unsigned int out = 0;

	if (!file)
		return;
	for (int i = 0; i < BUFFERS; i++)
		out += buffers[i] != NULL;
	fprintf(file, "subscribe %d\nrefused %u\n", (int)subscribed, refused);
	fprintf(file, "buffers %u\nunknown %u\nout %u\n", completed, unknown, out);
	fprintf(file, "kernels %u\ncopies %u\nsets %u\n", kernels, copies, sets);
	fprintf(file, "begin %lu\nend %lu\n", session_begin, session_end);
	fprintf(file, "late %u\nlate_ticks %u\n", atomic_load(&late), atomic_load(&late_ticks));
	fclose(file);
}

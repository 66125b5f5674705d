/* SPDX-License-Identifier: Apache-2.0
 *
 * A CUPTI client as the documentation describes one, injected by CUDA_INJECTION64_PATH: subscribes,
 * enables the kinds in CHECK_KINDS, and writes what it gets to the file CHECK_OUT, a line each.
 * Serves every CUPTI version: functions by dlsym, fields that all versions have at one offset.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cupti.h>

#define BUFFER_BYTES 16384

#define CUPTI_FUNCTIONS(X)                                                                         \
	X(cuptiGetVersion)                                                                         \
	X(cuptiSetThreadIdType)                                                                    \
	X(cuptiSubscribe)                                                                          \
	X(cuptiEnableDomain)                                                                       \
	X(cuptiEnableCallback)                                                                     \
	X(cuptiActivityRegisterCallbacks)                                                          \
	X(cuptiActivitySetAttribute)                                                               \
	X(cuptiActivityEnable)                                                                     \
	X(cuptiActivityDisable)                                                                    \
	X(cuptiActivityFlushAll)                                                                   \
	X(cuptiActivityGetNextRecord)                                                              \
	X(cuptiActivityGetNumDroppedRecords)                                                       \
	X(cuptiGetCallbackName)                                                                    \
	X(cuptiGetGraphNodeId)

static struct {
#define X(name_) __typeof__(name_) *name_;
	CUPTI_FUNCTIONS(X)
#undef X
	__typeof__(cuptiSubscribe_v2) *cuptiSubscribe_v2;
} cupti;

static FILE *out;
static CUpti_SubscriberHandle subscriber;

int InitializeInjection(void);

static void request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	const char *records = getenv("CHECK_MAX_RECORDS");

	*size = BUFFER_BYTES;
	*max_records = records ? (size_t)atoi(records) : 0;
	*buffer = aligned_alloc(8, BUFFER_BYTES);
	fprintf(out, "request thread=%lx\n", (unsigned long)pthread_self());
}

static void write_kernel(const CUpti_ActivityKernel4 *k, uint64_t node)
{
	fprintf(out,
		"kernel name=%s correlation=%u start=%llu end=%llu device=%u context=%u stream=%u "
		"grid=%d,%d,%d block=%d,%d,%d registers=%u shared=%d node=%llu queued=%llu\n",
		k->name, k->correlationId, (unsigned long long)k->start, (unsigned long long)k->end,
		k->deviceId, k->contextId, k->streamId, k->gridX, k->gridY, k->gridZ, k->blockX,
		k->blockY, k->blockZ, k->registersPerThread, k->dynamicSharedMemory,
		(unsigned long long)node, (unsigned long long)k->queued);
}

static void write_api(const CUpti_ActivityAPI *api)
{
	const char *name = "?";
	bool is_driver = api->kind == CUPTI_ACTIVITY_KIND_DRIVER;

	cupti.cuptiGetCallbackName(is_driver ? CUPTI_CB_DOMAIN_DRIVER_API
					     : CUPTI_CB_DOMAIN_RUNTIME_API,
				   api->cbid, &name);
	fprintf(out, "api name=%s correlation=%u start=%llu end=%llu tid=%u result=%u\n", name,
		api->correlationId, (unsigned long long)api->start, (unsigned long long)api->end,
		api->threadId, api->returnValue);
}

static void write_record(const CUpti_Activity *record)
{
	const CUpti_ActivityMemcpy6 *copy = (const void *)record;
	const CUpti_ActivityMemset4 *set = (const void *)record;
	const CUpti_ActivityDevice5 *device = (const void *)record;

	switch (record->kind) {
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
		write_kernel((const void *)record,
			     ((const CUpti_ActivityKernel10 *)record)->graphNodeId);
		break;
	case CUPTI_ACTIVITY_KIND_MEMCPY:
		fprintf(out, "memcpy correlation=%u bytes=%llu copy=%u src=%u dst=%u\n",
			copy->correlationId, (unsigned long long)copy->bytes, copy->copyKind,
			copy->srcKind, copy->dstKind);
		break;
	case CUPTI_ACTIVITY_KIND_MEMSET:
		fprintf(out, "memset correlation=%u bytes=%llu value=%u\n", set->correlationId,
			(unsigned long long)set->bytes, set->value);
		break;
	case CUPTI_ACTIVITY_KIND_DEVICE:
		/* whose the name is differs by version: not freed */
		fprintf(out, "device id=%u multiprocessors=%u\n", device->id,
			device->numMultiprocessors);
		break;
	case CUPTI_ACTIVITY_KIND_DRIVER:
	case CUPTI_ACTIVITY_KIND_RUNTIME:
		write_api((const void *)record);
		break;
	default:
		fprintf(out, "record kind=%d\n", record->kind);
	}
}

static void complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	CUpti_Activity *record = NULL, *before = NULL;
	CUptiResult result;

	while (!(result = cupti.cuptiActivityGetNextRecord(buffer, valid, &record))) {
		if (before)
			fprintf(out, "size kind=%d bytes=%zu\n", before->kind,
				(size_t)((uint8_t *)record - (uint8_t *)before));
		before = record;
		write_record(record);
	}
	if (before && result == CUPTI_ERROR_MAX_LIMIT_REACHED)
		fprintf(out, "size kind=%d bytes=%zu\n", before->kind,
			valid - (size_t)((uint8_t *)before - buffer));
	fprintf(out, "buffer valid=%zu result=%d\n", valid, result);
	if (!getenv("CHECK_KEEP"))
		free(buffer);
}

static void finish(void)
{
	size_t dropped = 0;
	CUptiResult result = cupti.cuptiActivityFlushAll(0);

	fprintf(out, "flush result=%d\n", result);
	cupti.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	cupti.cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped);
	fprintf(out, "dropped count=%zu\n", dropped);
	fflush(out);
}

static void write_resource(CUpti_CallbackId cbid, const CUpti_ResourceData *resource)
{
	const CUpti_GraphData *graph = resource ? resource->resourceDescriptor : NULL;
	uint64_t node = 0, original = 0;

	if (cbid == CUPTI_CBID_RESOURCE_CU_INIT_FINISHED) {
		fprintf(out, "initialised data=%d\n", resource != NULL);
		atexit(finish);
	} else if (cbid == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED) {
		cupti.cuptiGetGraphNodeId(graph->node, &node);
		cupti.cuptiGetGraphNodeId(graph->originalNode, &original);
		fprintf(out, "cloned node=%llu original=%llu\n", (unsigned long long)node,
			(unsigned long long)original);
	} else if (cbid == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED) {
		cupti.cuptiGetGraphNodeId(graph->node, &node);
		fprintf(out, "created node=%llu\n", (unsigned long long)node);
	} else {
		fprintf(out, "resource cbid=%u\n", cbid);
	}
}

/* Of other calls symbolName is no pointer. */
static const char *symbol_of(const CUpti_CallbackData *call)
{
	if (call->symbolName == (const char *)0xdb0)
		return "invalid";
	return call->symbolName ? call->symbolName : "-";
}

static void on_callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
			const void *data)
{
	const CUpti_CallbackData *call = data;

	if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
		write_resource(cbid, data);
	} else if (domain == CUPTI_CB_DOMAIN_STATE) {
		fprintf(out, "state cbid=%u\n", cbid);
	} else if (domain == CUPTI_CB_DOMAIN_SYNCHRONIZE) {
		fprintf(out, "synchronized cbid=%u\n", cbid);
	} else {
		if (call->callbackSite == CUPTI_API_ENTER)
			*call->correlationData = 0x1234;
		fprintf(out, "callback name=%s site=%d correlation=%u symbol=%s data=%llx\n",
			call->functionName, call->callbackSite, call->correlationId,
			symbol_of(call), (unsigned long long)*call->correlationData);
	}
}

/* The CUPTI that belongs to the driver, as the loader finds it. */
static bool find_cupti(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), *library = NULL;
	int (*driver_version)(int *) = NULL;
	int version = 0;

	if (driver)
		*(void **)&driver_version = dlsym(driver, "cuDriverGetVersion");
	if (driver_version)
		driver_version(&version);
	library = dlopen(version >= 13000   ? "libcupti.so.13"
			 : version >= 12000 ? "libcupti.so.12"
					    : "libcupti.so.11.8",
			 RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return false;
#define X(name_) *(void **)&cupti.name_ = dlsym(library, #name_);
	CUPTI_FUNCTIONS(X)
#undef X
	*(void **)&cupti.cuptiSubscribe_v2 = dlsym(library, "cuptiSubscribe_v2");
	fprintf(out, "has subscribe_v2=%d runtime_api=%d exec_id=%d\n",
		cupti.cuptiSubscribe_v2 != NULL,
		dlsym(library, "cuptiActivityEnableRuntimeApi") != NULL,
		dlsym(library, "cuptiGetGraphExecId") != NULL);
	return true;
}

/* How many buffers CUPTI may have on the device. */
static void limit_pool(void)
{
	const char *text = getenv("CHECK_POOL_LIMIT");
	size_t limit = text ? (size_t)atoi(text) : 0, size = sizeof(limit);

	if (text)
		cupti.cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, &size,
						&limit);
}

static void enable_kinds(void)
{
	char kinds[128], *rest = NULL;

	limit_pool();
	snprintf(kinds, sizeof(kinds), "%s", getenv("CHECK_KINDS") ? getenv("CHECK_KINDS") : "");
	for (char *word = strtok_r(kinds, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
		bool off = *word == '-'; /* again, after it was enabled */
		CUpti_ActivityKind kind = (CUpti_ActivityKind)atoi(word + off);
		CUptiResult result =
			off ? cupti.cuptiActivityDisable(kind) : cupti.cuptiActivityEnable(kind);

		if (result)
			fprintf(out, "enable kind=%s result=%d\n", word, result);
	}
}

static void subscribe_again(void)
{
	char owner[64] = "";
	CUpti_SubscriberHandle second;
	CUpti_SubscriberParams params = {.structSize = sizeof(params),
					 .oldSubscriberName = owner,
					 .oldSubscriberSize = sizeof(owner)};

	fprintf(out, "second result=%d\n", cupti.cuptiSubscribe(&second, on_callback, NULL));
	if (!cupti.cuptiSubscribe_v2)
		return;
	cupti.cuptiSubscribe_v2(&second, on_callback, NULL, &params);
	fprintf(out, "owner name=%s\n", owner);
}

int InitializeInjection(void)
{
	uint32_t version = 0;

	out = fopen(getenv("CHECK_OUT"), "we");
	if (!out || !find_cupti())
		return 0;
	setvbuf(out, NULL, _IOLBF, 0);
	cupti.cuptiGetVersion(&version);
	fprintf(out, "version number=%u\n", version);
	cupti.cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
	CUptiResult result = cupti.cuptiSubscribe(&subscriber, on_callback, NULL);
	fprintf(out, "subscribe result=%d\n", result);
	if (result)
		return 1;
	subscribe_again();
	cupti.cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE);
	cupti.cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_STATE);
	cupti.cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
				  CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
	cupti.cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API,
				  CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
	cupti.cuptiActivityRegisterCallbacks(request, complete);
	enable_kinds();
	return 1;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Contexts: created ones, each device's primary one, and the stack of current ones that every
 * thread has. Any thread; contexts_mutex guards the list of all contexts and the primary ones.
 */
#include "driver/driver.h"

#include <stdlib.h>

#include <cupti_callbacks.h>

#define CONTEXT_MAGIC 0x43545831u

static pthread_mutex_t contexts_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct CUctx_st *contexts;
static uint32_t last_id;

bool sim_context_valid(const struct CUctx_st *context)
{
	return context && context->magic == CONTEXT_MAGIC;
}

struct CUctx_st *sim_context_current(void)
{
	return sim_self.depth ? sim_self.stack[sim_self.depth - 1] : NULL;
}

static void tell(uint32_t cbid, struct CUctx_st *context)
{
	struct sim_resource what = {.cbid = cbid,
				    .correlation = sim_current_correlation(),
				    .context = context,
				    .context_id = context->id,
				    .device = (uint32_t)context->device->ordinal};

	sim_client_resource(&what);
}

/* Caller holds contexts_mutex. */
static struct CUctx_st *context_new(struct sim_device *device, unsigned int flags)
{
	struct CUctx_st *context = calloc(1, sizeof(*context));

	if (!context)
		return NULL;
	context->magic = CONTEXT_MAGIC;
	context->id = ++last_id;
	context->flags = flags;
	context->device = device;
	context->next_stream_id = 7; /* the number that real traces show for the default stream */
	pthread_mutex_init(&context->mutex, NULL);
	context->legacy = sim_stream_new(context, CU_STREAM_DEFAULT, 0, false);
	context->legacy->legacy = true;
	context->next_stream_id = 13;
	context->next = contexts;
	contexts = context;
	return context;
}

static void context_free(struct CUctx_st *context)
{
	struct CUctx_st **at = &contexts;

	sim_wait_until(atomic_load(&context->tail));
	while (*at && *at != context)
		at = &(*at)->next;
	if (*at)
		*at = context->next;
	for (struct CUstream_st *stream = context->streams; stream; stream = stream->next)
		stream->magic = 0;
	context->magic = 0; /* kept: stale handles must be recognisable */
}

static CUresult push(struct CUctx_st *context)
{
	if (sim_self.depth == SIM_CONTEXT_DEPTH)
		return CUDA_ERROR_OUT_OF_MEMORY;
	sim_self.stack[sim_self.depth++] = context;
	return CUDA_SUCCESS;
}

static CUresult create(CUcontext *ret_context, unsigned int flags, CUdevice ordinal)
{
	struct sim_device *device = sim_device_find(ordinal);
	CUresult result = sim_check_ready();

	if (result)
		return result;
	if (!device || !ret_context)
		return device ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&contexts_mutex);
	struct CUctx_st *context = context_new(device, flags);
	pthread_mutex_unlock(&contexts_mutex);
	if (!context)
		return CUDA_ERROR_OUT_OF_MEMORY;
	tell(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, context);
	*ret_context = context;
	return push(context);
}

CUresult sim_cuCtxCreate_v2(CUcontext *context, unsigned int flags, CUdevice device)
{
	return create(context, flags, device);
}

CUresult sim_cuCtxCreate_v3(CUcontext *context, CUexecAffinityParam *params, int count,
			    unsigned int flags, CUdevice device)
{
	return create(context, flags, device);
}

CUresult sim_cuCtxCreate_v4(CUcontext *context, CUctxCreateParams *params, unsigned int flags,
			    CUdevice device)
{
	return create(context, flags, device);
}

static CUresult destroy(struct CUctx_st *context)
{
	if (!sim_context_valid(context))
		return CUDA_ERROR_INVALID_CONTEXT;
	tell(CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, context);
	if (sim_context_current() == context)
		sim_self.depth--;
	pthread_mutex_lock(&contexts_mutex);
	context_free(context);
	pthread_mutex_unlock(&contexts_mutex);
	return CUDA_SUCCESS;
}

CUresult sim_cuCtxDestroy_v2(CUcontext context)
{
	return destroy(context);
}

/* A context is there from cuCtxCreate on, and for every cuCtxAttach, until as many detached. */
CUresult sim_cuCtxAttach(CUcontext *ret_context, unsigned int flags)
{
	struct CUctx_st *context;
	CUresult result = sim_check_context(&context);

	if (result || flags)
		return result ? result : CUDA_ERROR_INVALID_VALUE;
	atomic_fetch_add(&context->attached, 1);
	*ret_context = context;
	return CUDA_SUCCESS;
}

CUresult sim_cuCtxDetach(CUcontext context)
{
	if (!sim_context_valid(context))
		return CUDA_ERROR_INVALID_CONTEXT;
	return atomic_fetch_sub(&context->attached, 1) > 0 ? CUDA_SUCCESS : destroy(context);
}

CUresult sim_cuCtxPushCurrent_v2(CUcontext context)
{
	return sim_context_valid(context) ? push(context) : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult sim_cuCtxPopCurrent_v2(CUcontext *context)
{
	if (!sim_self.depth)
		return CUDA_ERROR_INVALID_CONTEXT;
	sim_self.depth--;
	if (context)
		*context = sim_self.stack[sim_self.depth];
	return CUDA_SUCCESS;
}

CUresult sim_cuCtxSetCurrent(CUcontext context)
{
	CUresult result = sim_check_ready();

	if (result)
		return result;
	if (context && !sim_context_valid(context))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!context) {
		sim_self.depth -= sim_self.depth > 0;
		return CUDA_SUCCESS;
	}
	if (!sim_self.depth)
		return push(context);
	sim_self.stack[sim_self.depth - 1] = context;
	return CUDA_SUCCESS;
}

CUresult sim_cuCtxGetCurrent(CUcontext *context)
{
	CUresult result = sim_check_ready();

	if (!result)
		*context = sim_context_current();
	return result;
}

CUresult sim_cuCtxGetDevice(CUdevice *device)
{
	struct CUctx_st *context;
	CUresult result = sim_check_context(&context);

	if (!result)
		*device = context->device->ordinal;
	return result;
}

CUresult sim_cuCtxGetDevice_v2(CUdevice *device, CUcontext context)
{
	struct CUctx_st *of = context ? context : sim_context_current();

	if (!sim_context_valid(of))
		return CUDA_ERROR_INVALID_CONTEXT;
	*device = of->device->ordinal;
	return CUDA_SUCCESS;
}

CUresult sim_cuCtxGetId(CUcontext context, unsigned long long *id)
{
	struct CUctx_st *of = context ? context : sim_context_current();

	if (!sim_context_valid(of))
		return CUDA_ERROR_INVALID_CONTEXT;
	*id = of->id;
	return CUDA_SUCCESS;
}

CUresult sim_cuCtxGetFlags(unsigned int *flags)
{
	struct CUctx_st *context;
	CUresult result = sim_check_context(&context);

	if (!result)
		*flags = context->flags;
	return result;
}

CUresult sim_cuCtxGetApiVersion(CUcontext context, unsigned int *version)
{
	*version = 3020;
	return CUDA_SUCCESS;
}

CUresult sim_cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
	if (least)
		*least = 0;
	if (greatest)
		*greatest = -5;
	return sim_check_ready();
}

CUresult sim_cuCtxGetLimit(size_t *value, CUlimit limit)
{
	*value = limit == CU_LIMIT_STACK_SIZE         ? 1024
		 : limit == CU_LIMIT_PRINTF_FIFO_SIZE ? 1 << 20
						      : 8 << 20;
	return sim_check_ready();
}

CUresult sim_cuCtxSetLimit(CUlimit limit, size_t value)
{
	return sim_check_ready();
}

CUresult sim_cuCtxGetCacheConfig(CUfunc_cache *config)
{
	*config = CU_FUNC_CACHE_PREFER_NONE;
	return sim_check_ready();
}

CUresult sim_cuCtxSetCacheConfig(CUfunc_cache config)
{
	return sim_check_ready();
}

CUresult sim_cuCtxSetFlags(unsigned int flags)
{
	struct CUctx_st *context;
	CUresult result = sim_check_context(&context);

	if (!result)
		context->flags = flags;
	return result;
}

CUresult sim_cuCtxGetSharedMemConfig(CUsharedconfig *config)
{
	*config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
	return sim_check_ready();
}

CUresult sim_cuCtxSetSharedMemConfig(CUsharedconfig config)
{
	return sim_check_ready();
}

CUresult sim_cuCtxResetPersistingL2Cache(void)
{
	return sim_check_ready();
}

CUresult sim_cuCtxEnablePeerAccess(CUcontext context, unsigned int flags)
{
	return sim_context_valid(context) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult sim_cuCtxDisablePeerAccess(CUcontext context)
{
	return sim_context_valid(context) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

/* The fault slow_sync: spins, as a driver does that waits for the device. */
static void linger(void)
{
	uint64_t until = sim_now() + atomic_exchange(&sim_options.slow_sync_ns, 0);

	while (sim_now() < until)
		__builtin_ia32_pause();
}

static CUresult synchronize(struct CUctx_st *context)
{
	struct sim_sync sync = {.kind = SIM_SYNC_CONTEXT,
				.correlation = sim_current_correlation(),
				.context = context,
				.context_id = context->id,
				.stream_id = UINT32_MAX,
				.start = sim_now()};
	sim_wait_until(atomic_load(&context->tail));
	for (struct CUstream_st *s = context->streams; s; s = s->next)
		sim_stream_wait_host(s);
	linger();
	sync.end = sim_now();
	sim_client_synchronized(&sync);
	return CUDA_SUCCESS;
}

CUresult sim_cuCtxSynchronize(void)
{
	struct CUctx_st *context;
	CUresult result = sim_check_context(&context);

	return result ? result : synchronize(context);
}

CUresult sim_cuCtxSynchronize_v2(CUcontext context)
{
	if (!context)
		return sim_cuCtxSynchronize();
	return sim_context_valid(context) ? synchronize(context) : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult sim_cuDevicePrimaryCtxRetain(CUcontext *ret_context, CUdevice ordinal)
{
	struct sim_device *device = sim_device_find(ordinal);
	CUresult result = sim_check_ready();
	bool is_new = false;

	if (result || !device)
		return result ? result : CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&contexts_mutex);
	if (!device->primary) {
		device->primary = context_new(device, device->primary_flags);
		is_new = true;
	}
	device->primary_references++;
	struct CUctx_st *context = device->primary;
	pthread_mutex_unlock(&contexts_mutex);
	if (is_new)
		tell(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, context);
	*ret_context = context;
	return CUDA_SUCCESS;
}

static CUresult primary_drop(struct sim_device *device)
{
	struct CUctx_st *context = device->primary;

	device->primary_references = 0;
	if (!context)
		return CUDA_SUCCESS;
	tell(CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, context);
	pthread_mutex_lock(&contexts_mutex);
	context_free(context);
	device->primary = NULL;
	pthread_mutex_unlock(&contexts_mutex);
	return CUDA_SUCCESS;
}

CUresult sim_cuDevicePrimaryCtxRelease_v2(CUdevice ordinal)
{
	struct sim_device *device = sim_device_find(ordinal);

	if (!device || !device->primary)
		return device ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_INVALID_DEVICE;
	return --device->primary_references ? CUDA_SUCCESS : primary_drop(device);
}

CUresult sim_cuDevicePrimaryCtxReset_v2(CUdevice ordinal)
{
	struct sim_device *device = sim_device_find(ordinal);

	return device ? primary_drop(device) : CUDA_ERROR_INVALID_DEVICE;
}

CUresult sim_cuDevicePrimaryCtxGetState(CUdevice ordinal, unsigned int *flags, int *active)
{
	struct sim_device *device = sim_device_find(ordinal);

	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	*flags = device->primary_flags;
	*active = device->primary != NULL;
	return CUDA_SUCCESS;
}

CUresult sim_cuDevicePrimaryCtxSetFlags_v2(CUdevice ordinal, unsigned int flags)
{
	struct sim_device *device = sim_device_find(ordinal);

	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	device->primary_flags = flags;
	return CUDA_SUCCESS;
}

void sim_contexts_walk(void (*visit)(const struct sim_resource *what))
{
	pthread_mutex_lock(&contexts_mutex);
	for (struct CUctx_st *context = contexts; context; context = context->next) {
		struct sim_resource what = {.cbid = CUPTI_CBID_RESOURCE_CONTEXT_CREATED,
					    .context = context,
					    .context_id = context->id,
					    .device = (uint32_t)context->device->ordinal};
		visit(&what);
		what.cbid = CUPTI_CBID_RESOURCE_STREAM_CREATED;
		for (struct CUstream_st *s = context->streams; s; s = s->next) {
			what.stream = s;
			what.stream_id = s->id;
			what.priority = s->priority;
			what.stream_flags = s->flags;
			visit(&what);
		}
	}
	pthread_mutex_unlock(&contexts_mutex);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams, with the legacy and the per-thread default stream. Any thread; destroyed streams stay
 * allocated, so that a stale handle is an error and not a crash.
 */
#include "driver/driver.h"

#include <stdlib.h>
#include <string.h>

#include <cupti_callbacks.h>

#define STREAM_MAGIC 0x53545231u

static void tell(uint32_t cbid, struct CUstream_st *stream)
{
	struct sim_resource what = {.cbid = cbid,
				    .correlation = sim_current_correlation(),
				    .context = stream->context,
				    .context_id = stream->context->id,
				    .device = (uint32_t)stream->context->device->ordinal,
				    .stream = stream,
				    .stream_id = stream->id,
				    .priority = stream->priority,
				    .stream_flags = stream->flags};

	sim_client_resource(&what);
}

struct CUstream_st *sim_stream_new(struct CUctx_st *context, unsigned int flags, int priority,
				   bool per_thread)
{
	struct CUstream_st *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return NULL;
	stream->magic = STREAM_MAGIC;
	stream->flags = flags;
	stream->priority = priority;
	stream->context = context;
	stream->per_thread = per_thread;
	pthread_mutex_lock(&context->mutex);
	stream->id = context->next_stream_id++;
	stream->next = context->streams;
	context->streams = stream;
	pthread_mutex_unlock(&context->mutex);
	return stream;
}

static struct CUstream_st *own_stream(struct CUctx_st *context)
{
	if (sim_likely(sim_self.own_context == context))
		return sim_self.own_stream;
	sim_self.own_stream = sim_stream_new(context, CU_STREAM_DEFAULT, 0, true);
	sim_self.own_context = context;
	if (sim_self.own_stream)
		tell(CUPTI_CBID_RESOURCE_STREAM_CREATED, sim_self.own_stream);
	return sim_self.own_stream;
}

/* The stream that a handle means to this thread in this call. */
struct CUstream_st *sim_stream_in(struct CUctx_st *context, CUstream handle, bool per_thread)
{
	if (handle == CU_STREAM_PER_THREAD || (!handle && per_thread))
		return own_stream(context);
	if (!handle || handle == CU_STREAM_LEGACY)
		return context->legacy;
	return handle->magic == STREAM_MAGIC ? handle : NULL;
}

CUresult sim_stream_find(CUstream handle, struct CUstream_st **ret_stream)
{
	struct CUctx_st *context;
	CUresult result = sim_check_context(&context);

	if (sim_unlikely(result))
		return result;
	struct CUstream_st *stream = sim_stream_in(context, handle, sim_self.per_thread);
	if (sim_unlikely(!stream))
		return CUDA_ERROR_INVALID_HANDLE;
	*ret_stream = stream;
	return CUDA_SUCCESS;
}

CUresult sim_cuStreamCreateWithPriority(CUstream *ret_stream, unsigned int flags, int priority)
{
	struct CUctx_st *context;
	CUresult result = sim_check_context(&context);

	if (result)
		return result;
	if (!ret_stream || flags > CU_STREAM_NON_BLOCKING)
		return CUDA_ERROR_INVALID_VALUE;
	struct CUstream_st *stream = sim_stream_new(context, flags, priority, false);
	if (!stream)
		return CUDA_ERROR_OUT_OF_MEMORY;
	tell(CUPTI_CBID_RESOURCE_STREAM_CREATED, stream);
	*ret_stream = stream;
	return CUDA_SUCCESS;
}

CUresult sim_cuStreamCreate(CUstream *stream, unsigned int flags)
{
	return sim_cuStreamCreateWithPriority(stream, flags, 0);
}

static void unlink_stream(struct CUstream_st *stream)
{
	struct CUctx_st *context = stream->context;

	pthread_mutex_lock(&context->mutex);
	struct CUstream_st *_Atomic *at = &context->streams;
	while (*at && *at != stream)
		at = &(*at)->next;
	if (*at)
		*at = stream->next;
	pthread_mutex_unlock(&context->mutex);
}

CUresult sim_cuStreamDestroy_v2(CUstream stream)
{
	CUresult result = sim_check_ready();

	if (result)
		return result;
	if ((uintptr_t)stream <= 2 || stream->magic != STREAM_MAGIC || stream->legacy)
		return CUDA_ERROR_INVALID_HANDLE;
	tell(CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING, stream);
	unlink_stream(stream);
	stream->magic = 0;
	return CUDA_SUCCESS;
}

CUresult sim_cuStreamSynchronize(CUstream handle)
{
	struct CUstream_st *stream;
	CUresult result = sim_stream_find(handle, &stream);

	if (result)
		return result;
	if (stream->capture)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	struct sim_sync sync = {.kind = SIM_SYNC_STREAM,
				.correlation = sim_current_correlation(),
				.context = stream->context,
				.stream = stream,
				.context_id = stream->context->id,
				.stream_id = stream->id,
				.start = sim_now()};
	sim_wait_until(sim_stream_ready(stream));
	sim_stream_wait_host(stream);
	sync.end = sim_now();
	sim_client_synchronized(&sync);
	return CUDA_SUCCESS;
}

CUresult sim_cuStreamQuery(CUstream handle)
{
	struct CUstream_st *stream;
	CUresult result = sim_stream_find(handle, &stream);

	if (result)
		return result;
	if (atomic_load(&stream->host_functions) || !sim_is_past(sim_stream_ready(stream)))
		return CUDA_ERROR_NOT_READY;
	return CUDA_SUCCESS;
}

CUresult sim_cuStreamGetFlags(CUstream handle, unsigned int *flags)
{
	struct CUstream_st *stream;
	CUresult result = sim_stream_find(handle, &stream);

	if (!result)
		*flags = stream->flags;
	return result;
}

CUresult sim_cuStreamGetPriority(CUstream handle, int *priority)
{
	struct CUstream_st *stream;
	CUresult result = sim_stream_find(handle, &stream);

	if (!result)
		*priority = stream->priority;
	return result;
}

CUresult sim_cuStreamGetId(CUstream handle, unsigned long long *id)
{
	struct CUstream_st *stream;
	CUresult result = sim_stream_find(handle, &stream);

	if (!result)
		*id = stream->id;
	return result;
}

CUresult sim_cuStreamGetCtx_v2(CUstream handle, CUcontext *context, CUgreenCtx *green)
{
	if (green)
		*green = NULL;
	return sim_cuStreamGetCtx(handle, context);
}

CUresult sim_cuStreamGetCtx(CUstream handle, CUcontext *context)
{
	struct CUstream_st *stream;
	CUresult result = sim_stream_find(handle, &stream);

	if (!result)
		*context = stream->context;
	return result;
}

CUresult sim_cuStreamGetDevice(CUstream handle, CUdevice *device)
{
	struct CUstream_st *stream;
	CUresult result = sim_stream_find(handle, &stream);

	if (!result)
		*device = stream->context->device->ordinal;
	return result;
}

CUresult sim_cuStreamAttachMemAsync(CUstream handle, CUdeviceptr address, size_t length,
				    unsigned int flags)
{
	struct CUstream_st *stream;

	return sim_stream_find(handle, &stream);
}

/* Attributes have no effect on the timeline; a program that reads one back finds what it set. */
CUresult sim_cuStreamSetAttribute(CUstream handle, CUstreamAttrID which,
				  const CUstreamAttrValue *value)
{
	struct CUstream_st *stream;
	CUresult result = sim_stream_find(handle, &stream);

	if (result)
		return result;
	if (!value || (unsigned int)which >= SIM_STREAM_ATTRIBUTES)
		return CUDA_ERROR_INVALID_VALUE;
	stream->attributes[which] = *value;
	return CUDA_SUCCESS;
}

CUresult sim_cuStreamGetAttribute(CUstream handle, CUstreamAttrID which, CUstreamAttrValue *value)
{
	struct CUstream_st *stream;
	CUresult result = sim_stream_find(handle, &stream);

	if (result)
		return result;
	if (!value || (unsigned int)which >= SIM_STREAM_ATTRIBUTES)
		return CUDA_ERROR_INVALID_VALUE;
	*value = stream->attributes[which];
	return CUDA_SUCCESS;
}

CUresult sim_cuStreamCopyAttributes(CUstream to, CUstream from)
{
	struct CUstream_st *dst, *src;
	CUresult result = sim_stream_find(to, &dst);

	if (!result)
		result = sim_stream_find(from, &src);
	if (!result)
		memcpy(dst->attributes, src->attributes, sizeof(dst->attributes));
	return result;
}

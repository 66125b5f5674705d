/* SPDX-License-Identifier: Apache-2.0
 *
 * Events: a time on the timeline. Recording takes the time at which the stream's earlier work is
 * done; waiting holds a stream, or a host thread, back until then. Any thread.
 */
#include "driver/driver.h"

#include <stdlib.h>

#define EVENT_MAGIC 0x45565431u

static _Atomic uint32_t last_id;
static _Atomic uint32_t last_sync_id;

bool sim_event_valid(const struct CUevent_st *event)
{
	return event && event->magic == EVENT_MAGIC;
}

CUresult sim_cuEventCreate(CUevent *ret_event, unsigned int flags)
{
	struct CUctx_st *context;
	CUresult result = sim_check_context(&context);

	if (result || !ret_event)
		return result ? result : CUDA_ERROR_INVALID_VALUE;
	struct CUevent_st *event = calloc(1, sizeof(*event));
	if (!event)
		return CUDA_ERROR_OUT_OF_MEMORY;
	event->magic = EVENT_MAGIC;
	event->id = atomic_fetch_add(&last_id, 1) + 1;
	event->flags = flags;
	event->context = context;
	event->state = &event->own;
	*ret_event = event;
	return CUDA_SUCCESS;
}

CUresult sim_cuEventDestroy_v2(CUevent event)
{
	if (!sim_event_valid(event))
		return CUDA_ERROR_INVALID_HANDLE;
	event->magic = 0; /* kept: a graph node may still name it */
	return CUDA_SUCCESS;
}

static void tell_recorded(struct CUstream_st *stream, struct CUevent_st *event)
{
	struct sim_event_recorded what = {.correlation = sim_current_correlation(),
					  .device = (uint32_t)stream->context->device->ordinal,
					  .context = stream->context->id,
					  .stream = stream->id,
					  .event_id = event->id,
					  .event_sync_id = event->sync_id,
					  .timestamp = event->state->time};

	sim_client_event(&what);
}

CUresult sim_cuEventRecordWithFlags(CUevent event, CUstream handle, unsigned int flags)
{
	struct CUstream_st *stream;
	CUresult result = sim_stream_find(handle, &stream);
	struct sim_work work = {.kind = SIM_WORK_RECORD, .event = event};

	if (result)
		return result;
	if (!sim_event_valid(event))
		return CUDA_ERROR_INVALID_HANDLE;
	if (stream->capture)
		return flags & CU_EVENT_RECORD_EXTERNAL ? sim_capture_work(stream, &work)
							: sim_capture_record(stream, event);
	event->capture = NULL;
	event->stream = stream;
	event->sync_id = atomic_fetch_add(&last_sync_id, 1) + 1;
	sim_run(stream, &work, 0, 0, 0);
	tell_recorded(stream, event);
	return CUDA_SUCCESS;
}

CUresult sim_cuEventRecord(CUevent event, CUstream stream)
{
	return sim_cuEventRecordWithFlags(event, stream, CU_EVENT_RECORD_DEFAULT);
}

CUresult sim_cuEventQuery(CUevent event)
{
	if (!sim_event_valid(event))
		return CUDA_ERROR_INVALID_HANDLE;
	return event->state->recorded && !sim_is_past(event->state->time) ? CUDA_ERROR_NOT_READY
									  : CUDA_SUCCESS;
}

static void tell_sync(enum sim_sync_kind kind, struct CUevent_st *event, struct CUstream_st *stream,
		      uint64_t start)
{
	struct sim_sync sync = {.kind = kind,
				.correlation = sim_current_correlation(),
				.context = event->context,
				.context_id = event->context->id,
				.stream_id = stream ? stream->id : 0,
				.event_id = event->id,
				.event_sync_id = event->sync_id,
				.start = start,
				.end = sim_now()};

	sim_client_synchronized(&sync);
}

CUresult sim_cuEventSynchronize(CUevent event)
{
	uint64_t start = sim_now();

	if (!sim_event_valid(event))
		return CUDA_ERROR_INVALID_HANDLE;
	if (event->state->recorded)
		sim_wait_until(event->state->time);
	if (event->state->recorded && event->stream && event->stream->host_functions)
		sim_stream_wait_host(event->stream);
	tell_sync(SIM_SYNC_EVENT, event, event->stream, start);
	return CUDA_SUCCESS;
}

CUresult sim_cuEventElapsedTime_v2(float *milliseconds, CUevent start, CUevent end)
{
	if (!sim_event_valid(start) || !sim_event_valid(end) || !start->state->recorded ||
	    !end->state->recorded || (start->flags | end->flags) & CU_EVENT_DISABLE_TIMING)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!sim_is_past(start->state->time) || !sim_is_past(end->state->time))
		return CUDA_ERROR_NOT_READY;
	*milliseconds = (float)((double)(int64_t)(end->state->time - start->state->time) / 1e6);
	return CUDA_SUCCESS;
}

CUresult sim_cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end)
{
	return sim_cuEventElapsedTime_v2(milliseconds, start, end);
}

CUresult sim_cuStreamWaitEvent(CUstream handle, CUevent event, unsigned int flags)
{
	struct CUstream_st *stream;
	CUresult result = sim_stream_find(handle, &stream);
	struct sim_work work = {.kind = SIM_WORK_WAIT, .event = event};

	if (result)
		return result;
	if (!sim_event_valid(event))
		return CUDA_ERROR_INVALID_HANDLE;
	if (stream->capture && flags & CU_EVENT_WAIT_EXTERNAL)
		return sim_capture_work(stream, &work);
	if (stream->capture || event->capture)
		return sim_capture_wait(stream, event);
	if (event->state->recorded)
		sim_stream_delay(stream, event->state->time);
	tell_sync(SIM_SYNC_WAIT_EVENT, event, stream, sim_now());
	return CUDA_SUCCESS;
}

/* All streams of a context as one: the end of what they have so far. */
CUresult sim_cuCtxRecordEvent(CUcontext context, CUevent event)
{
	if (!sim_context_valid(context))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!sim_event_valid(event))
		return CUDA_ERROR_INVALID_HANDLE;
	uint64_t tail = atomic_load(&context->tail), now = sim_now();
	event->state->time = tail > now ? tail : now;
	event->state->recorded = true;
	return CUDA_SUCCESS;
}

CUresult sim_cuCtxWaitEvent(CUcontext context, CUevent event)
{
	if (!sim_context_valid(context))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!sim_event_valid(event))
		return CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&context->mutex);
	for (struct CUstream_st *s = context->streams; s && event->state->recorded; s = s->next)
		sim_stream_delay(s, event->state->time);
	pthread_mutex_unlock(&context->mutex);
	return CUDA_SUCCESS;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams and events: thin covers of the driver's. Any thread.
 */
#include "runtime/runtime.h"

cudaError_t rt_cudaStreamCreate(cudaStream_t *stream)
{
	return RT_PLAIN(cuStreamCreate, stream, CU_STREAM_DEFAULT);
}

cudaError_t rt_cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags)
{
	return RT_PLAIN(cuStreamCreate, stream, flags);
}

cudaError_t rt_cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags, int priority)
{
	return RT_PLAIN(cuStreamCreateWithPriority, stream, flags, priority);
}

cudaError_t rt_cudaStreamDestroy(cudaStream_t stream)
{
	return RT_PLAIN(cuStreamDestroy_v2, stream);
}

cudaError_t rt_cudaStreamSynchronize(cudaStream_t stream)
{
	return RT_CALL(cuStreamSynchronize, _ptsz, stream);
}

cudaError_t rt_cudaStreamQuery(cudaStream_t stream)
{
	return RT_CALL(cuStreamQuery, _ptsz, stream);
}

cudaError_t rt_cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
{
	return RT_CALL(cuStreamWaitEvent, _ptsz, stream, event, flags);
}

cudaError_t rt_cudaStreamGetFlags(cudaStream_t stream, unsigned int *flags)
{
	return RT_CALL(cuStreamGetFlags, _ptsz, stream, flags);
}

cudaError_t rt_cudaStreamGetPriority(cudaStream_t stream, int *priority)
{
	return RT_CALL(cuStreamGetPriority, _ptsz, stream, priority);
}

cudaError_t rt_cudaStreamGetId(cudaStream_t stream, unsigned long long *id)
{
	return RT_CALL(cuStreamGetId, _ptsz, stream, id);
}

cudaError_t rt_cudaStreamGetDevice(cudaStream_t stream, int *device)
{
	return RT_CALL(cuStreamGetDevice, _ptsz, stream, device);
}

cudaError_t rt_cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void *data,
				     unsigned int flags)
{
	return RT_CALL(cuStreamAddCallback, _ptsz, stream, (CUstreamCallback)(void *)callback, data,
		       flags);
}

cudaError_t rt_cudaStreamAttachMemAsync(cudaStream_t stream, void *address, size_t length,
					unsigned int flags)
{
	return RT_CALL(cuStreamAttachMemAsync, _ptsz, stream, (CUdeviceptr)address, length, flags);
}

cudaError_t rt_cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
	return RT_CALL(cuStreamBeginCapture_v2, _ptsz, stream, (CUstreamCaptureMode)mode);
}

cudaError_t rt_cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
	return RT_CALL(cuStreamEndCapture, _ptsz, stream, graph);
}

cudaError_t rt_cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
{
	return RT_CALL(cuStreamIsCapturing, _ptsz, stream, (CUstreamCaptureStatus *)status);
}

cudaError_t rt_cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
					unsigned long long *id, cudaGraph_t *graph,
					const cudaGraphNode_t **dependencies,
					const cudaGraphEdgeData **edges, size_t *count)
{
	return RT_CALL(cuStreamGetCaptureInfo_v3, _ptsz, stream, (CUstreamCaptureStatus *)status,
		       (cuuint64_t *)id, graph, dependencies, (const CUgraphEdgeData **)edges,
		       count);
}

cudaError_t rt_cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
	return RT_PLAIN(cuThreadExchangeStreamCaptureMode, (CUstreamCaptureMode *)mode);
}

cudaError_t rt_cudaEventCreate(cudaEvent_t *event)
{
	return RT_PLAIN(cuEventCreate, event, CU_EVENT_DEFAULT);
}

cudaError_t rt_cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
	return RT_PLAIN(cuEventCreate, event, flags);
}

cudaError_t rt_cudaEventDestroy(cudaEvent_t event)
{
	return RT_PLAIN(cuEventDestroy_v2, event);
}

cudaError_t rt_cudaEventQuery(cudaEvent_t event)
{
	return RT_PLAIN(cuEventQuery, event);
}

cudaError_t rt_cudaEventSynchronize(cudaEvent_t event)
{
	return RT_PLAIN(cuEventSynchronize, event);
}

cudaError_t rt_cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end)
{
	return RT_PLAIN(cuEventElapsedTime_v2, milliseconds, start, end);
}

cudaError_t rt_cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
	return RT_CALL(cuEventRecord, _ptsz, event, stream);
}

cudaError_t rt_cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags)
{
	return RT_CALL(cuEventRecordWithFlags, _ptsz, event, stream, flags);
}

cudaError_t rt_cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
					     const cudaGraphNode_t *dependencies,
					     const cudaGraphEdgeData *edges, size_t count,
					     enum cudaStreamCaptureMode mode)
{
	return RT_CALL(cuStreamBeginCaptureToGraph, _ptsz, stream, graph, dependencies,
		       (const CUgraphEdgeData *)edges, count, (CUstreamCaptureMode)mode);
}

cudaError_t rt_cudaStreamSetAttribute(cudaStream_t stream, cudaStreamAttrID which,
				      const cudaStreamAttrValue *value)
{
	return RT_CALL(cuStreamSetAttribute, _ptsz, stream, (CUstreamAttrID)which,
		       (const CUstreamAttrValue *)value);
}

cudaError_t rt_cudaStreamGetAttribute(cudaStream_t stream, cudaStreamAttrID which,
				      cudaStreamAttrValue *value)
{
	return RT_CALL(cuStreamGetAttribute, _ptsz, stream, (CUstreamAttrID)which,
		       (CUstreamAttrValue *)value);
}

cudaError_t rt_cudaStreamCopyAttributes(cudaStream_t to, cudaStream_t from)
{
	return RT_CALL(cuStreamCopyAttributes, _ptsz, to, from);
}

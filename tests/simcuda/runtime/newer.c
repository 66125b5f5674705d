/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of the runtime after 13.0 (NEWER of gen_entries.py), as what they do in a context of
 * their own or with attributes is done by calls that are older. Any thread.
 */
#include "runtime/runtime.h"

static CUcontext context_of(struct cudaExecutionContext_st *context)
{
	return (CUcontext)context;
}

/* The one of the whole device. */
cudaError_t rt_cudaDeviceGetExecutionCtx(struct cudaExecutionContext_st **ret_context, int device)
{
	return RT_PLAIN(cuDevicePrimaryCtxRetain, (CUcontext *)ret_context, device);
}

cudaError_t rt_cudaExecutionCtxStreamCreate(cudaStream_t *stream,
					    struct cudaExecutionContext_st *context,
					    unsigned int flags, int priority)
{
	CUcontext before = NULL;
	cudaError_t error = RT_PLAIN(cuCtxGetCurrent, &before);

	if (!error)
		error = RT_PLAIN(cuCtxSetCurrent, context_of(context));
	if (!error)
		error = RT_PLAIN(cuStreamCreateWithPriority, stream, flags, priority);
	RT_PLAIN(cuCtxSetCurrent, before);
	return error;
}

cudaError_t rt_cudaExecutionCtxSynchronize(struct cudaExecutionContext_st *context)
{
	return RT_PLAIN(cuCtxSynchronize_v2, context_of(context));
}

cudaError_t rt_cudaExecutionCtxRecordEvent(struct cudaExecutionContext_st *context,
					   cudaEvent_t event)
{
	return RT_PLAIN(cuCtxRecordEvent, context_of(context), event);
}

cudaError_t rt_cudaExecutionCtxWaitEvent(struct cudaExecutionContext_st *context, cudaEvent_t event)
{
	return RT_PLAIN(cuCtxWaitEvent, context_of(context), event);
}

cudaError_t rt_cudaLaunchHostFunc_v2(cudaStream_t stream, cudaHostFn_t function, void *data,
				     unsigned int mode)
{
	return mode > 1 ? cudaErrorInvalidValue : rt_cudaLaunchHostFunc(stream, function, data);
}

cudaError_t rt_cudaMemcpyWithAttributesAsync(void *dst, const void *src, size_t size,
					     struct cudaMemcpyAttributes *attributes,
					     cudaStream_t stream)
{
	size_t first = 0;

	if (!attributes)
		return cudaErrorInvalidValue;
	return rt_cudaMemcpyBatchAsync(&dst, &src, &size, 1, attributes, &first, 1, stream);
}

cudaError_t rt_cudaMemcpy3DWithAttributesAsync(struct cudaMemcpy3DBatchOp *op,
					       unsigned long long flags, cudaStream_t stream)
{
	return rt_cudaMemcpy3DBatchAsync(1, op, flags, stream);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * The C signature of every interposed call: GT_CUDA_PARAMS_<name> and GT_CUDA_ARGS_<name>, picked
 * by the last column of a GT_CUDA_HOOKED row (core/schema/cuda_api.def). preload/hooks.c compares
 * the first kind with the toolkit's own declarations at compile time.
 */
#ifndef GT_PRELOAD_CUDA_SIGNATURES_H
#define GT_PRELOAD_CUDA_SIGNATURES_H

#include <stdint.h>

#include <cuda_runtime_api.h>

/* Not in the headers of older toolkits, all of which may build this. */
struct cudaExecutionContext_st;
struct cudaGraphRecaptureCallbackData;
struct cudaMemcpy3DBatchOp;
struct cudaMemcpyAttributes;

/* clang-format off */
#define GT_CUDA_PARAMS_cudaMalloc (void **devPtr, size_t size)
#define GT_CUDA_ARGS_cudaMalloc (devPtr, size)
#define GT_CUDA_PARAMS_cudaMallocPitch (void **devPtr, size_t *pitch, size_t width, size_t height)
#define GT_CUDA_ARGS_cudaMallocPitch (devPtr, pitch, width, height)
#define GT_CUDA_PARAMS_cudaFree (void *devPtr)
#define GT_CUDA_ARGS_cudaFree (devPtr)
#define GT_CUDA_PARAMS_cudaMallocArray \
	(cudaArray_t *array, const struct cudaChannelFormatDesc *desc, size_t width, \
	size_t height, unsigned int flags)
#define GT_CUDA_ARGS_cudaMallocArray (array, desc, width, height, flags)
#define GT_CUDA_PARAMS_cudaFreeArray (cudaArray_t array)
#define GT_CUDA_ARGS_cudaFreeArray (array)
#define GT_CUDA_PARAMS_cudaMallocHost (void **ptr, size_t size)
#define GT_CUDA_ARGS_cudaMallocHost (ptr, size)
#define GT_CUDA_PARAMS_cudaFreeHost (void *ptr)
#define GT_CUDA_ARGS_cudaFreeHost (ptr)
#define GT_CUDA_PARAMS_cudaHostAlloc (void **pHost, size_t size, unsigned int flags)
#define GT_CUDA_ARGS_cudaHostAlloc (pHost, size, flags)
#define GT_CUDA_PARAMS_cudaMemcpy \
	(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind)
#define GT_CUDA_ARGS_cudaMemcpy (dst, src, count, kind)
#define GT_CUDA_PARAMS_cudaMemcpy2D \
	(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height, \
	enum cudaMemcpyKind kind)
#define GT_CUDA_ARGS_cudaMemcpy2D (dst, dpitch, src, spitch, width, height, kind)
#define GT_CUDA_PARAMS_cudaMemcpyToArray \
	(cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src, size_t count, \
	enum cudaMemcpyKind kind)
#define GT_CUDA_ARGS_cudaMemcpyToArray (dst, wOffset, hOffset, src, count, kind)
#define GT_CUDA_PARAMS_cudaMemcpy2DToArray \
	(cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src, size_t spitch, \
	size_t width, size_t height, enum cudaMemcpyKind kind)
#define GT_CUDA_ARGS_cudaMemcpy2DToArray (dst, wOffset, hOffset, src, spitch, width, height, kind)
#define GT_CUDA_PARAMS_cudaMemcpyFromArray \
	(void *dst, cudaArray_const_t src, size_t wOffset, size_t hOffset, size_t count, \
	enum cudaMemcpyKind kind)
#define GT_CUDA_ARGS_cudaMemcpyFromArray (dst, src, wOffset, hOffset, count, kind)
#define GT_CUDA_PARAMS_cudaMemcpy2DFromArray \
	(void *dst, size_t dpitch, cudaArray_const_t src, size_t wOffset, size_t hOffset, \
	size_t width, size_t height, enum cudaMemcpyKind kind)
#define GT_CUDA_ARGS_cudaMemcpy2DFromArray (dst, dpitch, src, wOffset, hOffset, width, height, kind)
#define GT_CUDA_PARAMS_cudaMemcpyArrayToArray \
	(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst, cudaArray_const_t src, \
	size_t wOffsetSrc, size_t hOffsetSrc, size_t count, enum cudaMemcpyKind kind)
#define GT_CUDA_ARGS_cudaMemcpyArrayToArray \
	(dst, wOffsetDst, hOffsetDst, src, wOffsetSrc, hOffsetSrc, count, kind)
#define GT_CUDA_PARAMS_cudaMemcpy2DArrayToArray \
	(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst, cudaArray_const_t src, \
	size_t wOffsetSrc, size_t hOffsetSrc, size_t width, size_t height, \
	enum cudaMemcpyKind kind)
#define GT_CUDA_ARGS_cudaMemcpy2DArrayToArray \
	(dst, wOffsetDst, hOffsetDst, src, wOffsetSrc, hOffsetSrc, width, height, kind)
#define GT_CUDA_PARAMS_cudaMemcpyToSymbol \
	(const void *symbol, const void *src, size_t count, size_t offset, \
	enum cudaMemcpyKind kind)
#define GT_CUDA_ARGS_cudaMemcpyToSymbol (symbol, src, count, offset, kind)
#define GT_CUDA_PARAMS_cudaMemcpyFromSymbol \
	(void *dst, const void *symbol, size_t count, size_t offset, enum cudaMemcpyKind kind)
#define GT_CUDA_ARGS_cudaMemcpyFromSymbol (dst, symbol, count, offset, kind)
#define GT_CUDA_PARAMS_cudaMemcpyAsync \
	(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind, \
	cudaStream_t stream)
#define GT_CUDA_ARGS_cudaMemcpyAsync (dst, src, count, kind, stream)
#define GT_CUDA_PARAMS_cudaMemcpyToArrayAsync \
	(cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src, size_t count, \
	enum cudaMemcpyKind kind, cudaStream_t stream)
#define GT_CUDA_ARGS_cudaMemcpyToArrayAsync (dst, wOffset, hOffset, src, count, kind, stream)
#define GT_CUDA_PARAMS_cudaMemcpyFromArrayAsync \
	(void *dst, cudaArray_const_t src, size_t wOffset, size_t hOffset, size_t count, \
	enum cudaMemcpyKind kind, cudaStream_t stream)
#define GT_CUDA_ARGS_cudaMemcpyFromArrayAsync (dst, src, wOffset, hOffset, count, kind, stream)
#define GT_CUDA_PARAMS_cudaMemcpy2DAsync \
	(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height, \
	enum cudaMemcpyKind kind, cudaStream_t stream)
#define GT_CUDA_ARGS_cudaMemcpy2DAsync (dst, dpitch, src, spitch, width, height, kind, stream)
#define GT_CUDA_PARAMS_cudaMemcpy2DToArrayAsync \
	(cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src, size_t spitch, \
	size_t width, size_t height, enum cudaMemcpyKind kind, cudaStream_t stream)
#define GT_CUDA_ARGS_cudaMemcpy2DToArrayAsync \
	(dst, wOffset, hOffset, src, spitch, width, height, kind, stream)
#define GT_CUDA_PARAMS_cudaMemcpy2DFromArrayAsync \
	(void *dst, size_t dpitch, cudaArray_const_t src, size_t wOffset, size_t hOffset, \
	size_t width, size_t height, enum cudaMemcpyKind kind, cudaStream_t stream)
#define GT_CUDA_ARGS_cudaMemcpy2DFromArrayAsync \
	(dst, dpitch, src, wOffset, hOffset, width, height, kind, stream)
#define GT_CUDA_PARAMS_cudaMemcpyToSymbolAsync \
	(const void *symbol, const void *src, size_t count, size_t offset, \
	enum cudaMemcpyKind kind, cudaStream_t stream)
#define GT_CUDA_ARGS_cudaMemcpyToSymbolAsync (symbol, src, count, offset, kind, stream)
#define GT_CUDA_PARAMS_cudaMemcpyFromSymbolAsync \
	(void *dst, const void *symbol, size_t count, size_t offset, enum cudaMemcpyKind kind, \
	cudaStream_t stream)
#define GT_CUDA_ARGS_cudaMemcpyFromSymbolAsync (dst, symbol, count, offset, kind, stream)
#define GT_CUDA_PARAMS_cudaMemset (void *devPtr, int value, size_t count)
#define GT_CUDA_ARGS_cudaMemset (devPtr, value, count)
#define GT_CUDA_PARAMS_cudaMemset2D \
	(void *devPtr, size_t pitch, int value, size_t width, size_t height)
#define GT_CUDA_ARGS_cudaMemset2D (devPtr, pitch, value, width, height)
#define GT_CUDA_PARAMS_cudaMemsetAsync (void *devPtr, int value, size_t count, cudaStream_t stream)
#define GT_CUDA_ARGS_cudaMemsetAsync (devPtr, value, count, stream)
#define GT_CUDA_PARAMS_cudaMemset2DAsync \
	(void *devPtr, size_t pitch, int value, size_t width, size_t height, \
	cudaStream_t stream)
#define GT_CUDA_ARGS_cudaMemset2DAsync (devPtr, pitch, value, width, height, stream)
#define GT_CUDA_PARAMS_cudaStreamCreate (cudaStream_t *pStream)
#define GT_CUDA_ARGS_cudaStreamCreate (pStream)
#define GT_CUDA_PARAMS_cudaStreamSynchronize (cudaStream_t stream)
#define GT_CUDA_ARGS_cudaStreamSynchronize (stream)
#define GT_CUDA_PARAMS_cudaEventCreate (cudaEvent_t *event)
#define GT_CUDA_ARGS_cudaEventCreate (event)
#define GT_CUDA_PARAMS_cudaEventCreateWithFlags (cudaEvent_t *event, unsigned int flags)
#define GT_CUDA_ARGS_cudaEventCreateWithFlags (event, flags)
#define GT_CUDA_PARAMS_cudaEventRecord (cudaEvent_t event, cudaStream_t stream)
#define GT_CUDA_ARGS_cudaEventRecord (event, stream)
#define GT_CUDA_PARAMS_cudaEventDestroy (cudaEvent_t event)
#define GT_CUDA_ARGS_cudaEventDestroy (event)
#define GT_CUDA_PARAMS_cudaEventSynchronize (cudaEvent_t event)
#define GT_CUDA_ARGS_cudaEventSynchronize (event)
#define GT_CUDA_PARAMS_cudaMalloc3D (struct cudaPitchedPtr *pitchedDevPtr, struct cudaExtent extent)
#define GT_CUDA_ARGS_cudaMalloc3D (pitchedDevPtr, extent)
#define GT_CUDA_PARAMS_cudaMalloc3DArray \
	(cudaArray_t *array, const struct cudaChannelFormatDesc *desc, struct cudaExtent extent, \
	unsigned int flags)
#define GT_CUDA_ARGS_cudaMalloc3DArray (array, desc, extent, flags)
#define GT_CUDA_PARAMS_cudaMemset3D \
	(struct cudaPitchedPtr pitchedDevPtr, int value, struct cudaExtent extent)
#define GT_CUDA_ARGS_cudaMemset3D (pitchedDevPtr, value, extent)
#define GT_CUDA_PARAMS_cudaMemset3DAsync \
	(struct cudaPitchedPtr pitchedDevPtr, int value, struct cudaExtent extent, \
	cudaStream_t stream)
#define GT_CUDA_ARGS_cudaMemset3DAsync (pitchedDevPtr, value, extent, stream)
#define GT_CUDA_PARAMS_cudaMemcpy3D (const struct cudaMemcpy3DParms *p)
#define GT_CUDA_ARGS_cudaMemcpy3D (p)
#define GT_CUDA_PARAMS_cudaMemcpy3DAsync (const struct cudaMemcpy3DParms *p, cudaStream_t stream)
#define GT_CUDA_ARGS_cudaMemcpy3DAsync (p, stream)
#define GT_CUDA_PARAMS_cudaStreamWaitEvent \
	(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
#define GT_CUDA_ARGS_cudaStreamWaitEvent (stream, event, flags)
#define GT_CUDA_PARAMS_cudaHostRegister (void *ptr, size_t size, unsigned int flags)
#define GT_CUDA_ARGS_cudaHostRegister (ptr, size, flags)
#define GT_CUDA_PARAMS_cudaHostUnregister (void *ptr)
#define GT_CUDA_ARGS_cudaHostUnregister (ptr)
#define GT_CUDA_PARAMS_cudaMemcpyPeer \
	(void *dst, int dstDevice, const void *src, int srcDevice, size_t count)
#define GT_CUDA_ARGS_cudaMemcpyPeer (dst, dstDevice, src, srcDevice, count)
#define GT_CUDA_PARAMS_cudaMemcpyPeerAsync \
	(void *dst, int dstDevice, const void *src, int srcDevice, size_t count, \
	cudaStream_t stream)
#define GT_CUDA_ARGS_cudaMemcpyPeerAsync (dst, dstDevice, src, srcDevice, count, stream)
#define GT_CUDA_PARAMS_cudaMemcpy3DPeer (const struct cudaMemcpy3DPeerParms *p)
#define GT_CUDA_ARGS_cudaMemcpy3DPeer (p)
#define GT_CUDA_PARAMS_cudaMemcpy3DPeerAsync \
	(const struct cudaMemcpy3DPeerParms *p, cudaStream_t stream)
#define GT_CUDA_ARGS_cudaMemcpy3DPeerAsync (p, stream)
#define GT_CUDA_PARAMS_cudaDeviceReset (void)
#define GT_CUDA_ARGS_cudaDeviceReset ()
#define GT_CUDA_PARAMS_cudaProfilerStart (void)
#define GT_CUDA_ARGS_cudaProfilerStart ()
#define GT_CUDA_PARAMS_cudaProfilerStop (void)
#define GT_CUDA_ARGS_cudaProfilerStop ()
#define GT_CUDA_PARAMS_cudaDeviceSynchronize (void)
#define GT_CUDA_ARGS_cudaDeviceSynchronize ()
#define GT_CUDA_PARAMS_cudaIpcOpenEventHandle (cudaEvent_t *event, cudaIpcEventHandle_t handle)
#define GT_CUDA_ARGS_cudaIpcOpenEventHandle (event, handle)
#define GT_CUDA_PARAMS_cudaIpcOpenMemHandle \
	(void **devPtr, cudaIpcMemHandle_t handle, unsigned int flags)
#define GT_CUDA_ARGS_cudaIpcOpenMemHandle (devPtr, handle, flags)
#define GT_CUDA_PARAMS_cudaIpcCloseMemHandle (void *devPtr)
#define GT_CUDA_ARGS_cudaIpcCloseMemHandle (devPtr)
#define GT_CUDA_PARAMS_cudaMallocMipmappedArray \
	(cudaMipmappedArray_t *mipmappedArray, const struct cudaChannelFormatDesc *desc, \
	struct cudaExtent extent, unsigned int numLevels, unsigned int flags)
#define GT_CUDA_ARGS_cudaMallocMipmappedArray (mipmappedArray, desc, extent, numLevels, flags)
#define GT_CUDA_PARAMS_cudaFreeMipmappedArray (cudaMipmappedArray_t mipmappedArray)
#define GT_CUDA_ARGS_cudaFreeMipmappedArray (mipmappedArray)
#define GT_CUDA_PARAMS_cudaStreamAddCallback \
	(cudaStream_t stream, cudaStreamCallback_t callback, void *userData, unsigned int flags)
#define GT_CUDA_ARGS_cudaStreamAddCallback (stream, callback, userData, flags)
#define GT_CUDA_PARAMS_cudaStreamCreateWithFlags (cudaStream_t *pStream, unsigned int flags)
#define GT_CUDA_ARGS_cudaStreamCreateWithFlags (pStream, flags)
#define GT_CUDA_PARAMS_cudaStreamDestroy (cudaStream_t stream)
#define GT_CUDA_ARGS_cudaStreamDestroy (stream)
#define GT_CUDA_PARAMS_cudaStreamCreateWithPriority \
	(cudaStream_t *pStream, unsigned int flags, int priority)
#define GT_CUDA_ARGS_cudaStreamCreateWithPriority (pStream, flags, priority)
#define GT_CUDA_PARAMS_cudaMallocManaged (void **devPtr, size_t size, unsigned int flags)
#define GT_CUDA_ARGS_cudaMallocManaged (devPtr, size, flags)
#define GT_CUDA_PARAMS_cudaLaunchKernel \
	(const void *func, dim3 gridDim, dim3 blockDim, void **args, size_t sharedMem, \
	cudaStream_t stream)
#define GT_CUDA_ARGS_cudaLaunchKernel (func, gridDim, blockDim, args, sharedMem, stream)
#define GT_CUDA_PARAMS_cudaLaunchCooperativeKernel \
	(const void *func, dim3 gridDim, dim3 blockDim, void **args, size_t sharedMem, \
	cudaStream_t stream)
#define GT_CUDA_ARGS_cudaLaunchCooperativeKernel (func, gridDim, blockDim, args, sharedMem, stream)
#define GT_CUDA_PARAMS_cudaImportExternalMemory \
	(cudaExternalMemory_t *extMem_out, \
	const struct cudaExternalMemoryHandleDesc *memHandleDesc)
#define GT_CUDA_ARGS_cudaImportExternalMemory (extMem_out, memHandleDesc)
#define GT_CUDA_PARAMS_cudaExternalMemoryGetMappedBuffer \
	(void **devPtr, cudaExternalMemory_t extMem, \
	const struct cudaExternalMemoryBufferDesc *bufferDesc)
#define GT_CUDA_ARGS_cudaExternalMemoryGetMappedBuffer (devPtr, extMem, bufferDesc)
#define GT_CUDA_PARAMS_cudaExternalMemoryGetMappedMipmappedArray \
	(cudaMipmappedArray_t *mipmap, cudaExternalMemory_t extMem, \
	const struct cudaExternalMemoryMipmappedArrayDesc *mipmapDesc)
#define GT_CUDA_ARGS_cudaExternalMemoryGetMappedMipmappedArray (mipmap, extMem, mipmapDesc)
#define GT_CUDA_PARAMS_cudaDestroyExternalMemory (cudaExternalMemory_t extMem)
#define GT_CUDA_ARGS_cudaDestroyExternalMemory (extMem)
#define GT_CUDA_PARAMS_cudaLaunchHostFunc (cudaStream_t stream, cudaHostFn_t fn, void *userData)
#define GT_CUDA_ARGS_cudaLaunchHostFunc (stream, fn, userData)
#define GT_CUDA_PARAMS_cudaGraphLaunch (cudaGraphExec_t graphExec, cudaStream_t stream)
#define GT_CUDA_ARGS_cudaGraphLaunch (graphExec, stream)
#define GT_CUDA_PARAMS_cudaGraphExecDestroy (cudaGraphExec_t graphExec)
#define GT_CUDA_ARGS_cudaGraphExecDestroy (graphExec)
#define GT_CUDA_PARAMS_cudaGraphDestroy (cudaGraph_t graph)
#define GT_CUDA_ARGS_cudaGraphDestroy (graph)
#define GT_CUDA_PARAMS_cudaStreamBeginCapture (cudaStream_t stream, enum cudaStreamCaptureMode mode)
#define GT_CUDA_ARGS_cudaStreamBeginCapture (stream, mode)
#define GT_CUDA_PARAMS_cudaStreamEndCapture (cudaStream_t stream, cudaGraph_t *pGraph)
#define GT_CUDA_ARGS_cudaStreamEndCapture (stream, pGraph)
#define GT_CUDA_PARAMS_cudaGraphUpload (cudaGraphExec_t graphExec, cudaStream_t stream)
#define GT_CUDA_ARGS_cudaGraphUpload (graphExec, stream)
#define GT_CUDA_PARAMS_cudaEventRecordWithFlags \
	(cudaEvent_t event, cudaStream_t stream, unsigned int flags)
#define GT_CUDA_ARGS_cudaEventRecordWithFlags (event, stream, flags)
#define GT_CUDA_PARAMS_cudaMallocAsync (void **devPtr, size_t size, cudaStream_t hStream)
#define GT_CUDA_ARGS_cudaMallocAsync (devPtr, size, hStream)
#define GT_CUDA_PARAMS_cudaFreeAsync (void *devPtr, cudaStream_t hStream)
#define GT_CUDA_ARGS_cudaFreeAsync (devPtr, hStream)
#define GT_CUDA_PARAMS_cudaMemPoolTrimTo (cudaMemPool_t memPool, size_t minBytesToKeep)
#define GT_CUDA_ARGS_cudaMemPoolTrimTo (memPool, minBytesToKeep)
#define GT_CUDA_PARAMS_cudaMemPoolCreate \
	(cudaMemPool_t *memPool, const struct cudaMemPoolProps *poolProps)
#define GT_CUDA_ARGS_cudaMemPoolCreate (memPool, poolProps)
#define GT_CUDA_PARAMS_cudaMemPoolDestroy (cudaMemPool_t memPool)
#define GT_CUDA_ARGS_cudaMemPoolDestroy (memPool)
#define GT_CUDA_PARAMS_cudaMemPoolImportFromShareableHandle \
	(cudaMemPool_t *memPool, void *shareableHandle, \
	enum cudaMemAllocationHandleType handleType, unsigned int flags)
#define GT_CUDA_ARGS_cudaMemPoolImportFromShareableHandle \
	(memPool, shareableHandle, handleType, flags)
#define GT_CUDA_PARAMS_cudaMemPoolImportPointer \
	(void **ptr, cudaMemPool_t memPool, struct cudaMemPoolPtrExportData *exportData)
#define GT_CUDA_ARGS_cudaMemPoolImportPointer (ptr, memPool, exportData)
#define GT_CUDA_PARAMS_cudaMallocFromPoolAsync \
	(void **ptr, size_t size, cudaMemPool_t memPool, cudaStream_t stream)
#define GT_CUDA_ARGS_cudaMallocFromPoolAsync (ptr, size, memPool, stream)
#define GT_CUDA_PARAMS_cudaSignalExternalSemaphoresAsync \
	(const cudaExternalSemaphore_t *extSemArray, \
	const struct cudaExternalSemaphoreSignalParams *paramsArray, unsigned int numExtSems, \
	cudaStream_t stream)
#define GT_CUDA_ARGS_cudaSignalExternalSemaphoresAsync \
	(extSemArray, paramsArray, numExtSems, stream)
#define GT_CUDA_PARAMS_cudaWaitExternalSemaphoresAsync \
	(const cudaExternalSemaphore_t *extSemArray, \
	const struct cudaExternalSemaphoreWaitParams *paramsArray, unsigned int numExtSems, \
	cudaStream_t stream)
#define GT_CUDA_ARGS_cudaWaitExternalSemaphoresAsync (extSemArray, paramsArray, numExtSems, stream)
#define GT_CUDA_PARAMS_cudaDeviceFlushGPUDirectRDMAWrites \
	(enum cudaFlushGPUDirectRDMAWritesTarget target, \
	enum cudaFlushGPUDirectRDMAWritesScope scope)
#define GT_CUDA_ARGS_cudaDeviceFlushGPUDirectRDMAWrites (target, scope)
#define GT_CUDA_PARAMS_cudaGraphInstantiateWithFlags \
	(cudaGraphExec_t *pGraphExec, cudaGraph_t graph, unsigned long long flags)
#define GT_CUDA_ARGS_cudaGraphInstantiateWithFlags (pGraphExec, graph, flags)
#define GT_CUDA_PARAMS_cudaDeviceGraphMemTrim (int device)
#define GT_CUDA_ARGS_cudaDeviceGraphMemTrim (device)
#define GT_CUDA_PARAMS_cudaLaunchKernelExC \
	(const cudaLaunchConfig_t *config, const void *func, void **args)
#define GT_CUDA_ARGS_cudaLaunchKernelExC (config, func, args)
#define GT_CUDA_PARAMS_cudaGraphInstantiateWithParams \
	(cudaGraphExec_t *pGraphExec, cudaGraph_t graph, \
	cudaGraphInstantiateParams *instantiateParams)
#define GT_CUDA_ARGS_cudaGraphInstantiateWithParams (pGraphExec, graph, instantiateParams)
#define GT_CUDA_PARAMS_cudaStreamBeginCaptureToGraph \
	(cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t *dependencies, \
	const cudaGraphEdgeData *dependencyData, size_t numDependencies, \
	enum cudaStreamCaptureMode mode)
#define GT_CUDA_ARGS_cudaStreamBeginCaptureToGraph \
	(stream, graph, dependencies, dependencyData, numDependencies, mode)

/* GT_CUDA_HOOKED_NEWER: of toolkits after 13.0, with pointers in place of types that 13.0 lacks. */
#define GT_CUDA_PARAMS_cudaExecutionCtxDestroy (struct cudaExecutionContext_st *ctx)
#define GT_CUDA_ARGS_cudaExecutionCtxDestroy (ctx)
#define GT_CUDA_PARAMS_cudaExecutionCtxStreamCreate \
	(cudaStream_t *phStream, struct cudaExecutionContext_st *ctx, unsigned int flags, \
	int priority)
#define GT_CUDA_ARGS_cudaExecutionCtxStreamCreate (phStream, ctx, flags, priority)
#define GT_CUDA_PARAMS_cudaExecutionCtxSynchronize (struct cudaExecutionContext_st *ctx)
#define GT_CUDA_ARGS_cudaExecutionCtxSynchronize (ctx)
#define GT_CUDA_PARAMS_cudaExecutionCtxRecordEvent \
	(struct cudaExecutionContext_st *ctx, cudaEvent_t event)
#define GT_CUDA_ARGS_cudaExecutionCtxRecordEvent (ctx, event)
#define GT_CUDA_PARAMS_cudaExecutionCtxWaitEvent \
	(struct cudaExecutionContext_st *ctx, cudaEvent_t event)
#define GT_CUDA_ARGS_cudaExecutionCtxWaitEvent (ctx, event)
#define GT_CUDA_PARAMS_cudaLaunchHostFunc_v2 \
	(cudaStream_t stream, cudaHostFn_t fn, void *userData, unsigned int syncMode)
#define GT_CUDA_ARGS_cudaLaunchHostFunc_v2 (stream, fn, userData, syncMode)
#define GT_CUDA_PARAMS_cudaMemcpyWithAttributesAsync \
	(void *dst, const void *src, size_t size, struct cudaMemcpyAttributes *attr, \
	cudaStream_t stream)
#define GT_CUDA_ARGS_cudaMemcpyWithAttributesAsync (dst, src, size, attr, stream)
#define GT_CUDA_PARAMS_cudaMemcpy3DWithAttributesAsync \
	(struct cudaMemcpy3DBatchOp *op, unsigned long long flags, cudaStream_t stream)
#define GT_CUDA_ARGS_cudaMemcpy3DWithAttributesAsync (op, flags, stream)
#define GT_CUDA_PARAMS_cudaStreamBeginRecaptureToGraph \
	(cudaStream_t stream, enum cudaStreamCaptureMode mode, cudaGraph_t graph, \
	struct cudaGraphRecaptureCallbackData *callbackData)
#define GT_CUDA_ARGS_cudaStreamBeginRecaptureToGraph (stream, mode, graph, callbackData)

/*
 * GT_CUDA_HOOKED_WORDS: calls whose parameters differ between CUDA majors under one name, or that
 * older toolkits do not declare. Every parameter that any version has is one integer word; the hook
 * hands on as many words as the longest version takes, which the shorter ones do not look at.
 */
#define GT_CUDA_PARAMS_cudaGraphExecUpdate (uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d)
#define GT_CUDA_ARGS_cudaGraphExecUpdate (a, b, c, d)
#define GT_CUDA_PARAMS_cudaGraphInstantiate \
	(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e)
#define GT_CUDA_ARGS_cudaGraphInstantiate (a, b, c, d, e)
#define GT_CUDA_PARAMS_cudaMemPrefetchAsync \
	(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e)
#define GT_CUDA_ARGS_cudaMemPrefetchAsync (a, b, c, d, e)
#define GT_CUDA_PARAMS_cudaMemPrefetchBatchAsync \
	(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e, uintptr_t f, \
	uintptr_t g, uintptr_t h)
#define GT_CUDA_ARGS_cudaMemPrefetchBatchAsync (a, b, c, d, e, f, g, h)
#define GT_CUDA_PARAMS_cudaMemDiscardBatchAsync \
	(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e)
#define GT_CUDA_ARGS_cudaMemDiscardBatchAsync (a, b, c, d, e)
#define GT_CUDA_PARAMS_cudaMemDiscardAndPrefetchBatchAsync \
	(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e, uintptr_t f, \
	uintptr_t g, uintptr_t h)
#define GT_CUDA_ARGS_cudaMemDiscardAndPrefetchBatchAsync (a, b, c, d, e, f, g, h)
#define GT_CUDA_PARAMS_cudaMemcpyBatchAsync \
	(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e, uintptr_t f, \
	uintptr_t g, uintptr_t h, uintptr_t i)
#define GT_CUDA_ARGS_cudaMemcpyBatchAsync (a, b, c, d, e, f, g, h, i)
#define GT_CUDA_PARAMS_cudaMemcpy3DBatchAsync \
	(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e)
#define GT_CUDA_ARGS_cudaMemcpy3DBatchAsync (a, b, c, d, e)
/* clang-format on */

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of the simulated CUDA runtime. It knows the driver only through dlsym, as the real
 * one does, so that its driver calls pass every interposed symbol by and are nested calls to a
 * tool.
 */
#ifndef SIMCUDA_RUNTIME_RUNTIME_H
#define SIMCUDA_RUNTIME_RUNTIME_H

#include "sim.h"

#include <cudaProfiler.h>
#include <cuda_runtime_api.h>
#include <cuda_profiler_api.h>
#include <generated_cuda_runtime_api_meta.h>

struct cudaExecutionContext_st; /* of CUDA 13.1 */
#include "runtime_impl.h"

/* What a call needs before it can be carried out. */
enum rt_need { RT_NOTHING, RT_DRIVER, RT_CONTEXT };

/* Every driver function that the runtime calls. */
#define RT_DRIVER_FUNCTIONS(X)                                                                     \
	X(cuInit)                                                                                  \
	X(cuGetExportTable)                                                                        \
	X(cuDriverGetVersion)                                                                      \
	X(cuDeviceGet)                                                                             \
	X(cuDeviceGetCount)                                                                        \
	X(cuDeviceGetName)                                                                         \
	X(cuDeviceGetUuid_v2)                                                                      \
	X(cuDeviceTotalMem_v2)                                                                     \
	X(cuDeviceGetAttribute)                                                                    \
	X(cuDeviceGetPCIBusId)                                                                     \
	X(cuDeviceGetByPCIBusId)                                                                   \
	X(cuDeviceCanAccessPeer)                                                                   \
	X(cuDeviceGetDefaultMemPool)                                                               \
	X(cuDeviceGetMemPool)                                                                      \
	X(cuDeviceSetMemPool)                                                                      \
	X(cuDevicePrimaryCtxRetain)                                                                \
	X(cuDevicePrimaryCtxReset_v2)                                                              \
	X(cuDevicePrimaryCtxSetFlags_v2)                                                           \
	X(cuCtxGetCurrent)                                                                         \
	X(cuCtxSetCurrent)                                                                         \
	X(cuCtxGetDevice)                                                                          \
	X(cuCtxSynchronize)                                                                        \
	X(cuCtxSynchronize_v2)                                                                     \
	X(cuCtxRecordEvent)                                                                        \
	X(cuCtxWaitEvent)                                                                          \
	X(cuCtxGetStreamPriorityRange)                                                             \
	X(cuCtxGetLimit)                                                                           \
	X(cuCtxSetLimit)                                                                           \
	X(cuLibraryLoadData)                                                                       \
	X(cuLibraryGetKernel)                                                                      \
	X(cuLibraryGetGlobal)                                                                      \
	X(cuLaunchKernel)                                                                          \
	X(cuLaunchKernel_ptsz)                                                                     \
	X(cuLaunchKernelEx)                                                                        \
	X(cuLaunchKernelEx_ptsz)                                                                   \
	X(cuLaunchCooperativeKernel)                                                               \
	X(cuLaunchCooperativeKernel_ptsz)                                                          \
	X(cuLaunchHostFunc)                                                                        \
	X(cuLaunchHostFunc_ptsz)                                                                   \
	X(cuFuncGetAttribute)                                                                      \
	X(cuFuncSetAttribute)                                                                      \
	X(cuFuncSetCacheConfig)                                                                    \
	X(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)                                    \
	X(cuMemGetInfo_v2)                                                                         \
	X(cuMemAlloc_v2)                                                                           \
	X(cuMemAllocPitch_v2)                                                                      \
	X(cuMemAllocManaged)                                                                       \
	X(cuMemHostAlloc)                                                                          \
	X(cuMemFree_v2)                                                                            \
	X(cuMemFreeHost)                                                                           \
	X(cuMemHostRegister_v2)                                                                    \
	X(cuMemHostUnregister)                                                                     \
	X(cuMemHostGetDevicePointer_v2)                                                            \
	X(cuMemHostGetFlags)                                                                       \
	X(cuMemAllocAsync)                                                                         \
	X(cuMemAllocAsync_ptsz)                                                                    \
	X(cuMemAllocFromPoolAsync)                                                                 \
	X(cuMemAllocFromPoolAsync_ptsz)                                                            \
	X(cuMemFreeAsync)                                                                          \
	X(cuMemFreeAsync_ptsz)                                                                     \
	X(cuMemPoolCreate)                                                                         \
	X(cuMemPoolDestroy)                                                                        \
	X(cuMemPoolSetAttribute)                                                                   \
	X(cuMemPoolGetAttribute)                                                                   \
	X(cuMemPoolTrimTo)                                                                         \
	X(cuMemPrefetchAsync_v2)                                                                   \
	X(cuMemPrefetchAsync_v2_ptsz)                                                              \
	X(cuMemAdvise_v2)                                                                          \
	X(cuPointerGetAttributes)                                                                  \
	X(cuMemcpy)                                                                                \
	X(cuMemcpy_ptds)                                                                           \
	X(cuMemcpyAsync)                                                                           \
	X(cuMemcpyAsync_ptsz)                                                                      \
	X(cuMemcpyHtoD_v2)                                                                         \
	X(cuMemcpyHtoD_v2_ptds)                                                                    \
	X(cuMemcpyHtoDAsync_v2)                                                                    \
	X(cuMemcpyHtoDAsync_v2_ptsz)                                                               \
	X(cuMemcpyDtoH_v2)                                                                         \
	X(cuMemcpyDtoH_v2_ptds)                                                                    \
	X(cuMemcpyDtoHAsync_v2)                                                                    \
	X(cuMemcpyDtoHAsync_v2_ptsz)                                                               \
	X(cuMemcpyDtoD_v2)                                                                         \
	X(cuMemcpyDtoD_v2_ptds)                                                                    \
	X(cuMemcpyDtoDAsync_v2)                                                                    \
	X(cuMemcpyDtoDAsync_v2_ptsz)                                                               \
	X(cuMemcpy2D_v2)                                                                           \
	X(cuMemcpy2D_v2_ptds)                                                                      \
	X(cuMemcpy2DAsync_v2)                                                                      \
	X(cuMemcpy2DAsync_v2_ptsz)                                                                 \
	X(cuMemcpy3D_v2)                                                                           \
	X(cuMemcpy3D_v2_ptds)                                                                      \
	X(cuMemcpy3DAsync_v2)                                                                      \
	X(cuMemcpy3DAsync_v2_ptsz)                                                                 \
	X(cuMemcpyPeer)                                                                            \
	X(cuMemcpyPeer_ptds)                                                                       \
	X(cuMemcpyPeerAsync)                                                                       \
	X(cuMemcpyPeerAsync_ptsz)                                                                  \
	X(cuMemsetD8_v2)                                                                           \
	X(cuMemsetD8_v2_ptds)                                                                      \
	X(cuMemsetD8Async)                                                                         \
	X(cuMemsetD8Async_ptsz)                                                                    \
	X(cuMemsetD2D8_v2)                                                                         \
	X(cuMemsetD2D8_v2_ptds)                                                                    \
	X(cuMemsetD2D8Async)                                                                       \
	X(cuMemsetD2D8Async_ptsz)                                                                  \
	X(cuStreamCreate)                                                                          \
	X(cuStreamCreateWithPriority)                                                              \
	X(cuStreamDestroy_v2)                                                                      \
	X(cuStreamSynchronize)                                                                     \
	X(cuStreamSynchronize_ptsz)                                                                \
	X(cuStreamQuery)                                                                           \
	X(cuStreamQuery_ptsz)                                                                      \
	X(cuStreamWaitEvent)                                                                       \
	X(cuStreamWaitEvent_ptsz)                                                                  \
	X(cuStreamGetFlags)                                                                        \
	X(cuStreamGetFlags_ptsz)                                                                   \
	X(cuStreamGetPriority)                                                                     \
	X(cuStreamGetPriority_ptsz)                                                                \
	X(cuStreamGetId)                                                                           \
	X(cuStreamGetId_ptsz)                                                                      \
	X(cuStreamGetDevice)                                                                       \
	X(cuStreamGetDevice_ptsz)                                                                  \
	X(cuStreamAddCallback)                                                                     \
	X(cuStreamAddCallback_ptsz)                                                                \
	X(cuStreamAttachMemAsync)                                                                  \
	X(cuStreamAttachMemAsync_ptsz)                                                             \
	X(cuStreamBeginCapture_v2)                                                                 \
	X(cuStreamBeginCapture_v2_ptsz)                                                            \
	X(cuStreamEndCapture)                                                                      \
	X(cuStreamEndCapture_ptsz)                                                                 \
	X(cuStreamIsCapturing)                                                                     \
	X(cuStreamIsCapturing_ptsz)                                                                \
	X(cuStreamGetCaptureInfo_v3)                                                               \
	X(cuStreamGetCaptureInfo_v3_ptsz)                                                          \
	X(cuThreadExchangeStreamCaptureMode)                                                       \
	X(cuEventCreate)                                                                           \
	X(cuEventDestroy_v2)                                                                       \
	X(cuEventQuery)                                                                            \
	X(cuEventSynchronize)                                                                      \
	X(cuEventElapsedTime_v2)                                                                   \
	X(cuEventRecord)                                                                           \
	X(cuEventRecord_ptsz)                                                                      \
	X(cuEventRecordWithFlags)                                                                  \
	X(cuEventRecordWithFlags_ptsz)                                                             \
	X(cuGraphCreate)                                                                           \
	X(cuGraphDestroy)                                                                          \
	X(cuGraphClone)                                                                            \
	X(cuGraphAddKernelNode_v2)                                                                 \
	X(cuGraphAddMemcpyNode)                                                                    \
	X(cuGraphAddMemsetNode)                                                                    \
	X(cuGraphAddHostNode)                                                                      \
	X(cuGraphAddEmptyNode)                                                                     \
	X(cuGraphAddChildGraphNode)                                                                \
	X(cuGraphAddEventRecordNode)                                                               \
	X(cuGraphAddEventWaitNode)                                                                 \
	X(cuGraphAddDependencies_v2)                                                               \
	X(cuGraphKernelNodeGetParams_v2)                                                           \
	X(cuGraphExecKernelNodeSetParams_v2)                                                       \
	X(cuGraphKernelNodeSetParams_v2)                                                           \
	X(cuGraphGetNodes)                                                                         \
	X(cuGraphGetRootNodes)                                                                     \
	X(cuGraphNodeGetType)                                                                      \
	X(cuGraphDestroyNode)                                                                      \
	X(cuGraphInstantiateWithFlags)                                                             \
	X(cuGraphExecUpdate_v2)                                                                    \
	X(cuGraphExecDestroy)                                                                      \
	X(cuGraphUpload)                                                                           \
	X(cuGraphUpload_ptsz)                                                                      \
	X(cuGraphLaunch)                                                                           \
	X(cuGraphLaunch_ptsz)                                                                      \
	X(cuGetProcAddress_v2)                                                                     \
	X(cuGraphAddNode_v2)                                                                       \
	X(cuGraphExecMemcpyNodeSetParams)                                                          \
	X(cuGraphExecMemsetNodeSetParams)                                                          \
	X(cuGraphExecHostNodeSetParams)                                                            \
	X(cuGraphGetEdges_v2)                                                                      \
	X(cuGraphNodeGetDependencies_v2)                                                           \
	X(cuGraphNodeGetDependentNodes_v2)                                                         \
	X(cuGraphNodeSetEnabled)                                                                   \
	X(cuGraphNodeGetEnabled)                                                                   \
	X(cuGraphNodeFindInClone)                                                                  \
	X(cuGraphExecGetFlags)                                                                     \
	X(cuGraphInstantiateWithParams)                                                            \
	X(cuStreamSetAttribute)                                                                    \
	X(cuStreamSetAttribute_ptsz)                                                               \
	X(cuStreamGetAttribute)                                                                    \
	X(cuStreamGetAttribute_ptsz)                                                               \
	X(cuStreamCopyAttributes)                                                                  \
	X(cuStreamCopyAttributes_ptsz)                                                             \
	X(cuStreamBeginCaptureToGraph)                                                             \
	X(cuStreamBeginCaptureToGraph_ptsz)                                                        \
	X(cuMemcpyBatchAsync_v2)                                                                   \
	X(cuMemcpyBatchAsync_v2_ptsz)                                                              \
	X(cuDeviceGetP2PAttribute)                                                                 \
	X(cuMemPoolSetAccess)                                                                      \
	X(cuOccupancyAvailableDynamicSMemPerBlock)                                                 \
	X(cuLibraryUnload)                                                                         \
	X(cuArray3DCreate_v2)                                                                      \
	X(cuArray3DGetDescriptor_v2)                                                               \
	X(cuArrayDestroy)                                                                          \
	X(cuCtxGetCacheConfig)                                                                     \
	X(cuCtxResetPersistingL2Cache)                                                             \
	X(cuDeviceGetGraphMemAttribute)                                                            \
	X(cuDeviceGraphMemTrim)                                                                    \
	X(cuDevicePrimaryCtxGetState)                                                              \
	X(cuDeviceSetGraphMemAttribute)                                                            \
	X(cuGraphAddMemAllocNode)                                                                  \
	X(cuGraphAddMemFreeNode)                                                                   \
	X(cuGraphChildGraphNodeGetGraph)                                                           \
	X(cuGraphConditionalHandleCreate)                                                          \
	X(cuGraphEventRecordNodeGetEvent)                                                          \
	X(cuGraphEventRecordNodeSetEvent)                                                          \
	X(cuGraphEventWaitNodeGetEvent)                                                            \
	X(cuGraphEventWaitNodeSetEvent)                                                            \
	X(cuGraphExecChildGraphNodeSetParams)                                                      \
	X(cuGraphExecEventRecordNodeSetEvent)                                                      \
	X(cuGraphExecEventWaitNodeSetEvent)                                                        \
	X(cuGraphExecNodeSetParams)                                                                \
	X(cuGraphHostNodeGetParams)                                                                \
	X(cuGraphHostNodeSetParams)                                                                \
	X(cuGraphKernelNodeCopyAttributes)                                                         \
	X(cuGraphKernelNodeGetAttribute)                                                           \
	X(cuGraphKernelNodeSetAttribute)                                                           \
	X(cuGraphMemAllocNodeGetParams)                                                            \
	X(cuGraphMemFreeNodeGetParams)                                                             \
	X(cuGraphMemcpyNodeGetParams)                                                              \
	X(cuGraphMemcpyNodeSetParams)                                                              \
	X(cuGraphMemsetNodeGetParams)                                                              \
	X(cuGraphMemsetNodeSetParams)                                                              \
	X(cuGraphNodeSetParams)                                                                    \
	X(cuGraphReleaseUserObject)                                                                \
	X(cuGraphRemoveDependencies_v2)                                                            \
	X(cuGraphRetainUserObject)                                                                 \
	X(cuIpcCloseMemHandle)                                                                     \
	X(cuIpcGetEventHandle)                                                                     \
	X(cuIpcGetMemHandle)                                                                       \
	X(cuIpcOpenEventHandle)                                                                    \
	X(cuIpcOpenMemHandle_v2)                                                                   \
	X(cuKernelSetAttribute)                                                                    \
	X(cuLogsCurrent)                                                                           \
	X(cuLogsDumpToFile)                                                                        \
	X(cuLogsDumpToMemory)                                                                      \
	X(cuLogsRegisterCallback)                                                                  \
	X(cuLogsUnregisterCallback)                                                                \
	X(cuMemGetDefaultMemPool)                                                                  \
	X(cuMemGetMemPool)                                                                         \
	X(cuMemPoolGetAccess)                                                                      \
	X(cuMemSetMemPool)                                                                         \
	X(cuMemcpy3DBatchAsync_v2)                                                                 \
	X(cuMemcpy3DBatchAsync_v2_ptsz)                                                            \
	X(cuMemcpy3DPeer)                                                                          \
	X(cuMemcpy3DPeerAsync)                                                                     \
	X(cuMemcpy3DPeerAsync_ptsz)                                                                \
	X(cuMemcpy3DPeer_ptds)                                                                     \
	X(cuMipmappedArrayCreate)                                                                  \
	X(cuMipmappedArrayDestroy)                                                                 \
	X(cuMipmappedArrayGetLevel)                                                                \
	X(cuStreamUpdateCaptureDependencies_v2)                                                    \
	X(cuStreamUpdateCaptureDependencies_v2_ptsz)                                               \
	X(cuSurfObjectCreate)                                                                      \
	X(cuSurfObjectDestroy)                                                                     \
	X(cuSurfObjectGetResourceDesc)                                                             \
	X(cuTexObjectCreate)                                                                       \
	X(cuTexObjectDestroy)                                                                      \
	X(cuTexObjectGetResourceDesc)                                                              \
	X(cuTexObjectGetResourceViewDesc)                                                          \
	X(cuTexObjectGetTextureDesc)                                                               \
	X(cuUserObjectCreate)                                                                      \
	X(cuUserObjectRelease)                                                                     \
	X(cuUserObjectRetain)                                                                      \
	X(cuOccupancyMaxPotentialClusterSize)                                                      \
	X(cuOccupancyMaxActiveClusters)                                                            \
	X(cuGraphDebugDotPrint)                                                                    \
	X(cuMemPrefetchBatchAsync)                                                                 \
	X(cuMemPrefetchBatchAsync_ptsz)                                                            \
	X(cuProfilerStart)                                                                         \
	X(cuProfilerStop)

struct rt_driver {
#define X(name_) __typeof__(name_) *name_;
	RT_DRIVER_FUNCTIONS(X)
#undef X
};

struct rt_thread {
	cudaError_t last_error;
	bool per_thread;    /* this call is a _ptsz or _ptds variant */
	int device;         /* cudaSetDevice; the context follows at the next call that needs one */
	unsigned int bound; /* the generation of contexts that this thread has one of */
	int pushed;
	struct {
		dim3 grid;
		dim3 block;
		size_t shared;
		cudaStream_t stream;
	} configuration[4];
};

#pragma GCC visibility push(hidden)

extern struct rt_driver rt_cu;
extern const struct sim_table *rt_table;
extern const _Atomic unsigned int *_Atomic rt_watching;
extern __thread struct rt_thread rt_self;
extern _Atomic bool rt_is_ready;
extern _Atomic unsigned int rt_generation; /* grows when contexts are reset */
extern const int rt_version;

cudaError_t rt_start(void);
cudaError_t rt_bind(void);
void rt_unbind_all(void);
cudaError_t rt_finish(cudaError_t error);
cudaError_t rt_missing(const char *name);
const char *rt_symbol_of(const void *function);

/* registry.c: what the compiled program registered about itself */
CUfunction rt_kernel_of(const void *host_function);
cudaError_t rt_variable_of(const void *host_variable, CUdeviceptr *ret_address, size_t *ret_bytes);

/* init.c: the calling thread's */
CUcontext rt_context(void);

/* array.c */
cudaError_t rt_format_of(const struct cudaChannelFormatDesc *desc, CUarray_format *ret_format,
			 unsigned int *ret_channels);
struct cudaChannelFormatDesc rt_channels_of(CUarray_format format, unsigned int channels);
size_t rt_array_element(cudaArray_const_t array);

/* memory.c */
cudaError_t rt_variable_part(const void *symbol, size_t bytes, size_t offset, char **ret);
CUmemorytype rt_kinds_type(enum cudaMemcpyKind kind, bool is_source);
cudaError_t rt_copy_desc(const struct cudaMemcpy3DParms *parms, CUDA_MEMCPY3D *ret_desc);

#pragma GCC visibility pop

/* The driver's variant of a function for this call. */
#define RT_CU(name_, suffix_)                                                                      \
	(sim_unlikely(rt_self.per_thread) ? rt_cu.name_##suffix_ : rt_cu.name_)
#define RT_CALL(name_, suffix_, ...) ((cudaError_t)RT_CU(name_, suffix_)(__VA_ARGS__))
#define RT_PLAIN(name_, ...)         ((cudaError_t)rt_cu.name_(__VA_ARGS__))

#endif

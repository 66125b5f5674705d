/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies between devices by shape. Any thread.
 */
#include "runtime/runtime.h"

static CUcontext context_of(int device)
{
	CUcontext context = NULL;

	rt_cu.cuDevicePrimaryCtxRetain(&context, device);
	return context;
}

static cudaError_t describe(const struct cudaMemcpy3DPeerParms *p, CUDA_MEMCPY3D_PEER *ret)
{
	struct cudaMemcpy3DParms plain = {.srcArray = p->srcArray,
					  .srcPos = p->srcPos,
					  .srcPtr = p->srcPtr,
					  .dstArray = p->dstArray,
					  .dstPos = p->dstPos,
					  .dstPtr = p->dstPtr,
					  .extent = p->extent,
					  .kind = cudaMemcpyDeviceToDevice};
	CUDA_MEMCPY3D d;
	cudaError_t error = rt_copy_desc(&plain, &d);

	if (error)
		return error;
	*ret = (CUDA_MEMCPY3D_PEER){.srcXInBytes = d.srcXInBytes,
				    .srcY = d.srcY,
				    .srcZ = d.srcZ,
				    .srcMemoryType = d.srcMemoryType,
				    .srcDevice = d.srcDevice,
				    .srcArray = d.srcArray,
				    .srcContext = context_of(p->srcDevice),
				    .srcPitch = d.srcPitch,
				    .srcHeight = d.srcHeight,
				    .dstXInBytes = d.dstXInBytes,
				    .dstY = d.dstY,
				    .dstZ = d.dstZ,
				    .dstMemoryType = d.dstMemoryType,
				    .dstDevice = d.dstDevice,
				    .dstArray = d.dstArray,
				    .dstContext = context_of(p->dstDevice),
				    .dstPitch = d.dstPitch,
				    .dstHeight = d.dstHeight,
				    .WidthInBytes = d.WidthInBytes,
				    .Height = d.Height,
				    .Depth = d.Depth};
	return cudaSuccess;
}

cudaError_t rt_cudaMemcpy3DPeer(const struct cudaMemcpy3DPeerParms *params)
{
	CUDA_MEMCPY3D_PEER desc;
	cudaError_t error = describe(params, &desc);

	return error ? error : RT_CALL(cuMemcpy3DPeer, _ptds, &desc);
}

cudaError_t rt_cudaMemcpy3DPeerAsync(const struct cudaMemcpy3DPeerParms *params,
				     cudaStream_t stream)
{
	CUDA_MEMCPY3D_PEER desc;
	cudaError_t error = describe(params, &desc);

	return error ? error : RT_CALL(cuMemcpy3DPeerAsync, _ptsz, &desc, stream);
}

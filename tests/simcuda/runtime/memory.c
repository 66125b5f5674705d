/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory, copies and fills: each runtime call makes the driver call that the real runtime makes.
 * Any thread.
 */
#include "runtime/runtime.h"

#include <string.h>

cudaError_t rt_cudaMalloc(void **address, size_t bytes)
{
	return RT_PLAIN(cuMemAlloc_v2, (CUdeviceptr *)address, bytes);
}

cudaError_t rt_cudaMallocPitch(void **address, size_t *pitch, size_t width, size_t height)
{
	return RT_PLAIN(cuMemAllocPitch_v2, (CUdeviceptr *)address, pitch, width, height, 4);
}

cudaError_t rt_cudaMalloc3D(struct cudaPitchedPtr *pointer, struct cudaExtent extent)
{
	pointer->xsize = extent.width;
	pointer->ysize = extent.height;
	return RT_PLAIN(cuMemAllocPitch_v2, (CUdeviceptr *)&pointer->ptr, &pointer->pitch,
			extent.width, extent.height * extent.depth, 4);
}

cudaError_t rt_cudaMallocManaged(void **address, size_t bytes, unsigned int flags)
{
	return RT_PLAIN(cuMemAllocManaged, (CUdeviceptr *)address, bytes, flags);
}

cudaError_t rt_cudaMallocHost(void **address, size_t bytes)
{
	return RT_PLAIN(cuMemHostAlloc, address, bytes, 0);
}

cudaError_t rt_cudaHostAlloc(void **address, size_t bytes, unsigned int flags)
{
	return RT_PLAIN(cuMemHostAlloc, address, bytes, flags);
}

cudaError_t rt_cudaFree(void *address)
{
	return address ? RT_PLAIN(cuMemFree_v2, (CUdeviceptr)address) : cudaSuccess;
}

cudaError_t rt_cudaFreeHost(void *address)
{
	return address ? RT_PLAIN(cuMemFreeHost, address) : cudaSuccess;
}

cudaError_t rt_cudaHostRegister(void *address, size_t bytes, unsigned int flags)
{
	return RT_PLAIN(cuMemHostRegister_v2, address, bytes, flags);
}

cudaError_t rt_cudaHostUnregister(void *address)
{
	return RT_PLAIN(cuMemHostUnregister, address);
}

cudaError_t rt_cudaHostGetDevicePointer(void **device, void *host, unsigned int flags)
{
	return RT_PLAIN(cuMemHostGetDevicePointer_v2, (CUdeviceptr *)device, host, flags);
}

cudaError_t rt_cudaHostGetFlags(unsigned int *flags, void *host)
{
	return RT_PLAIN(cuMemHostGetFlags, flags, host);
}

cudaError_t rt_cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
	return RT_PLAIN(cuMemGetInfo_v2, free_bytes, total);
}

cudaError_t rt_cudaMallocAsync(void **address, size_t bytes, cudaStream_t stream)
{
	return RT_CALL(cuMemAllocAsync, _ptsz, (CUdeviceptr *)address, bytes, stream);
}

cudaError_t rt_cudaMallocFromPoolAsync(void **address, size_t bytes, cudaMemPool_t pool,
				       cudaStream_t stream)
{
	return RT_CALL(cuMemAllocFromPoolAsync, _ptsz, (CUdeviceptr *)address, bytes, pool, stream);
}

cudaError_t rt_cudaFreeAsync(void *address, cudaStream_t stream)
{
	return RT_CALL(cuMemFreeAsync, _ptsz, (CUdeviceptr)address, stream);
}

cudaError_t rt_cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *props)
{
	return RT_PLAIN(cuMemPoolCreate, pool, (const CUmemPoolProps *)props);
}

cudaError_t rt_cudaMemPoolDestroy(cudaMemPool_t pool)
{
	return RT_PLAIN(cuMemPoolDestroy, pool);
}

cudaError_t rt_cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr which, void *value)
{
	return RT_PLAIN(cuMemPoolSetAttribute, pool, (CUmemPool_attribute)which, value);
}

cudaError_t rt_cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr which, void *value)
{
	return RT_PLAIN(cuMemPoolGetAttribute, pool, (CUmemPool_attribute)which, value);
}

cudaError_t rt_cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep)
{
	return RT_PLAIN(cuMemPoolTrimTo, pool, keep);
}

cudaError_t rt_cudaMemPrefetchAsync(const void *address, size_t bytes, struct cudaMemLocation to,
				    unsigned int flags, cudaStream_t stream)
{
	CUmemLocation location = {.type = (CUmemLocationType)to.type, .id = to.id};

	return RT_CALL(cuMemPrefetchAsync_v2, _ptsz, (CUdeviceptr)address, bytes, location, flags,
		       stream);
}

cudaError_t rt_cudaMemAdvise(const void *address, size_t bytes, enum cudaMemoryAdvise advice,
			     struct cudaMemLocation where)
{
	CUmemLocation location = {.type = (CUmemLocationType)where.type, .id = where.id};

	return RT_PLAIN(cuMemAdvise_v2, (CUdeviceptr)address, bytes, (CUmem_advise)advice,
			location);
}

cudaError_t rt_cudaPointerGetAttributes(struct cudaPointerAttributes *attributes,
					const void *address)
{
	bool before_13 = rt_version < 13000; /* then the struct had no reserve */
	unsigned int type = 0, is_managed = 0;
	int device = 0;
	CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
				       CU_POINTER_ATTRIBUTE_IS_MANAGED,
				       CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
	void *data[] = {&type, &is_managed, &device};
	cudaError_t error = RT_PLAIN(cuPointerGetAttributes, 3, which, data, (CUdeviceptr)address);

	memset(attributes, 0,
	       before_13 ? offsetof(struct cudaPointerAttributes, reserved) : sizeof(*attributes));
	attributes->type = is_managed ? cudaMemoryTypeManaged : (enum cudaMemoryType)type;
	attributes->device = type ? device : -2;
	attributes->devicePointer = type ? (void *)address : NULL;
	attributes->hostPointer =
		is_managed || type != CU_MEMORYTYPE_DEVICE ? (void *)address : NULL;
	return error;
}

static cudaError_t copy(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind)
{
	CUdeviceptr to = (CUdeviceptr)dst, from = (CUdeviceptr)src;

	switch (kind) {
	case cudaMemcpyHostToDevice:
		return RT_CALL(cuMemcpyHtoD_v2, _ptds, to, src, bytes);
	case cudaMemcpyDeviceToHost:
		return RT_CALL(cuMemcpyDtoH_v2, _ptds, dst, from, bytes);
	case cudaMemcpyDeviceToDevice:
		return RT_CALL(cuMemcpyDtoD_v2, _ptds, to, from, bytes);
	case cudaMemcpyHostToHost:
	case cudaMemcpyDefault:
		return RT_CALL(cuMemcpy, _ptds, to, from, bytes);
	}
	return cudaErrorInvalidMemcpyDirection;
}

static cudaError_t copy_async(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind,
			      cudaStream_t stream)
{
	CUdeviceptr to = (CUdeviceptr)dst, from = (CUdeviceptr)src;

	switch (kind) {
	case cudaMemcpyHostToDevice:
		return RT_CALL(cuMemcpyHtoDAsync_v2, _ptsz, to, src, bytes, stream);
	case cudaMemcpyDeviceToHost:
		return RT_CALL(cuMemcpyDtoHAsync_v2, _ptsz, dst, from, bytes, stream);
	case cudaMemcpyDeviceToDevice:
		return RT_CALL(cuMemcpyDtoDAsync_v2, _ptsz, to, from, bytes, stream);
	case cudaMemcpyHostToHost:
	case cudaMemcpyDefault:
		return RT_CALL(cuMemcpyAsync, _ptsz, to, from, bytes, stream);
	}
	return cudaErrorInvalidMemcpyDirection;
}

cudaError_t rt_cudaMemcpy(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind)
{
	return copy(dst, src, bytes, kind);
}

cudaError_t rt_cudaMemcpyAsync(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind,
			       cudaStream_t stream)
{
	return copy_async(dst, src, bytes, kind, stream);
}

/* A symbol's address, checked against its size. */
cudaError_t rt_variable_part(const void *symbol, size_t bytes, size_t offset, char **ret)
{
	CUdeviceptr address;
	size_t size;
	cudaError_t error = rt_variable_of(symbol, &address, &size);

	if (error)
		return error;
	if (offset > size || bytes > size - offset)
		return cudaErrorInvalidValue;
	*ret = (char *)address + offset;
	return cudaSuccess;
}

cudaError_t rt_cudaMemcpyToSymbol(const void *symbol, const void *src, size_t bytes, size_t offset,
				  enum cudaMemcpyKind kind)
{
	char *dst;
	cudaError_t error = rt_variable_part(symbol, bytes, offset, &dst);

	return error ? error : copy(dst, src, bytes, kind);
}

cudaError_t rt_cudaMemcpyFromSymbol(void *dst, const void *symbol, size_t bytes, size_t offset,
				    enum cudaMemcpyKind kind)
{
	char *src;
	cudaError_t error = rt_variable_part(symbol, bytes, offset, &src);

	return error ? error : copy(dst, src, bytes, kind);
}

cudaError_t rt_cudaMemcpyToSymbolAsync(const void *symbol, const void *src, size_t bytes,
				       size_t offset, enum cudaMemcpyKind kind, cudaStream_t stream)
{
	char *dst;
	cudaError_t error = rt_variable_part(symbol, bytes, offset, &dst);

	return error ? error : copy_async(dst, src, bytes, kind, stream);
}

cudaError_t rt_cudaMemcpyFromSymbolAsync(void *dst, const void *symbol, size_t bytes, size_t offset,
					 enum cudaMemcpyKind kind, cudaStream_t stream)
{
	char *src;
	cudaError_t error = rt_variable_part(symbol, bytes, offset, &src);

	return error ? error : copy_async(dst, src, bytes, kind, stream);
}

/* What the caller's direction says about one side of a copy. */
CUmemorytype rt_kinds_type(enum cudaMemcpyKind kind, bool is_source)
{
	if (kind == cudaMemcpyDefault)
		return CU_MEMORYTYPE_UNIFIED;
	if (is_source)
		return kind == cudaMemcpyHostToDevice || kind == cudaMemcpyHostToHost
			       ? CU_MEMORYTYPE_HOST
			       : CU_MEMORYTYPE_DEVICE;
	return kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost
		       ? CU_MEMORYTYPE_HOST
		       : CU_MEMORYTYPE_DEVICE;
}

static CUDA_MEMCPY2D describe_2d(void *dst, size_t dst_pitch, const void *src, size_t src_pitch,
				 size_t width, size_t height, enum cudaMemcpyKind kind)
{
	return (CUDA_MEMCPY2D){.srcMemoryType = rt_kinds_type(kind, true),
			       .srcHost = src,
			       .srcDevice = (CUdeviceptr)src,
			       .srcPitch = src_pitch,
			       .dstMemoryType = rt_kinds_type(kind, false),
			       .dstHost = dst,
			       .dstDevice = (CUdeviceptr)dst,
			       .dstPitch = dst_pitch,
			       .WidthInBytes = width,
			       .Height = height};
}

cudaError_t rt_cudaMemcpy2D(void *dst, size_t dst_pitch, const void *src, size_t src_pitch,
			    size_t width, size_t height, enum cudaMemcpyKind kind)
{
	CUDA_MEMCPY2D desc = describe_2d(dst, dst_pitch, src, src_pitch, width, height, kind);

	return RT_CALL(cuMemcpy2D_v2, _ptds, &desc);
}

cudaError_t rt_cudaMemcpy2DAsync(void *dst, size_t dst_pitch, const void *src, size_t src_pitch,
				 size_t width, size_t height, enum cudaMemcpyKind kind,
				 cudaStream_t stream)
{
	CUDA_MEMCPY2D desc = describe_2d(dst, dst_pitch, src, src_pitch, width, height, kind);

	return RT_CALL(cuMemcpy2DAsync_v2, _ptsz, &desc, stream);
}

/* Widths and offsets are in elements where an array takes part, in bytes between pointers. */
cudaError_t rt_copy_desc(const struct cudaMemcpy3DParms *p, CUDA_MEMCPY3D *ret_desc)
{
	size_t src_element = rt_array_element(p->srcArray);
	size_t dst_element = rt_array_element(p->dstArray);

	if ((p->srcArray && p->srcPtr.ptr) || (p->dstArray && p->dstPtr.ptr))
		return cudaErrorInvalidValue;
	*ret_desc = (CUDA_MEMCPY3D){
		.srcXInBytes = p->srcPos.x * src_element,
		.srcY = p->srcPos.y,
		.srcZ = p->srcPos.z,
		.srcMemoryType = p->srcArray ? CU_MEMORYTYPE_ARRAY : rt_kinds_type(p->kind, true),
		.srcHost = p->srcPtr.ptr,
		.srcDevice = (CUdeviceptr)p->srcPtr.ptr,
		.srcArray = (CUarray)p->srcArray,
		.srcPitch = p->srcPtr.pitch,
		.srcHeight = p->srcPtr.ysize,
		.dstXInBytes = p->dstPos.x * dst_element,
		.dstY = p->dstPos.y,
		.dstZ = p->dstPos.z,
		.dstMemoryType = p->dstArray ? CU_MEMORYTYPE_ARRAY : rt_kinds_type(p->kind, false),
		.dstHost = p->dstPtr.ptr,
		.dstDevice = (CUdeviceptr)p->dstPtr.ptr,
		.dstArray = (CUarray)p->dstArray,
		.dstPitch = p->dstPtr.pitch,
		.dstHeight = p->dstPtr.ysize,
		.WidthInBytes = p->extent.width * (p->srcArray ? src_element : dst_element),
		.Height = p->extent.height,
		.Depth = p->extent.depth};
	return cudaSuccess;
}

cudaError_t rt_cudaMemcpy3D(const struct cudaMemcpy3DParms *parms)
{
	CUDA_MEMCPY3D desc;
	cudaError_t error = rt_copy_desc(parms, &desc);

	return error ? error : RT_CALL(cuMemcpy3D_v2, _ptds, &desc);
}

cudaError_t rt_cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *parms, cudaStream_t stream)
{
	CUDA_MEMCPY3D desc;
	cudaError_t error = rt_copy_desc(parms, &desc);

	return error ? error : RT_CALL(cuMemcpy3DAsync_v2, _ptsz, &desc, stream);
}

static CUcontext context_of(int device)
{
	CUcontext context = NULL;

	rt_cu.cuDevicePrimaryCtxRetain(&context, device);
	return context;
}

cudaError_t rt_cudaMemcpyPeer(void *dst, int to, const void *src, int from, size_t bytes)
{
	return RT_CALL(cuMemcpyPeer, _ptds, (CUdeviceptr)dst, context_of(to), (CUdeviceptr)src,
		       context_of(from), bytes);
}

cudaError_t rt_cudaMemcpyPeerAsync(void *dst, int to, const void *src, int from, size_t bytes,
				   cudaStream_t stream)
{
	return RT_CALL(cuMemcpyPeerAsync, _ptsz, (CUdeviceptr)dst, context_of(to), (CUdeviceptr)src,
		       context_of(from), bytes, stream);
}

cudaError_t rt_cudaMemset(void *address, int value, size_t count)
{
	return RT_CALL(cuMemsetD8_v2, _ptds, (CUdeviceptr)address, (unsigned char)value, count);
}

cudaError_t rt_cudaMemsetAsync(void *address, int value, size_t count, cudaStream_t stream)
{
	return RT_CALL(cuMemsetD8Async, _ptsz, (CUdeviceptr)address, (unsigned char)value, count,
		       stream);
}

cudaError_t rt_cudaMemset2D(void *address, size_t pitch, int value, size_t width, size_t height)
{
	return RT_CALL(cuMemsetD2D8_v2, _ptds, (CUdeviceptr)address, pitch, (unsigned char)value,
		       width, height);
}

cudaError_t rt_cudaMemset2DAsync(void *address, size_t pitch, int value, size_t width,
				 size_t height, cudaStream_t stream)
{
	return RT_CALL(cuMemsetD2D8Async, _ptsz, (CUdeviceptr)address, pitch, (unsigned char)value,
		       width, height, stream);
}

cudaError_t rt_cudaMemset3D(struct cudaPitchedPtr pointer, int value, struct cudaExtent extent)
{
	size_t rows = extent.depth > 1 ? pointer.ysize * extent.depth : extent.height;

	return RT_CALL(cuMemsetD2D8_v2, _ptds, (CUdeviceptr)pointer.ptr, pointer.pitch,
		       (unsigned char)value, extent.width, rows);
}

cudaError_t rt_cudaMemset3DAsync(struct cudaPitchedPtr pointer, int value, struct cudaExtent extent,
				 cudaStream_t stream)
{
	size_t rows = extent.depth > 1 ? pointer.ysize * extent.depth : extent.height;

	return RT_CALL(cuMemsetD2D8Async, _ptsz, (CUdeviceptr)pointer.ptr, pointer.pitch,
		       (unsigned char)value, extent.width, rows, stream);
}

cudaError_t rt_cudaMemcpyBatchAsync(void *const *dsts, const void *const *srcs, const size_t *sizes,
				    size_t count, struct cudaMemcpyAttributes *attributes,
				    size_t *indices, size_t attribute_count, cudaStream_t stream)
{
	return RT_CALL(cuMemcpyBatchAsync_v2, _ptsz, (CUdeviceptr *)dsts, (CUdeviceptr *)srcs,
		       (size_t *)sizes, count, (CUmemcpyAttributes *)attributes, indices,
		       attribute_count, stream);
}

cudaError_t rt_cudaMemPoolSetAccess(cudaMemPool_t pool, const struct cudaMemAccessDesc *access,
				    size_t count)
{
	return RT_PLAIN(cuMemPoolSetAccess, pool, (const CUmemAccessDesc *)access, count);
}

cudaError_t rt_cudaMemcpy3DBatchAsync(size_t count, struct cudaMemcpy3DBatchOp *list,
				      unsigned long long flags, cudaStream_t stream)
{
	return RT_CALL(cuMemcpy3DBatchAsync_v2, _ptsz, count, (CUDA_MEMCPY3D_BATCH_OP *)list, flags,
		       stream);
}

cudaError_t rt_cudaMemPrefetchBatchAsync(void **addresses, size_t *sizes, size_t count,
					 struct cudaMemLocation *locations, size_t *indices,
					 size_t location_count, unsigned long long flags,
					 cudaStream_t stream)
{
	return RT_CALL(cuMemPrefetchBatchAsync, _ptsz, (CUdeviceptr *)addresses, sizes, count,
		       (CUmemLocation *)locations, indices, location_count, flags, stream);
}

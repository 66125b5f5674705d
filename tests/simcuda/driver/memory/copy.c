/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies and fills of every shape. Each becomes one work item; the synchronous ones wait for it
 * where the real ones do (not device to device, not a fill). Any thread.
 */
#include "driver/memory/array.h"

#include <cupti_activity.h>

/* Row: source class (host, device, array), column: destination class. */
static const uint8_t copy_kinds[3][3] = {
	{CUPTI_ACTIVITY_MEMCPY_KIND_HTOH, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD,
	 CUPTI_ACTIVITY_MEMCPY_KIND_HTOA},
	{CUPTI_ACTIVITY_MEMCPY_KIND_DTOH, CUPTI_ACTIVITY_MEMCPY_KIND_DTOD,
	 CUPTI_ACTIVITY_MEMCPY_KIND_DTOA},
	{CUPTI_ACTIVITY_MEMCPY_KIND_ATOH, CUPTI_ACTIVITY_MEMCPY_KIND_ATOD,
	 CUPTI_ACTIVITY_MEMCPY_KIND_ATOA},
};

static enum sim_memory_class class_of(const void *address, CUmemorytype said)
{
	struct sim_allocation memory;

	if (said == CU_MEMORYTYPE_ARRAY)
		return SIM_MEMORY_ARRAY;
	if (sim_memory_find(address, &memory))
		return memory.kind;
	return said == CU_MEMORYTYPE_DEVICE ? SIM_MEMORY_DEVICE : SIM_MEMORY_NONE;
}

static int side_of(enum sim_memory_class kind)
{
	if (kind == SIM_MEMORY_ARRAY)
		return 2;
	return kind == SIM_MEMORY_DEVICE || kind == SIM_MEMORY_MANAGED ? 1 : 0;
}

/* Fills in kinds, bytes and time from the two addresses and what the caller said of them. */
void sim_copy_classify(struct sim_copy *copy, CUmemorytype src, CUmemorytype dst)
{
	enum sim_memory_class from = class_of(copy->src.base, src);
	enum sim_memory_class to = class_of(copy->dst.base, dst);

	copy->facts.src_kind = sim_memory_activity_kind(from);
	copy->facts.dst_kind = sim_memory_activity_kind(to);
	copy->facts.copy_kind = copy_kinds[side_of(from)][side_of(to)];
	copy->facts.bytes = copy->width * copy->height * copy->depth;
}

static CUresult submit_copy(struct sim_work *work, CUmemorytype src, CUmemorytype dst, bool async,
			    CUstream handle)
{
	struct CUstream_st *stream;
	CUresult result = sim_stream_find(handle, &stream);

	if (result)
		return result;
	work->kind = SIM_WORK_COPY;
	sim_copy_classify(&work->copy, src, dst);
	work->copy.facts.async = async;
	work->ns = sim_copy_ns(&work->copy.facts);
	if (!work->copy.facts.bytes)
		return CUDA_SUCCESS;
	result = sim_submit(stream, work);
	if (!result && !async && work->copy.facts.copy_kind != CUPTI_ACTIVITY_MEMCPY_KIND_DTOD)
		sim_wait_until(sim_stream_ready(stream));
	return result;
}

static CUresult copy_plain(const void *dst, CUmemorytype dst_type, const void *src,
			   CUmemorytype src_type, size_t bytes, bool async, CUstream stream)
{
	struct sim_work work = {.copy = {.dst = {.base = (char *)dst},
					 .src = {.base = (char *)src},
					 .width = bytes,
					 .height = 1,
					 .depth = 1}};

	return submit_copy(&work, src_type, dst_type, async, stream);
}

#define HOST   CU_MEMORYTYPE_HOST
#define DEVICE CU_MEMORYTYPE_DEVICE
#define ANY    CU_MEMORYTYPE_UNIFIED

CUresult sim_cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t bytes)
{
	return copy_plain((void *)dst, ANY, (void *)src, ANY, bytes, false, NULL);
}

CUresult sim_cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream)
{
	return copy_plain((void *)dst, ANY, (void *)src, ANY, bytes, true, stream);
}

CUresult sim_cuMemcpyHtoD_v2(CUdeviceptr dst, const void *src, size_t bytes)
{
	return copy_plain((void *)dst, DEVICE, src, HOST, bytes, false, NULL);
}

CUresult sim_cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t bytes, CUstream stream)
{
	return copy_plain((void *)dst, DEVICE, src, HOST, bytes, true, stream);
}

CUresult sim_cuMemcpyDtoH_v2(void *dst, CUdeviceptr src, size_t bytes)
{
	return copy_plain(dst, HOST, (void *)src, DEVICE, bytes, false, NULL);
}

CUresult sim_cuMemcpyDtoHAsync_v2(void *dst, CUdeviceptr src, size_t bytes, CUstream stream)
{
	return copy_plain(dst, HOST, (void *)src, DEVICE, bytes, true, stream);
}

CUresult sim_cuMemcpyDtoD_v2(CUdeviceptr dst, CUdeviceptr src, size_t bytes)
{
	return copy_plain((void *)dst, DEVICE, (void *)src, DEVICE, bytes, false, NULL);
}

CUresult sim_cuMemcpyDtoDAsync_v2(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream)
{
	return copy_plain((void *)dst, DEVICE, (void *)src, DEVICE, bytes, true, stream);
}

static CUresult set_peers(struct sim_copy_facts *facts, CUcontext to, CUcontext from)
{
	if (!sim_context_valid(to) || !sim_context_valid(from))
		return CUDA_ERROR_INVALID_CONTEXT;
	facts->peer = to->device != from->device;
	facts->src_device = (uint32_t)from->device->ordinal;
	facts->src_context = from->id;
	facts->dst_device = (uint32_t)to->device->ordinal;
	facts->dst_context = to->id;
	return CUDA_SUCCESS;
}

static CUresult copy_peer(CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from,
			  size_t bytes, bool async, CUstream stream)
{
	struct sim_work work = {.copy = {.dst = {.base = (char *)dst},
					 .src = {.base = (char *)src},
					 .width = bytes,
					 .height = 1,
					 .depth = 1}};

	CUresult result = set_peers(&work.copy.facts, to, from);

	return result ? result : submit_copy(&work, DEVICE, DEVICE, async, stream);
}

CUresult sim_cuMemcpyPeer(CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from,
			  size_t bytes)
{
	return copy_peer(dst, to, src, from, bytes, false, NULL);
}

CUresult sim_cuMemcpyPeerAsync(CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from,
			       size_t bytes, CUstream stream)
{
	return copy_peer(dst, to, src, from, bytes, true, stream);
}

static void *base_of(CUmemorytype type, const void *host, CUdeviceptr device)
{
	return type == CU_MEMORYTYPE_HOST ? (void *)host : (void *)device;
}

static struct sim_region source(const CUDA_MEMCPY3D *d)
{
	size_t slice = d->srcPitch * (d->srcHeight ? d->srcHeight : d->Height);

	if (d->srcMemoryType == CU_MEMORYTYPE_ARRAY)
		return sim_array_region(d->srcArray, d->srcXInBytes, d->srcY, d->srcZ);
	char *base = base_of(d->srcMemoryType, d->srcHost, d->srcDevice);
	return (struct sim_region){base + d->srcXInBytes + d->srcY * d->srcPitch + d->srcZ * slice,
				   d->srcPitch, slice, NULL};
}

static struct sim_region destination(const CUDA_MEMCPY3D *d)
{
	size_t slice = d->dstPitch * (d->dstHeight ? d->dstHeight : d->Height);

	if (d->dstMemoryType == CU_MEMORYTYPE_ARRAY)
		return sim_array_region(d->dstArray, d->dstXInBytes, d->dstY, d->dstZ);
	char *base = base_of(d->dstMemoryType, d->dstHost, d->dstDevice);
	return (struct sim_region){base + d->dstXInBytes + d->dstY * d->dstPitch + d->dstZ * slice,
				   d->dstPitch, slice, NULL};
}

/* Nothing may be copied from or to beyond an array's end. */
static bool fits(const struct sim_region *region, const CUDA_MEMCPY3D *d)
{
	if (!region->array)
		return true;
	size_t last =
		(d->Depth - 1) * region->slice + (d->Height - 1) * region->pitch + d->WidthInBytes;
	size_t offset = (size_t)(region->base - (char *)region->array->memory.address);
	return offset + last <= region->array->memory.bytes;
}

CUresult sim_copy_from_3d(const CUDA_MEMCPY3D *d, struct sim_work *ret_work)
{
	if ((d->srcMemoryType == CU_MEMORYTYPE_ARRAY && !sim_array_valid(d->srcArray)) ||
	    (d->dstMemoryType == CU_MEMORYTYPE_ARRAY && !sim_array_valid(d->dstArray)))
		return CUDA_ERROR_INVALID_HANDLE;
	*ret_work = (struct sim_work){.kind = SIM_WORK_COPY};
	ret_work->copy = (struct sim_copy){.src = source(d),
					   .dst = destination(d),
					   .width = d->WidthInBytes,
					   .height = d->Height,
					   .depth = d->Depth};
	if (d->WidthInBytes && d->Height && d->Depth &&
	    (!fits(&ret_work->copy.src, d) || !fits(&ret_work->copy.dst, d)))
		return CUDA_ERROR_INVALID_VALUE;
	sim_copy_classify(&ret_work->copy, d->srcMemoryType, d->dstMemoryType);
	ret_work->ns = sim_copy_ns(&ret_work->copy.facts);
	return CUDA_SUCCESS;
}

static CUresult copy_3d(const CUDA_MEMCPY3D *desc, bool async, CUstream stream)
{
	struct sim_work work;
	CUresult result = desc ? sim_copy_from_3d(desc, &work) : CUDA_ERROR_INVALID_VALUE;

	return result ? result
		      : submit_copy(&work, desc->srcMemoryType, desc->dstMemoryType, async, stream);
}

static CUresult copy_3d_peer(const CUDA_MEMCPY3D_PEER *p, bool async, CUstream stream)
{
	CUDA_MEMCPY3D desc = {.srcXInBytes = p->srcXInBytes,
			      .srcY = p->srcY,
			      .srcZ = p->srcZ,
			      .srcMemoryType = p->srcMemoryType,
			      .srcHost = p->srcHost,
			      .srcDevice = p->srcDevice,
			      .srcArray = p->srcArray,
			      .srcPitch = p->srcPitch,
			      .srcHeight = p->srcHeight,
			      .dstXInBytes = p->dstXInBytes,
			      .dstY = p->dstY,
			      .dstZ = p->dstZ,
			      .dstMemoryType = p->dstMemoryType,
			      .dstHost = p->dstHost,
			      .dstDevice = p->dstDevice,
			      .dstArray = p->dstArray,
			      .dstPitch = p->dstPitch,
			      .dstHeight = p->dstHeight,
			      .WidthInBytes = p->WidthInBytes,
			      .Height = p->Height,
			      .Depth = p->Depth};
	struct sim_work work;
	CUresult result = sim_copy_from_3d(&desc, &work);

	if (!result)
		result = set_peers(&work.copy.facts, p->dstContext, p->srcContext);
	return result ? result
		      : submit_copy(&work, desc.srcMemoryType, desc.dstMemoryType, async, stream);
}

CUresult sim_cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *desc)
{
	return desc ? copy_3d_peer(desc, false, NULL) : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *desc, CUstream stream)
{
	return desc ? copy_3d_peer(desc, true, stream) : CUDA_ERROR_INVALID_VALUE;
}

static CUresult copy_2d(const CUDA_MEMCPY2D *d, bool async, CUstream stream)
{
	CUDA_MEMCPY3D desc = {.srcXInBytes = d->srcXInBytes,
			      .srcY = d->srcY,
			      .srcMemoryType = d->srcMemoryType,
			      .srcHost = d->srcHost,
			      .srcDevice = d->srcDevice,
			      .srcArray = d->srcArray,
			      .srcPitch = d->srcPitch,
			      .dstXInBytes = d->dstXInBytes,
			      .dstY = d->dstY,
			      .dstMemoryType = d->dstMemoryType,
			      .dstHost = d->dstHost,
			      .dstDevice = d->dstDevice,
			      .dstArray = d->dstArray,
			      .dstPitch = d->dstPitch,
			      .WidthInBytes = d->WidthInBytes,
			      .Height = d->Height,
			      .Depth = 1};

	return copy_3d(&desc, async, stream);
}

CUresult sim_cuMemcpy2D_v2(const CUDA_MEMCPY2D *desc)
{
	return copy_2d(desc, false, NULL);
}

CUresult sim_cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *desc)
{
	return copy_2d(desc, false, NULL);
}

CUresult sim_cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *desc, CUstream stream)
{
	return copy_2d(desc, true, stream);
}

CUresult sim_cuMemcpy3D_v2(const CUDA_MEMCPY3D *desc)
{
	return copy_3d(desc, false, NULL);
}

CUresult sim_cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *desc, CUstream stream)
{
	return copy_3d(desc, true, stream);
}

static CUresult fill(CUdeviceptr dst, size_t pitch, unsigned int value, unsigned int element,
		     size_t width, size_t height, bool async, CUstream handle)
{
	struct CUstream_st *stream;
	CUresult result = sim_stream_find(handle, &stream);
	struct sim_work work = {.kind = SIM_WORK_SET,
				.set = {.dst = {.base = (char *)dst, .pitch = pitch},
					.width = width,
					.height = height,
					.element = element}};

	if (result || !width || !height)
		return result;
	work.set.facts.bytes = (uint64_t)width * height * element;
	work.set.facts.value = value;
	work.set.facts.async = async;
	work.set.facts.memory_kind =
		sim_memory_activity_kind(class_of((void *)dst, CU_MEMORYTYPE_DEVICE));
	work.ns = sim_set_ns(work.set.facts.bytes);
	return sim_submit(stream, &work);
}

#define FILL(bits_, type_)                                                                         \
	CUresult sim_cuMemsetD##bits_##_v2(CUdeviceptr dst, type_ value, size_t count)             \
	{                                                                                          \
		return fill(dst, 0, value, bits_ / 8, count, 1, false, NULL);                      \
	}                                                                                          \
	CUresult sim_cuMemsetD##bits_##Async(CUdeviceptr dst, type_ value, size_t count,           \
					     CUstream stream)                                      \
	{                                                                                          \
		return fill(dst, 0, value, bits_ / 8, count, 1, true, stream);                     \
	}                                                                                          \
	CUresult sim_cuMemsetD2D##bits_##_v2(CUdeviceptr dst, size_t pitch, type_ value,           \
					     size_t width, size_t height)                          \
	{                                                                                          \
		return fill(dst, pitch, value, bits_ / 8, width, height, false, NULL);             \
	}                                                                                          \
	CUresult sim_cuMemsetD2D##bits_##Async(CUdeviceptr dst, size_t pitch, type_ value,         \
					       size_t width, size_t height, CUstream stream)       \
	{                                                                                          \
		return fill(dst, pitch, value, bits_ / 8, width, height, true, stream);            \
	}

FILL(8, unsigned char)
FILL(16, unsigned short)
FILL(32, unsigned int)

/* One operation a copy, in order: what the batch promises no more than. */
CUresult sim_cuMemcpyBatchAsync_v2(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes,
				   size_t count, CUmemcpyAttributes *attributes, size_t *indices,
				   size_t attribute_count, CUstream stream)
{
	CUresult result = CUDA_SUCCESS;

	for (size_t i = 0; i < count && !result; i++)
		result = sim_cuMemcpyAsync(dsts[i], srcs[i], sizes[i], stream);
	return result;
}

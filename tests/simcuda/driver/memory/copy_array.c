/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies from and to arrays by offset, copies between contexts by shape, and batches of copies.
 * Any thread.
 */
#include "driver/memory/array.h"

/* One row of an array, or of memory. */
struct side {
	CUarray array;
	size_t offset;
	void *pointer;
	CUmemorytype type;
};

static CUresult copy(struct side dst, struct side src, size_t bytes, bool async, CUstream stream)
{
	CUDA_MEMCPY3D desc = {.srcXInBytes = src.array ? src.offset : 0,
			      .srcMemoryType = src.type,
			      .srcHost = src.pointer,
			      .srcDevice = (CUdeviceptr)src.pointer,
			      .srcArray = src.array,
			      .dstXInBytes = dst.array ? dst.offset : 0,
			      .dstMemoryType = dst.type,
			      .dstHost = dst.pointer,
			      .dstDevice = (CUdeviceptr)dst.pointer,
			      .dstArray = dst.array,
			      .WidthInBytes = bytes,
			      .Height = 1,
			      .Depth = 1};

	return async ? sim_cuMemcpy3DAsync_v2(&desc, stream) : sim_cuMemcpy3D_v2(&desc);
}

static struct side of_array(CUarray array, size_t offset)
{
	return (struct side){.array = array, .offset = offset, .type = CU_MEMORYTYPE_ARRAY};
}

static struct side of_host(const void *address)
{
	return (struct side){.pointer = (void *)address, .type = CU_MEMORYTYPE_HOST};
}

static struct side of_device(CUdeviceptr address)
{
	return (struct side){.pointer = (void *)address, .type = CU_MEMORYTYPE_DEVICE};
}

CUresult sim_cuMemcpyHtoA_v2(CUarray dst, size_t offset, const void *src, size_t bytes)
{
	return copy(of_array(dst, offset), of_host(src), bytes, false, NULL);
}

CUresult sim_cuMemcpyHtoAAsync_v2(CUarray dst, size_t offset, const void *src, size_t bytes,
				  CUstream stream)
{
	return copy(of_array(dst, offset), of_host(src), bytes, true, stream);
}

CUresult sim_cuMemcpyAtoH_v2(void *dst, CUarray src, size_t offset, size_t bytes)
{
	return copy(of_host(dst), of_array(src, offset), bytes, false, NULL);
}

CUresult sim_cuMemcpyAtoHAsync_v2(void *dst, CUarray src, size_t offset, size_t bytes,
				  CUstream stream)
{
	return copy(of_host(dst), of_array(src, offset), bytes, true, stream);
}

CUresult sim_cuMemcpyDtoA_v2(CUarray dst, size_t offset, CUdeviceptr src, size_t bytes)
{
	return copy(of_array(dst, offset), of_device(src), bytes, false, NULL);
}

CUresult sim_cuMemcpyAtoD_v2(CUdeviceptr dst, CUarray src, size_t offset, size_t bytes)
{
	return copy(of_device(dst), of_array(src, offset), bytes, false, NULL);
}

CUresult sim_cuMemcpyAtoA_v2(CUarray dst, size_t dst_offset, CUarray src, size_t src_offset,
			     size_t bytes)
{
	return copy(of_array(dst, dst_offset), of_array(src, src_offset), bytes, false, NULL);
}

/* Elements of the array decide what an element is; between pointers it is a byte. */
static size_t element_of(const CUDA_MEMCPY3D_BATCH_OP *op)
{
	if (op->src.type == CU_MEMCPY_OPERAND_TYPE_ARRAY)
		return sim_array_element(op->src.op.array.array);
	if (op->dst.type == CU_MEMCPY_OPERAND_TYPE_ARRAY)
		return sim_array_element(op->dst.op.array.array);
	return 1;
}

static void fill_source(CUDA_MEMCPY3D *desc, const CUmemcpy3DOperand *src, size_t element)
{
	if (src->type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
		desc->srcMemoryType = CU_MEMORYTYPE_ARRAY;
		desc->srcArray = src->op.array.array;
		desc->srcXInBytes = src->op.array.offset.x * element;
		desc->srcY = src->op.array.offset.y;
		desc->srcZ = src->op.array.offset.z;
		return;
	}
	desc->srcMemoryType = CU_MEMORYTYPE_UNIFIED;
	desc->srcDevice = src->op.ptr.ptr;
	desc->srcPitch = src->op.ptr.rowLength * element;
	desc->srcHeight = src->op.ptr.layerHeight;
	if (!desc->srcPitch)
		desc->srcPitch = desc->WidthInBytes;
}

static void fill_destination(CUDA_MEMCPY3D *desc, const CUmemcpy3DOperand *dst, size_t element)
{
	if (dst->type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
		desc->dstMemoryType = CU_MEMORYTYPE_ARRAY;
		desc->dstArray = dst->op.array.array;
		desc->dstXInBytes = dst->op.array.offset.x * element;
		desc->dstY = dst->op.array.offset.y;
		desc->dstZ = dst->op.array.offset.z;
		return;
	}
	desc->dstMemoryType = CU_MEMORYTYPE_UNIFIED;
	desc->dstDevice = dst->op.ptr.ptr;
	desc->dstPitch = dst->op.ptr.rowLength * element;
	desc->dstHeight = dst->op.ptr.layerHeight;
	if (!desc->dstPitch)
		desc->dstPitch = desc->WidthInBytes;
}

CUresult sim_cuMemcpy3DBatchAsync_v2(size_t count, CUDA_MEMCPY3D_BATCH_OP *list,
				     unsigned long long flags, CUstream stream)
{
	CUresult result = count && list && !flags ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;

	for (size_t i = 0; i < count && !result; i++) {
		size_t element = element_of(&list[i]);
		CUDA_MEMCPY3D desc = {.WidthInBytes = list[i].extent.width * element,
				      .Height = list[i].extent.height,
				      .Depth = list[i].extent.depth};

		fill_source(&desc, &list[i].src, element);
		fill_destination(&desc, &list[i].dst, element);
		result = sim_cuMemcpy3DAsync_v2(&desc, stream);
	}
	return result;
}

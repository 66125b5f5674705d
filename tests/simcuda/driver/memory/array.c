/* SPDX-License-Identifier: Apache-2.0
 *
 * CUDA arrays: host memory too, rows one after the other. Any thread.
 */
#include "driver/memory/array.h"

#include <stdlib.h>
#include <string.h>

#define ARRAY_MAGIC 0x41525259u

/* Bytes of one channel by format, 0 for formats that are not simulated (planes, blocks). */
static size_t channel_bytes(CUarray_format format)
{
	switch ((int)format) {
	case CU_AD_FORMAT_UNSIGNED_INT8:
	case CU_AD_FORMAT_SIGNED_INT8:
		return 1;
	case CU_AD_FORMAT_UNSIGNED_INT16:
	case CU_AD_FORMAT_SIGNED_INT16:
	case CU_AD_FORMAT_HALF:
		return 2;
	case CU_AD_FORMAT_UNSIGNED_INT32:
	case CU_AD_FORMAT_SIGNED_INT32:
	case CU_AD_FORMAT_FLOAT:
		return 4;
	default:
		return 0;
	}
}

bool sim_array_valid(const struct CUarray_st *array)
{
	return array && array->magic == ARRAY_MAGIC;
}

size_t sim_array_element(const struct CUarray_st *array)
{
	return channel_bytes(array->desc.Format) * array->desc.NumChannels;
}

/* Where a copy begins in the array; offsets as copies give them: x in bytes. */
struct sim_region sim_array_region(struct CUarray_st *array, size_t x, size_t y, size_t z)
{
	size_t pitch = array->desc.Width * sim_array_element(array);
	size_t slice = pitch * (array->desc.Height ? array->desc.Height : 1);

	return (struct sim_region){.base = (char *)array->memory.address + x + y * pitch +
					   z * slice,
				   .pitch = pitch,
				   .slice = slice,
				   .array = array};
}

static CUresult create(CUarray *ret_array, const CUDA_ARRAY3D_DESCRIPTOR *desc)
{
	size_t element = desc ? channel_bytes(desc->Format) * desc->NumChannels : 0;

	if (!ret_array || !desc || !desc->Width)
		return CUDA_ERROR_INVALID_VALUE;
	if (!element || desc->NumChannels == 3 || desc->NumChannels > 4)
		return CUDA_ERROR_INVALID_VALUE;
	struct CUarray_st *array = calloc(1, sizeof(*array));
	if (!array)
		return CUDA_ERROR_OUT_OF_MEMORY;
	CUresult result = sim_memory_new(SIM_MEMORY_ARRAY,
					 desc->Width * (desc->Height ? desc->Height : 1) *
						 (desc->Depth ? desc->Depth : 1) * element,
					 &array->memory);
	if (result) {
		free(array);
		return result;
	}
	array->magic = ARRAY_MAGIC;
	array->desc = *desc;
	sim_memory_tell(&array->memory, false);
	*ret_array = array;
	return CUDA_SUCCESS;
}

CUresult sim_cuArray3DCreate_v2(CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *desc)
{
	return create(array, desc);
}

CUresult sim_cuArrayCreate_v2(CUarray *array, const CUDA_ARRAY_DESCRIPTOR *flat)
{
	if (!flat)
		return CUDA_ERROR_INVALID_VALUE;
	CUDA_ARRAY3D_DESCRIPTOR desc = {.Width = flat->Width,
					.Height = flat->Height,
					.Format = flat->Format,
					.NumChannels = flat->NumChannels};
	return create(array, &desc);
}

CUresult sim_cuArrayDestroy(CUarray array)
{
	if (!sim_array_valid(array))
		return CUDA_ERROR_INVALID_HANDLE;
	if (array->is_level)
		return CUDA_ERROR_INVALID_VALUE; /* the mipmapped array's */
	array->magic = 0;                        /* kept: stale handles must be recognisable */
	return sim_memory_release(array->memory.address);
}

CUresult sim_cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *desc, CUarray array)
{
	if (!desc || !sim_array_valid(array))
		return desc ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
	*desc = array->desc;
	return CUDA_SUCCESS;
}

CUresult sim_cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *desc, CUarray array)
{
	if (!desc || !sim_array_valid(array))
		return desc ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
	*desc = (CUDA_ARRAY_DESCRIPTOR){.Width = array->desc.Width,
					.Height = array->desc.Height,
					.Format = array->desc.Format,
					.NumChannels = array->desc.NumChannels};
	return CUDA_SUCCESS;
}

CUresult sim_cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *need, CUarray array,
					  CUdevice device)
{
	if (!need || !sim_array_valid(array))
		return CUDA_ERROR_INVALID_VALUE;
	memset(need, 0, sizeof(*need));
	need->size = array->memory.bytes;
	need->alignment = 512;
	return CUDA_SUCCESS;
}

static size_t halved(size_t extent, unsigned int level)
{
	size_t left = extent >> level;

	return extent && !left ? 1 : left;
}

CUresult sim_cuMipmappedArrayCreate(CUmipmappedArray *ret_mipmap,
				    const CUDA_ARRAY3D_DESCRIPTOR *desc, unsigned int levels)
{
	if (!ret_mipmap || !desc || !levels || levels > SIM_MIPMAP_LEVELS)
		return CUDA_ERROR_INVALID_VALUE;
	struct CUmipmappedArray_st *mipmap = calloc(1, sizeof(*mipmap));
	CUresult result = mipmap ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	for (unsigned int i = 0; i < levels && !result; i++) {
		CUDA_ARRAY3D_DESCRIPTOR level = *desc;

		level.Width = halved(desc->Width, i);
		level.Height = halved(desc->Height, i);
		level.Depth = halved(desc->Depth, i);
		result = create(&mipmap->levels[i], &level);
		if (!result) {
			mipmap->levels[i]->is_level = true;
			mipmap->count++;
		}
	}
	*ret_mipmap = mipmap;
	return result;
}

CUresult sim_cuMipmappedArrayGetLevel(CUarray *ret_array, CUmipmappedArray mipmap,
				      unsigned int level)
{
	if (!ret_array || !mipmap || level >= mipmap->count)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_array = mipmap->levels[level];
	return CUDA_SUCCESS;
}

CUresult sim_cuMipmappedArrayDestroy(CUmipmappedArray mipmap)
{
	if (!mipmap)
		return CUDA_ERROR_INVALID_HANDLE;
	for (unsigned int i = 0; i < mipmap->count; i++) {
		mipmap->levels[i]->is_level = false;
		sim_cuArrayDestroy(mipmap->levels[i]);
	}
	free(mipmap);
	return CUDA_SUCCESS;
}

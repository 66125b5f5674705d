/* SPDX-License-Identifier: Apache-2.0
 *
 * Texture and surface objects: the runtime's structs turned into the driver's and back. Any thread.
 */
#include "runtime/runtime.h"

#include <string.h>

static cudaError_t to_driver(const struct cudaResourceDesc *from, CUDA_RESOURCE_DESC *to)
{
	memset(to, 0, sizeof(*to));
	to->resType = (CUresourcetype)from->resType;
	switch (from->resType) {
	case cudaResourceTypeArray:
		to->res.array.hArray = (CUarray)from->res.array.array;
		return cudaSuccess;
	case cudaResourceTypeMipmappedArray:
		to->res.mipmap.hMipmappedArray = (CUmipmappedArray)from->res.mipmap.mipmap;
		return cudaSuccess;
	case cudaResourceTypeLinear:
		to->res.linear.devPtr = (CUdeviceptr)from->res.linear.devPtr;
		to->res.linear.sizeInBytes = from->res.linear.sizeInBytes;
		return rt_format_of(&from->res.linear.desc, &to->res.linear.format,
				    &to->res.linear.numChannels);
	case cudaResourceTypePitch2D:
		to->res.pitch2D.devPtr = (CUdeviceptr)from->res.pitch2D.devPtr;
		to->res.pitch2D.width = from->res.pitch2D.width;
		to->res.pitch2D.height = from->res.pitch2D.height;
		to->res.pitch2D.pitchInBytes = from->res.pitch2D.pitchInBytes;
		return rt_format_of(&from->res.pitch2D.desc, &to->res.pitch2D.format,
				    &to->res.pitch2D.numChannels);
	}
	return cudaErrorInvalidValue;
}

static void from_driver(const CUDA_RESOURCE_DESC *from, struct cudaResourceDesc *to)
{
	memset(to, 0, sizeof(*to));
	to->resType = (enum cudaResourceType)from->resType;
	switch ((int)from->resType) {
	case CU_RESOURCE_TYPE_ARRAY:
		to->res.array.array = (cudaArray_t)from->res.array.hArray;
		break;
	case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
		to->res.mipmap.mipmap = (cudaMipmappedArray_t)from->res.mipmap.hMipmappedArray;
		break;
	case CU_RESOURCE_TYPE_LINEAR:
		to->res.linear.devPtr = (void *)from->res.linear.devPtr;
		to->res.linear.sizeInBytes = from->res.linear.sizeInBytes;
		to->res.linear.desc =
			rt_channels_of(from->res.linear.format, from->res.linear.numChannels);
		break;
	default:
		to->res.pitch2D.devPtr = (void *)from->res.pitch2D.devPtr;
		to->res.pitch2D.width = from->res.pitch2D.width;
		to->res.pitch2D.height = from->res.pitch2D.height;
		to->res.pitch2D.pitchInBytes = from->res.pitch2D.pitchInBytes;
		to->res.pitch2D.desc =
			rt_channels_of(from->res.pitch2D.format, from->res.pitch2D.numChannels);
	}
}

/* The driver's flags are fields of their own in the runtime's struct. */
static const struct {
	unsigned int flag;
	size_t field;
} switches[] = {
	{CU_TRSF_NORMALIZED_COORDINATES, offsetof(struct cudaTextureDesc, normalizedCoords)},
	{CU_TRSF_SRGB, offsetof(struct cudaTextureDesc, sRGB)},
	{CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION,
	 offsetof(struct cudaTextureDesc, disableTrilinearOptimization)},
	{CU_TRSF_SEAMLESS_CUBEMAP, offsetof(struct cudaTextureDesc, seamlessCubemap)},
};

static CUDA_TEXTURE_DESC sampling(const struct cudaTextureDesc *from)
{
	CUDA_TEXTURE_DESC to = {.filterMode = (CUfilter_mode)from->filterMode,
				.maxAnisotropy = from->maxAnisotropy,
				.mipmapFilterMode = (CUfilter_mode)from->mipmapFilterMode,
				.mipmapLevelBias = from->mipmapLevelBias,
				.minMipmapLevelClamp = from->minMipmapLevelClamp,
				.maxMipmapLevelClamp = from->maxMipmapLevelClamp};

	for (int i = 0; i < 3; i++)
		to.addressMode[i] = (CUaddress_mode)from->addressMode[i];
	memcpy(to.borderColor, from->borderColor, sizeof(to.borderColor));
	if (from->readMode == cudaReadModeElementType)
		to.flags |= CU_TRSF_READ_AS_INTEGER;
	for (size_t i = 0; i < sizeof(switches) / sizeof(*switches); i++)
		if (*(const int *)((const char *)from + switches[i].field))
			to.flags |= switches[i].flag;
	return to;
}

cudaError_t rt_cudaCreateTextureObject(cudaTextureObject_t *texture,
				       const struct cudaResourceDesc *resource,
				       const struct cudaTextureDesc *how,
				       const struct cudaResourceViewDesc *view)
{
	CUDA_RESOURCE_DESC wanted;
	CUDA_RESOURCE_VIEW_DESC seen;
	cudaError_t error = resource && how ? to_driver(resource, &wanted) : cudaErrorInvalidValue;

	if (error)
		return error;
	CUDA_TEXTURE_DESC desc = sampling(how);
	if (view)
		memcpy(&seen, view,
		       sizeof(*view)); /* the same fields; the driver's ends in padding */
	return RT_PLAIN(cuTexObjectCreate, texture, &wanted, &desc, view ? &seen : NULL);
}

cudaError_t rt_cudaDestroyTextureObject(cudaTextureObject_t texture)
{
	return RT_PLAIN(cuTexObjectDestroy, texture);
}

cudaError_t rt_cudaGetTextureObjectResourceDesc(struct cudaResourceDesc *resource,
						cudaTextureObject_t texture)
{
	CUDA_RESOURCE_DESC got;
	cudaError_t error = RT_PLAIN(cuTexObjectGetResourceDesc, &got, texture);

	if (!error)
		from_driver(&got, resource);
	return error;
}

cudaError_t rt_cudaGetTextureObjectTextureDesc(struct cudaTextureDesc *how,
					       cudaTextureObject_t texture)
{
	CUDA_TEXTURE_DESC got;
	cudaError_t error = RT_PLAIN(cuTexObjectGetTextureDesc, &got, texture);

	if (error)
		return error;
	memset(how, 0, sizeof(*how));
	for (int i = 0; i < 3; i++)
		how->addressMode[i] = (enum cudaTextureAddressMode)got.addressMode[i];
	how->filterMode = (enum cudaTextureFilterMode)got.filterMode;
	how->readMode = got.flags & CU_TRSF_READ_AS_INTEGER ? cudaReadModeElementType
							    : cudaReadModeNormalizedFloat;
	memcpy(how->borderColor, got.borderColor, sizeof(how->borderColor));
	how->maxAnisotropy = got.maxAnisotropy;
	how->mipmapFilterMode = (enum cudaTextureFilterMode)got.mipmapFilterMode;
	how->mipmapLevelBias = got.mipmapLevelBias;
	how->minMipmapLevelClamp = got.minMipmapLevelClamp;
	how->maxMipmapLevelClamp = got.maxMipmapLevelClamp;
	for (size_t i = 0; i < sizeof(switches) / sizeof(*switches); i++)
		*(int *)((char *)how + switches[i].field) = !!(got.flags & switches[i].flag);
	return cudaSuccess;
}

cudaError_t rt_cudaGetTextureObjectResourceViewDesc(struct cudaResourceViewDesc *view,
						    cudaTextureObject_t texture)
{
	CUDA_RESOURCE_VIEW_DESC got;
	cudaError_t error = RT_PLAIN(cuTexObjectGetResourceViewDesc, &got, texture);

	if (!error)
		memcpy(view, &got, sizeof(*view));
	return error;
}

cudaError_t rt_cudaCreateSurfaceObject(cudaSurfaceObject_t *surface,
				       const struct cudaResourceDesc *resource)
{
	CUDA_RESOURCE_DESC wanted;
	cudaError_t error = resource ? to_driver(resource, &wanted) : cudaErrorInvalidValue;

	return error ? error : RT_PLAIN(cuSurfObjectCreate, surface, &wanted);
}

cudaError_t rt_cudaDestroySurfaceObject(cudaSurfaceObject_t surface)
{
	return RT_PLAIN(cuSurfObjectDestroy, surface);
}

cudaError_t rt_cudaGetSurfaceObjectResourceDesc(struct cudaResourceDesc *resource,
						cudaSurfaceObject_t surface)
{
	CUDA_RESOURCE_DESC got;
	cudaError_t error = RT_PLAIN(cuSurfObjectGetResourceDesc, &got, surface);

	if (!error)
		from_driver(&got, resource);
	return error;
}

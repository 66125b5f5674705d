/* SPDX-License-Identifier: Apache-2.0
 *
 * Texture and surface objects: what a program said of them can be asked back; no kernel samples
 * them. Any thread.
 */
#include "driver/driver.h"

#include <stdlib.h>

#define TEXTURE_MAGIC 0x54455854u
#define SURFACE_MAGIC 0x53555246u

struct texture {
	_Atomic uint32_t magic;
	CUDA_RESOURCE_DESC resource;
	CUDA_TEXTURE_DESC how;
	CUDA_RESOURCE_VIEW_DESC view;
	bool has_view;
};

static struct texture *find(CUtexObject handle, uint32_t magic)
{
	struct texture *texture = (struct texture *)(uintptr_t)handle;

	return texture && texture->magic == magic ? texture : NULL;
}

static CUresult create(CUtexObject *ret_handle, const CUDA_RESOURCE_DESC *resource, uint32_t magic,
		       struct texture **ret_texture)
{
	struct CUctx_st *context;
	CUresult result = sim_check_context(&context);

	if (result || !ret_handle || !resource)
		return result ? result : CUDA_ERROR_INVALID_VALUE;
	struct texture *texture = calloc(1, sizeof(*texture));
	if (!texture)
		return CUDA_ERROR_OUT_OF_MEMORY;
	texture->magic = magic;
	texture->resource = *resource;
	*ret_handle = (CUtexObject)(uintptr_t)texture;
	*ret_texture = texture;
	return CUDA_SUCCESS;
}

static CUresult destroy(CUtexObject handle, uint32_t magic)
{
	struct texture *texture = find(handle, magic);

	if (!texture)
		return CUDA_ERROR_INVALID_VALUE;
	texture->magic = 0; /* kept: stale handles must be recognisable */
	return CUDA_SUCCESS;
}

CUresult sim_cuTexObjectCreate(CUtexObject *handle, const CUDA_RESOURCE_DESC *resource,
			       const CUDA_TEXTURE_DESC *how, const CUDA_RESOURCE_VIEW_DESC *view)
{
	struct texture *texture;
	CUresult result =
		how ? create(handle, resource, TEXTURE_MAGIC, &texture) : CUDA_ERROR_INVALID_VALUE;

	if (result)
		return result;
	texture->how = *how;
	texture->has_view = view != NULL;
	if (view)
		texture->view = *view;
	return CUDA_SUCCESS;
}

CUresult sim_cuTexObjectDestroy(CUtexObject handle)
{
	return destroy(handle, TEXTURE_MAGIC);
}

CUresult sim_cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC *resource, CUtexObject handle)
{
	struct texture *texture = find(handle, TEXTURE_MAGIC);

	if (!texture || !resource)
		return CUDA_ERROR_INVALID_VALUE;
	*resource = texture->resource;
	return CUDA_SUCCESS;
}

CUresult sim_cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC *how, CUtexObject handle)
{
	struct texture *texture = find(handle, TEXTURE_MAGIC);

	if (!texture || !how)
		return CUDA_ERROR_INVALID_VALUE;
	*how = texture->how;
	return CUDA_SUCCESS;
}

CUresult sim_cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC *view, CUtexObject handle)
{
	struct texture *texture = find(handle, TEXTURE_MAGIC);

	if (!texture || !view || !texture->has_view)
		return CUDA_ERROR_INVALID_VALUE;
	*view = texture->view;
	return CUDA_SUCCESS;
}

CUresult sim_cuSurfObjectCreate(CUsurfObject *handle, const CUDA_RESOURCE_DESC *resource)
{
	struct texture *unused;

	if (resource && resource->resType != CU_RESOURCE_TYPE_ARRAY)
		return CUDA_ERROR_INVALID_VALUE;
	return create(handle, resource, SURFACE_MAGIC, &unused);
}

CUresult sim_cuSurfObjectDestroy(CUsurfObject handle)
{
	return destroy(handle, SURFACE_MAGIC);
}

CUresult sim_cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC *resource, CUsurfObject handle)
{
	struct texture *surface = find(handle, SURFACE_MAGIC);

	if (!surface || !resource)
		return CUDA_ERROR_INVALID_VALUE;
	*resource = surface->resource;
	return CUDA_SUCCESS;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays and copies from and to them. The runtime counts elements where the driver counts bytes.
 * Any thread.
 */
#include "runtime/runtime.h"

static CUarray array_of(cudaArray_const_t array)
{
	return (CUarray)(uintptr_t)array;
}

/* What a channel description means to the driver; 0 when its channels differ. */
static unsigned int channels_of(const struct cudaChannelFormatDesc *desc)
{
	const int bits[] = {desc->x, desc->y, desc->z, desc->w};
	unsigned int count = 0;

	while (count < 4 && bits[count] && bits[count] == bits[0])
		count++;
	return count;
}

cudaError_t rt_format_of(const struct cudaChannelFormatDesc *desc, CUarray_format *ret_format,
			 unsigned int *ret_channels)
{
	static const struct {
		enum cudaChannelFormatKind kind;
		int bits;
		CUarray_format format;
	} formats[] = {
		{cudaChannelFormatKindUnsigned, 8, CU_AD_FORMAT_UNSIGNED_INT8},
		{cudaChannelFormatKindUnsigned, 16, CU_AD_FORMAT_UNSIGNED_INT16},
		{cudaChannelFormatKindUnsigned, 32, CU_AD_FORMAT_UNSIGNED_INT32},
		{cudaChannelFormatKindSigned, 8, CU_AD_FORMAT_SIGNED_INT8},
		{cudaChannelFormatKindSigned, 16, CU_AD_FORMAT_SIGNED_INT16},
		{cudaChannelFormatKindSigned, 32, CU_AD_FORMAT_SIGNED_INT32},
		{cudaChannelFormatKindFloat, 16, CU_AD_FORMAT_HALF},
		{cudaChannelFormatKindFloat, 32, CU_AD_FORMAT_FLOAT},
	};

	*ret_channels = channels_of(desc);
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
		if (formats[i].kind == desc->f && formats[i].bits == desc->x && *ret_channels) {
			*ret_format = formats[i].format;
			return cudaSuccess;
		}
	return cudaErrorInvalidChannelDescriptor;
}

struct cudaChannelFormatDesc rt_channels_of(CUarray_format format, unsigned int channels)
{
	static const struct {
		CUarray_format format;
		int bits;
		enum cudaChannelFormatKind kind;
	} kinds[] = {
		{CU_AD_FORMAT_UNSIGNED_INT8, 8, cudaChannelFormatKindUnsigned},
		{CU_AD_FORMAT_UNSIGNED_INT16, 16, cudaChannelFormatKindUnsigned},
		{CU_AD_FORMAT_UNSIGNED_INT32, 32, cudaChannelFormatKindUnsigned},
		{CU_AD_FORMAT_SIGNED_INT8, 8, cudaChannelFormatKindSigned},
		{CU_AD_FORMAT_SIGNED_INT16, 16, cudaChannelFormatKindSigned},
		{CU_AD_FORMAT_SIGNED_INT32, 32, cudaChannelFormatKindSigned},
		{CU_AD_FORMAT_HALF, 16, cudaChannelFormatKindFloat},
		{CU_AD_FORMAT_FLOAT, 32, cudaChannelFormatKindFloat},
	};
	struct cudaChannelFormatDesc desc = {.f = cudaChannelFormatKindNone};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (kinds[i].format == format)
			desc = (struct cudaChannelFormatDesc){
				kinds[i].bits, channels > 1 ? kinds[i].bits : 0,
				channels > 2 ? kinds[i].bits : 0, channels > 3 ? kinds[i].bits : 0,
				kinds[i].kind};
	return desc;
}

static cudaError_t describe(const struct cudaChannelFormatDesc *channels, struct cudaExtent extent,
			    unsigned int flags, CUDA_ARRAY3D_DESCRIPTOR *ret)
{
	*ret = (CUDA_ARRAY3D_DESCRIPTOR){.Width = extent.width,
					 .Height = extent.height,
					 .Depth = extent.depth,
					 .Flags = flags};
	return channels ? rt_format_of(channels, &ret->Format, &ret->NumChannels)
			: cudaErrorInvalidValue;
}

cudaError_t rt_cudaMalloc3DArray(cudaArray_t *array, const struct cudaChannelFormatDesc *channels,
				 struct cudaExtent extent, unsigned int flags)
{
	CUDA_ARRAY3D_DESCRIPTOR desc;
	cudaError_t error = describe(channels, extent, flags, &desc);

	return error ? error : RT_PLAIN(cuArray3DCreate_v2, (CUarray *)array, &desc);
}

cudaError_t rt_cudaMallocArray(cudaArray_t *array, const struct cudaChannelFormatDesc *channels,
			       size_t width, size_t height, unsigned int flags)
{
	struct cudaExtent extent = {width, height, 0};

	return rt_cudaMalloc3DArray(array, channels, extent, flags);
}

cudaError_t rt_cudaFreeArray(cudaArray_t array)
{
	return array ? RT_PLAIN(cuArrayDestroy, array_of(array)) : cudaSuccess;
}

cudaError_t rt_cudaMallocMipmappedArray(cudaMipmappedArray_t *mipmap,
					const struct cudaChannelFormatDesc *channels,
					struct cudaExtent extent, unsigned int levels,
					unsigned int flags)
{
	CUDA_ARRAY3D_DESCRIPTOR desc;
	cudaError_t error = describe(channels, extent, flags, &desc);

	return error ? error
		     : RT_PLAIN(cuMipmappedArrayCreate, (CUmipmappedArray *)mipmap, &desc, levels);
}

cudaError_t rt_cudaGetMipmappedArrayLevel(cudaArray_t *array, cudaMipmappedArray_const_t mipmap,
					  unsigned int level)
{
	return RT_PLAIN(cuMipmappedArrayGetLevel, (CUarray *)array,
			(CUmipmappedArray)(uintptr_t)mipmap, level);
}

cudaError_t rt_cudaFreeMipmappedArray(cudaMipmappedArray_t mipmap)
{
	return mipmap ? RT_PLAIN(cuMipmappedArrayDestroy, (CUmipmappedArray)mipmap) : cudaSuccess;
}

cudaError_t rt_cudaArrayGetInfo(struct cudaChannelFormatDesc *channels, struct cudaExtent *extent,
				unsigned int *flags, cudaArray_t array)
{
	CUDA_ARRAY3D_DESCRIPTOR desc;
	cudaError_t error = RT_PLAIN(cuArray3DGetDescriptor_v2, &desc, array_of(array));

	if (error)
		return error;
	if (channels)
		*channels = rt_channels_of(desc.Format, desc.NumChannels);
	if (extent)
		*extent = (struct cudaExtent){desc.Width, desc.Height, desc.Depth};
	if (flags)
		*flags = desc.Flags;
	return cudaSuccess;
}

cudaError_t rt_cudaGetChannelDesc(struct cudaChannelFormatDesc *channels, cudaArray_const_t array)
{
	return rt_cudaArrayGetInfo(channels, NULL, NULL, (cudaArray_t)(uintptr_t)array);
}

/* Bytes of an element of the array, 1 for none. */
size_t rt_array_element(cudaArray_const_t array)
{
	CUDA_ARRAY3D_DESCRIPTOR desc;

	if (!array || rt_cu.cuArray3DGetDescriptor_v2(&desc, array_of(array)))
		return 1;
	struct cudaChannelFormatDesc channels = rt_channels_of(desc.Format, desc.NumChannels);
	return (size_t)(channels.x + channels.y + channels.z + channels.w) / 8;
}

static CUDA_MEMCPY2D to_array(cudaArray_t dst, size_t x, size_t y, const void *src, size_t pitch,
			      size_t width, size_t height, enum cudaMemcpyKind kind)
{
	return (CUDA_MEMCPY2D){.srcMemoryType = rt_kinds_type(kind, true),
			       .srcHost = src,
			       .srcDevice = (CUdeviceptr)src,
			       .srcPitch = pitch,
			       .dstXInBytes = x,
			       .dstY = y,
			       .dstMemoryType = CU_MEMORYTYPE_ARRAY,
			       .dstArray = array_of(dst),
			       .WidthInBytes = width,
			       .Height = height};
}

static CUDA_MEMCPY2D from_array(void *dst, size_t pitch, cudaArray_const_t src, size_t x, size_t y,
				size_t width, size_t height, enum cudaMemcpyKind kind)
{
	return (CUDA_MEMCPY2D){.srcXInBytes = x,
			       .srcY = y,
			       .srcMemoryType = CU_MEMORYTYPE_ARRAY,
			       .srcArray = array_of(src),
			       .dstMemoryType = rt_kinds_type(kind, false),
			       .dstHost = dst,
			       .dstDevice = (CUdeviceptr)dst,
			       .dstPitch = pitch,
			       .WidthInBytes = width,
			       .Height = height};
}

cudaError_t rt_cudaMemcpy2DToArray(cudaArray_t dst, size_t x, size_t y, const void *src,
				   size_t pitch, size_t width, size_t height,
				   enum cudaMemcpyKind kind)
{
	CUDA_MEMCPY2D desc = to_array(dst, x, y, src, pitch, width, height, kind);

	return RT_CALL(cuMemcpy2D_v2, _ptds, &desc);
}

cudaError_t rt_cudaMemcpy2DToArrayAsync(cudaArray_t dst, size_t x, size_t y, const void *src,
					size_t pitch, size_t width, size_t height,
					enum cudaMemcpyKind kind, cudaStream_t stream)
{
	CUDA_MEMCPY2D desc = to_array(dst, x, y, src, pitch, width, height, kind);

	return RT_CALL(cuMemcpy2DAsync_v2, _ptsz, &desc, stream);
}

cudaError_t rt_cudaMemcpy2DFromArray(void *dst, size_t pitch, cudaArray_const_t src, size_t x,
				     size_t y, size_t width, size_t height,
				     enum cudaMemcpyKind kind)
{
	CUDA_MEMCPY2D desc = from_array(dst, pitch, src, x, y, width, height, kind);

	return RT_CALL(cuMemcpy2D_v2, _ptds, &desc);
}

cudaError_t rt_cudaMemcpy2DFromArrayAsync(void *dst, size_t pitch, cudaArray_const_t src, size_t x,
					  size_t y, size_t width, size_t height,
					  enum cudaMemcpyKind kind, cudaStream_t stream)
{
	CUDA_MEMCPY2D desc = from_array(dst, pitch, src, x, y, width, height, kind);

	return RT_CALL(cuMemcpy2DAsync_v2, _ptsz, &desc, stream);
}

cudaError_t rt_cudaMemcpy2DArrayToArray(cudaArray_t dst, size_t dst_x, size_t dst_y,
					cudaArray_const_t src, size_t src_x, size_t src_y,
					size_t width, size_t height, enum cudaMemcpyKind kind)
{
	CUDA_MEMCPY2D desc = to_array(dst, dst_x, dst_y, NULL, 0, width, height, kind);

	desc.srcMemoryType = CU_MEMORYTYPE_ARRAY;
	desc.srcArray = array_of(src);
	desc.srcXInBytes = src_x;
	desc.srcY = src_y;
	return RT_CALL(cuMemcpy2D_v2, _ptds, &desc);
}

/* Copies of bytes in a row, which the old functions let run on into the next rows: one row here. */
cudaError_t rt_cudaMemcpyToArray(cudaArray_t dst, size_t x, size_t y, const void *src, size_t bytes,
				 enum cudaMemcpyKind kind)
{
	return rt_cudaMemcpy2DToArray(dst, x, y, src, bytes, bytes, 1, kind);
}

cudaError_t rt_cudaMemcpyToArrayAsync(cudaArray_t dst, size_t x, size_t y, const void *src,
				      size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream)
{
	return rt_cudaMemcpy2DToArrayAsync(dst, x, y, src, bytes, bytes, 1, kind, stream);
}

cudaError_t rt_cudaMemcpyFromArray(void *dst, cudaArray_const_t src, size_t x, size_t y,
				   size_t bytes, enum cudaMemcpyKind kind)
{
	return rt_cudaMemcpy2DFromArray(dst, bytes, src, x, y, bytes, 1, kind);
}

cudaError_t rt_cudaMemcpyFromArrayAsync(void *dst, cudaArray_const_t src, size_t x, size_t y,
					size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream)
{
	return rt_cudaMemcpy2DFromArrayAsync(dst, bytes, src, x, y, bytes, 1, kind, stream);
}

cudaError_t rt_cudaMemcpyArrayToArray(cudaArray_t dst, size_t dst_x, size_t dst_y,
				      cudaArray_const_t src, size_t src_x, size_t src_y,
				      size_t bytes, enum cudaMemcpyKind kind)
{
	return rt_cudaMemcpy2DArrayToArray(dst, dst_x, dst_y, src, src_x, src_y, bytes, 1, kind);
}

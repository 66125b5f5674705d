/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernel launches and what may be asked about kernels. Any thread.
 */
#include "runtime/runtime.h"

#include <string.h>

static cudaError_t launch(CUfunction function, dim3 grid, dim3 block, void **args, size_t shared,
			  cudaStream_t stream)
{
	if (sim_unlikely(!function))
		return cudaErrorInvalidDeviceFunction;
	cudaError_t error =
		RT_CALL(cuLaunchKernel, _ptsz, function, grid.x, grid.y, grid.z, block.x, block.y,
			block.z, (unsigned int)shared, stream, args, NULL);
	return error == cudaErrorInvalidValue ? cudaErrorInvalidConfiguration : error;
}

cudaError_t rt___cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args,
				  size_t shared, cudaStream_t stream)
{
	return launch((CUfunction)kernel, grid, block, args, shared, stream);
}

cudaError_t rt_cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **args,
				size_t shared, cudaStream_t stream)
{
	return launch(rt_kernel_of(function), grid, block, args, shared, stream);
}

cudaError_t rt___cudaGetKernel(cudaKernel_t *kernel, const void *function)
{
	*kernel = (cudaKernel_t)rt_kernel_of(function);
	return *kernel ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}

cudaError_t rt_cudaGetKernel(cudaKernel_t *kernel, const void *function)
{
	return rt___cudaGetKernel(kernel, function);
}

cudaError_t rt_cudaGetFuncBySymbol(cudaFunction_t *function, const void *symbol)
{
	*function = rt_kernel_of(symbol);
	return *function ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}

/* Functions may be named by their host stub or by their kernel handle. */
static CUfunction function_of(const void *named)
{
	CUfunction function = rt_kernel_of(named);

	return function ? function : (CUfunction)named;
}

cudaError_t rt_cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *function,
				   void **args)
{
	if (!config)
		return cudaErrorInvalidValue;
	CUlaunchConfig wanted = {.gridDimX = config->gridDim.x,
				 .gridDimY = config->gridDim.y,
				 .gridDimZ = config->gridDim.z,
				 .blockDimX = config->blockDim.x,
				 .blockDimY = config->blockDim.y,
				 .blockDimZ = config->blockDim.z,
				 .sharedMemBytes = (unsigned int)config->dynamicSmemBytes,
				 .hStream = config->stream,
				 .attrs = (CUlaunchAttribute *)config->attrs,
				 .numAttrs = config->numAttrs};
	return RT_CALL(cuLaunchKernelEx, _ptsz, &wanted, function_of(function), args, NULL);
}

cudaError_t rt_cudaLaunchCooperativeKernel(const void *function, dim3 grid, dim3 block, void **args,
					   size_t shared, cudaStream_t stream)
{
	CUfunction kernel = rt_kernel_of(function);

	if (!kernel)
		return cudaErrorInvalidDeviceFunction;
	return RT_CALL(cuLaunchCooperativeKernel, _ptsz, kernel, grid.x, grid.y, grid.z, block.x,
		       block.y, block.z, (unsigned int)shared, stream, args);
}

cudaError_t rt_cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data)
{
	return RT_CALL(cuLaunchHostFunc, _ptsz, stream, function, data);
}

static int attribute(CUfunction function, CUfunction_attribute which)
{
	int value = 0;

	rt_cu.cuFuncGetAttribute(&value, which, function);
	return value;
}

cudaError_t rt_cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *named)
{
	CUfunction function = rt_kernel_of(named);

	if (!function)
		return cudaErrorInvalidDeviceFunction;
	memset(attributes, 0, sizeof(*attributes));
	attributes->sharedSizeBytes =
		(size_t)attribute(function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
	attributes->localSizeBytes =
		(size_t)attribute(function, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
	attributes->maxThreadsPerBlock =
		attribute(function, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
	attributes->numRegs = attribute(function, CU_FUNC_ATTRIBUTE_NUM_REGS);
	attributes->ptxVersion = attribute(function, CU_FUNC_ATTRIBUTE_PTX_VERSION);
	attributes->binaryVersion = attribute(function, CU_FUNC_ATTRIBUTE_BINARY_VERSION);
	attributes->maxDynamicSharedSizeBytes =
		attribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
	return cudaSuccess;
}

cudaError_t rt_cudaFuncSetAttribute(const void *named, enum cudaFuncAttribute which, int value)
{
	CUfunction function = rt_kernel_of(named);

	return function ? RT_PLAIN(cuFuncSetAttribute, function, (CUfunction_attribute)which, value)
			: cudaErrorInvalidDeviceFunction;
}

cudaError_t rt_cudaFuncSetCacheConfig(const void *named, enum cudaFuncCache config)
{
	return rt_kernel_of(named) ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}

cudaError_t rt_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks,
								      const void *named,
								      int threads, size_t shared,
								      unsigned int flags)
{
	CUfunction function = rt_kernel_of(named);

	if (!function)
		return cudaErrorInvalidDeviceFunction;
	return RT_PLAIN(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, blocks, function,
			threads, shared, flags);
}

cudaError_t rt_cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *named,
							     int threads, size_t shared)
{
	return rt_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, named, threads,
									 shared, 0);
}

cudaError_t rt_cudaFuncGetName(const char **name, const void *named)
{
	CUfunction function = function_of(named);

	*name = function ? rt_table->symbol_of(function) : NULL;
	return *name ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}

cudaError_t rt_cudaOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, const void *named,
							 int blocks, int threads)
{
	CUfunction function = rt_kernel_of(named);

	return function ? RT_PLAIN(cuOccupancyAvailableDynamicSMemPerBlock, bytes, function, blocks,
				   threads)
			: cudaErrorInvalidDeviceFunction;
}

cudaError_t rt_cudaLibraryLoadData(cudaLibrary_t *library, const void *code,
				   enum cudaJitOption *jit_options, void **jit_values,
				   unsigned int jit_count, enum cudaLibraryOption *options,
				   void **values, unsigned int count)
{
	return RT_PLAIN(cuLibraryLoadData, (CUlibrary *)library, code, NULL, NULL, 0, NULL, NULL,
			0);
}

cudaError_t rt_cudaLibraryGetKernel(cudaKernel_t *kernel, cudaLibrary_t library, const char *name)
{
	return RT_PLAIN(cuLibraryGetKernel, (CUkernel *)kernel, (CUlibrary)library, name);
}

cudaError_t rt_cudaLibraryUnload(cudaLibrary_t library)
{
	return RT_PLAIN(cuLibraryUnload, (CUlibrary)library);
}

static cudaError_t clusters(int *ret, const void *named, const cudaLaunchConfig_t *config,
			    CUresult (*ask)(int *, CUfunction, const CUlaunchConfig *))
{
	CUfunction function = rt_kernel_of(named);

	if (!function || !config)
		return function ? cudaErrorInvalidValue : cudaErrorInvalidDeviceFunction;
	CUlaunchConfig wanted = {.gridDimX = config->gridDim.x,
				 .gridDimY = config->gridDim.y,
				 .gridDimZ = config->gridDim.z,
				 .blockDimX = config->blockDim.x,
				 .blockDimY = config->blockDim.y,
				 .blockDimZ = config->blockDim.z,
				 .sharedMemBytes = (unsigned int)config->dynamicSmemBytes,
				 .attrs = (CUlaunchAttribute *)config->attrs,
				 .numAttrs = config->numAttrs};
	return (cudaError_t)ask(ret, function, &wanted);
}

cudaError_t rt_cudaOccupancyMaxPotentialClusterSize(int *size, const void *named,
						    const cudaLaunchConfig_t *config)
{
	return clusters(size, named, config, rt_cu.cuOccupancyMaxPotentialClusterSize);
}

cudaError_t rt_cudaOccupancyMaxActiveClusters(int *count, const void *named,
					      const cudaLaunchConfig_t *config)
{
	return clusters(count, named, config, rt_cu.cuOccupancyMaxActiveClusters);
}

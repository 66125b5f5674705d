/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches as before CUDA 4: block shape and shared memory are set on the function, parameters one
 * by one, then cuLaunch, cuLaunchGrid or cuLaunchGridAsync.
 */
#include "driver/driver.h"

#define PARAMETER_BYTES 4096

static bool valid(const struct CUfunc_st *function)
{
	return function && function->magic == SIM_FUNCTION_MAGIC;
}

CUresult sim_cuFuncSetBlockShape(CUfunction function, int x, int y, int z)
{
	if (!valid(function))
		return CUDA_ERROR_INVALID_HANDLE;
	if (x <= 0 || y <= 0 || z <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	function->block[0] = (uint32_t)x;
	function->block[1] = (uint32_t)y;
	function->block[2] = (uint32_t)z;
	return CUDA_SUCCESS;
}

CUresult sim_cuFuncSetSharedSize(CUfunction function, unsigned int bytes)
{
	if (!valid(function))
		return CUDA_ERROR_INVALID_HANDLE;
	function->set_shared = bytes;
	return CUDA_SUCCESS;
}

CUresult sim_cuFuncSetSharedMemConfig(CUfunction function, CUsharedconfig config)
{
	return valid(function) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult sim_cuParamSetSize(CUfunction function, unsigned int bytes)
{
	if (!valid(function))
		return CUDA_ERROR_INVALID_HANDLE;
	return bytes <= PARAMETER_BYTES ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Kernels compute nothing, so their parameters are only checked. */
CUresult sim_cuParamSetv(CUfunction function, int offset, void *value, unsigned int bytes)
{
	if (!valid(function))
		return CUDA_ERROR_INVALID_HANDLE;
	if (offset < 0 || !value || bytes > PARAMETER_BYTES ||
	    (unsigned int)offset > PARAMETER_BYTES - bytes)
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

CUresult sim_cuParamSeti(CUfunction function, int offset, unsigned int value)
{
	return sim_cuParamSetv(function, offset, &value, sizeof(value));
}

CUresult sim_cuParamSetf(CUfunction function, int offset, float value)
{
	return sim_cuParamSetv(function, offset, &value, sizeof(value));
}

static CUresult launch(struct CUfunc_st *function, int width, int height, CUstream stream)
{
	if (!valid(function))
		return CUDA_ERROR_INVALID_HANDLE;
	if (width <= 0 || height <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	return sim_cuLaunchKernel(function, (unsigned int)width, (unsigned int)height, 1,
				  function->block[0], function->block[1], function->block[2],
				  function->set_shared, stream, NULL, NULL);
}

CUresult sim_cuLaunch(CUfunction function)
{
	return launch(function, 1, 1, NULL);
}

CUresult sim_cuLaunchGrid(CUfunction function, int width, int height)
{
	return launch(function, width, height, NULL);
}

CUresult sim_cuLaunchGridAsync(CUfunction function, int width, int height, CUstream stream)
{
	return launch(function, width, height, stream);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Another tool that interposes: hands on by RTLD_NEXT and marks what went through it.
 */
#include <dlfcn.h>

#include <cuda_runtime_api.h>

cudaError_t cudaMalloc(void **memory, size_t size)
{
	cudaError_t (*next)(void **, size_t) = dlsym(RTLD_NEXT, "cudaMalloc");

	return next ? next(memory, size) + 100 : (cudaError_t)999;
}

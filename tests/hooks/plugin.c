/* SPDX-License-Identifier: Apache-2.0
 *
 * A CUDA library that somebody loads: linked with one runtime, with another, or with none.
 */
#include <cuda_runtime_api.h>

int plugin_malloc(void);
int plugin_launch(void);
const void *plugin_kernel(void);
int plugin_tail_sync(void);
int plugin_tail_launch(const void *func, dim3 grid, dim3 block, void **args, size_t shared,
		       cudaStream_t stream);

/* the host stub of a kernel, whose address nvcc before 13 launches by */
static void kernel(void)
{
}

const void *plugin_kernel(void)
{
	return (const void *)kernel;
}

int plugin_malloc(void)
{
	void *memory = NULL;

	return cudaMalloc(&memory, 64);
}

int plugin_launch(void)
{
	const dim3 one = {1, 1, 1};
	volatile int result = cudaLaunchKernel((const void *)kernel, one, one, NULL, 0, NULL);

	return result;
}

#ifdef THROUGH
int middle(void);
int plugin_use_middle(void);

int plugin_use_middle(void)
{
	return middle();
}
#endif

/* These end in a jump: they return to this library's caller. */

int plugin_tail_sync(void)
{
	return cudaDeviceSynchronize();
}

int plugin_tail_launch(const void *func, dim3 grid, dim3 block, void **args, size_t shared,
		       cudaStream_t stream)
{
	return cudaLaunchKernel(func, grid, block, args, shared, stream);
}

// SPDX-License-Identifier: Apache-2.0
//
// Kernels of every linkage, each launched from a line of its own that says so, in the order of the
// numbers: what test_launching_line.py looks for in the trace.
#include <cuda_runtime.h>

__global__ void plain(int *at) { if (at) *at = 1; }
static __global__ void local(int *at) { if (at) *at = 2; }
extern "C" __global__ void unmangled(int *at) { if (at) *at = 3; }
template <int N> __global__ void templated(int *at) { if (at) *at = N; }
namespace app {
__global__ void named(int *at) { if (at) *at = 4; }
namespace {
__global__ void hidden(int *at) { if (at) *at = 5; }
}
}

/* Functions of the user that are named like a kernel. */
__global__ void same(int *at, int n) { if (at) *at = n; }
static inline void same(int *at)
{
	same<<<1, 1>>>(at, 6); /* launch 7 */
	asm volatile("");
}
template <typename T> __global__ void scale(T *at, int n) { if (at) *at = n; }
template <typename T> static inline void scale(T *at)
{
	scale<T><<<1, 1>>>(at, 7); /* launch 8 */
	asm volatile("");
}

int main()
{
	void *pointer = nullptr, *arguments[] = {&pointer};
	int *at = nullptr;
	cudaLaunchConfig_t config = {};

	plain<<<1, 1>>>(at); /* launch 1 */
	local<<<1, 1>>>(at); /* launch 2 */
	unmangled<<<1, 1>>>(at); /* launch 3 */
	templated<3><<<1, 1>>>(at); /* launch 4 */
	app::named<<<1, 1>>>(at); /* launch 5 */
	app::hidden<<<1, 1>>>(at); /* launch 6 */
	same(at);
	scale(at);
	cudaLaunchKernel(plain, dim3(1), dim3(1), arguments, 0, 0); /* launch 9 */
	config.gridDim = config.blockDim = dim3(1);
	cudaLaunchKernelEx(&config, plain, at); /* launch 10 */
	return cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
}

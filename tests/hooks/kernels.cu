/* SPDX-License-Identifier: Apache-2.0
 *
 * What nvcc really makes of launches: __cudaLaunchKernel and its per-thread-stream twin (version 13),
 * ExC for attributes, cooperative ones. Runs on the simulated device under the recording hooks and
 * asks them what they saw.
 */
#include <dlfcn.h>
#include <stdio.h>

#include <cuda_runtime.h>

__global__ void fill(int *where, int value)
{
	where[threadIdx.x] = value;
}

static int failures;

/* The hooks have seen @more calls more than before, the last with this cbid. */
static void seen(const char *what, int more, int cbid_a, int cbid_b)
{
	static int before;
	void (*counts)(int *) = (void (*)(int *))dlsym(RTLD_DEFAULT, "gputrace_test_counts");
	int got[6] = {0};

	if (counts)
		counts(got);
	if (got[1] != before + more || (got[3] != cbid_a && got[3] != cbid_b) || got[4] != 0) {
		fprintf(stderr, "%s: %d calls more, cbid %d, result %d\n", what, got[1] - before,
			got[3], got[4]);
		failures++;
	}
	before = got[1];
}

int main()
{
	int *memory = nullptr;

	cudaMalloc((void **)&memory, 256);
	seen("cudaMalloc", 1, 20, 20);
	fill<<<1, 64>>>(memory, 1);
#ifdef PER_THREAD
	seen("<<<>>>", 1, 506, 214);
#else
	seen("<<<>>>", 1, 505, 211);

	int value = 7;
	void *arguments[] = {&memory, &value};
	cudaLaunchConfig_t config = {};

	cudaLaunchCooperativeKernel((const void *)fill, dim3(1), dim3(64), arguments, 0, nullptr);
	seen("cudaLaunchCooperativeKernel", 1, 269, 269);
	config.gridDim = dim3(1);
	config.blockDim = dim3(64);
	cudaLaunchKernelExC(&config, (const void *)fill, arguments);
	seen("cudaLaunchKernelExC", 1, 430, 430);
#endif
	cudaDeviceSynchronize();
	seen("cudaDeviceSynchronize", 1, 165, 165);
	cudaFree(memory);
	seen("cudaFree", 1, 22, 22);
	return failures != 0;
}

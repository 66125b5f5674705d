/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls CUDA, ignoring errors, and prints the results. For tests/targets/test_no_driver.py.
 */
#include <cuda_runtime_api.h>
#include <stdio.h>

static void say(const char *name, cudaError_t result)
{
	printf("%s: %s\n", name, cudaGetErrorName(result));
}

int main(void)
{
	static char host[256];
	void *memory = NULL;
	int count = -1;

	say("cudaGetDeviceCount", cudaGetDeviceCount(&count));
	say("cudaMalloc", cudaMalloc(&memory, sizeof(host)));
	for (int i = 0; i < 3; i++) {
		say("cudaMemset", cudaMemset(memory, i, sizeof(host)));
		say("cudaMemcpy", cudaMemcpy(host, memory, sizeof(host), cudaMemcpyDeviceToHost));
	}
	say("cudaDeviceSynchronize", cudaDeviceSynchronize());
	say("cudaFree", cudaFree(memory));
	printf("%d devices, last byte %d\n", count, host[255]);
	return 9;
}

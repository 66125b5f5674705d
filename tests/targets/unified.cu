/* SPDX-License-Identifier: Apache-2.0
 *
 * Managed memory: some that is prefetched and used once, and some that kernels and the host take
 * from each other. On the simulated device each kernel touches all managed memory, and so does the
 * host behind each synchronization. See test_unified.py.
 */
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define MB     ((size_t)1 << 20)
#define INPUT  (5 * MB + 4096)
#define STATE  (MB + 512)
#define ROUNDS 8

#define CHECK(call)                                                                                \
	do {                                                                                       \
		int error_ = (int)(call);                                                          \
		if (error_) {                                                                      \
			fprintf(stderr, "%s: %d\n", #call, error_);                                \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

/* Of each its own function, so that each has its own line in a stack. */
#define NOINLINE static __attribute__((noinline))

__global__ void use_input(float *)
{
}

__global__ void use_state(float *)
{
}

NOINLINE float *allocate_input(void)
{
	void *memory;

	CHECK(cudaMallocManaged(&memory, INPUT));
	return (float *)memory;
}

NOINLINE float *allocate_state(void)
{
	void *memory;

	CHECK(cudaMallocManaged(&memory, STATE));
	return (float *)memory;
}

int main(void)
{
	cudaMemLocation device = {};
	float *input = allocate_input(), *state;

	device.type = cudaMemLocationTypeDevice;
	CHECK(cudaMemPrefetchAsync(input, INPUT, device, 0, 0));
	use_input<<<1, 32>>>(input);
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaFree(input));
	state = allocate_state();
	for (int i = 0; i < ROUNDS; i++) {
		use_state<<<1, 32>>>(state);
		CHECK(cudaDeviceSynchronize());
	}
	CHECK(cudaFree(state));
	printf("{\"input\": %zu, \"state\": %zu, \"rounds\": %d}\n", INPUT, STATE, ROUNDS);
	return 0;
}

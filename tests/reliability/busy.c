/* SPDX-License-Identifier: Apache-2.0
 *
 * A GPU that is never idle: one kernel runs for minutes while others are launched and waited for,
 * until the gate opens.
 */
#include <unistd.h>

#include "tests/gate.h"
#include "tests/reliability/device.h"

#define FIRST 20

static void launch(struct device *device, cudaStream_t stream, unsigned int blocks)
{
	void *arguments[] = {&device->data};

	check((int)cuLaunchKernel(device->kernel, blocks, blocks, 1, 64, 1, 1, 0, stream, arguments,
				  NULL),
	      "cuLaunchKernel");
}

int main(void)
{
	struct device device;
	cudaStream_t other;

	open_device(&device);
	check((int)cudaStreamCreate(&other), "cudaStreamCreate");
	launch(&device, other, 1 << 20);
	for (int i = 1; i <= FIRST || !gate_is_open(1); i++) {
		launch(&device, device.stream, 1);
		check((int)cudaStreamSynchronize(device.stream), "cudaStreamSynchronize");
		usleep(1000);
		if (i == FIRST)
			puts("first");
		fflush(stdout);
	}
	_exit(3);
}

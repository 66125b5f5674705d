/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies of every direction, pinned and pageable, synchronous and not, and sets: --count rounds.
 */
#include <cuda_runtime.h>

#include "report.h"

#define BYTES (1 << 20)

struct buffers {
	void *pinned, *pageable, *device, *other;
};

/* One round: 7 copies, 2 sets. */
static void copy_round(const struct buffers *b, cudaStream_t stream)
{
	CHECK(cudaMemcpyAsync(b->device, b->pinned, BYTES, cudaMemcpyHostToDevice, stream));
	CHECK(cudaMemcpyAsync(b->other, b->device, BYTES, cudaMemcpyDeviceToDevice, stream));
	CHECK(cudaMemcpyAsync(b->pinned, b->other, BYTES, cudaMemcpyDeviceToHost, stream));
	CHECK(cudaMemsetAsync(b->device, 0x5a, BYTES, stream));
	CHECK(cudaStreamSynchronize(stream));
	CHECK(cudaMemcpy(b->device, b->pageable, BYTES, cudaMemcpyHostToDevice));
	CHECK(cudaMemcpy(b->pageable, b->device, BYTES, cudaMemcpyDeviceToHost));
	CHECK(cudaMemcpy(b->other, b->device, BYTES, cudaMemcpyDeviceToDevice));
	CHECK(cudaMemcpy2D(b->other, 1024, b->device, 2048, 512, 256, cudaMemcpyDeviceToDevice));
	CHECK(cudaMemset(b->other, 0, BYTES));
}

int main(int argc, char **argv)
{
	long count = report_option(argc, argv, "count", 100);
	struct report report = {};
	struct buffers b = {};
	cudaStream_t stream;

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	CHECK(cudaMallocHost(&b.pinned, BYTES));
	b.pageable = calloc(1, BYTES);
	CHECK(cudaMalloc(&b.device, BYTES));
	CHECK(cudaMalloc(&b.other, BYTES));
	for (long i = 0; i < count; i++)
		copy_round(&b, stream);
	CHECK(cudaDeviceSynchronize());
	report.program = "copies";
	report.memcpys = 7 * count;
	report.memsets = 2 * count;
	report_print(&report);
	free(b.pageable);
	return 0;
}

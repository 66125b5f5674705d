/* SPDX-License-Identifier: Apache-2.0
 *
 * --count launches of an empty kernel from each of --threads threads, each on its own stream. Launches
 * are timed in batches that fit the launch queue, so that the GPU's pace does not count.
 */
#include <cuda_runtime.h>
#include <thread>
#include <vector>

#include "report.h"

static const long batch = 500;

__global__ void empty_kernel(int)
{
}

static void launch_batch(cudaStream_t stream, long count)
{
	for (long i = 0; i < count; i++)
		empty_kernel<<<1, 32, 0, stream>>>((int)i);
}

/* Returns the ns that @count launches took. */
static double launch(long count)
{
	cudaStream_t stream;
	double spent = 0;

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	while (count > 0) {
		long n = count < batch ? count : batch;
		double start = report_now();

		launch_batch(stream, n);
		spent += report_now() - start;
		CHECK(cudaStreamSynchronize(stream));
		count -= n;
	}
	CHECK(cudaGetLastError());
	CHECK(cudaStreamDestroy(stream));
	return spent;
}

int main(int argc, char **argv)
{
	long count = report_option(argc, argv, "count", 10000);
	long threads = report_option(argc, argv, "threads", 1);
	std::vector<std::thread> running;
	std::vector<double> spent(threads);
	struct report report = {};
	double sum = 0;

	CHECK(cudaFree(0));
	launch(1000); /* first launches load the kernel */
	for (long i = 0; i < threads; i++)
		running.emplace_back([&spent, i, count] { spent[i] = launch(count); });
	for (long i = 0; i < threads; i++) {
		running[i].join();
		sum += spent[i];
	}
	report.program = "launches";
	report.kernels = 1000 + count * threads;
	report.launches = count * threads;
	report.ns_per_launch = sum / (double)report.launches;
	report_print(&report);
	return 0;
}

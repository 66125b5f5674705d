/* SPDX-License-Identifier: Apache-2.0
 *
 * The GPU work of the reliability programs: rounds of one kernel, one set and one copy each.
 */
#ifndef GT_TESTS_RELIABILITY_DEVICE_H
#define GT_TESTS_RELIABILITY_DEVICE_H

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

#define BYTES 4096

struct device {
	CUfunction kernel;
	void *data;
	cudaStream_t stream;
};

static const char image[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
			    ".visible .entry tick(.param .u64 p) { ret; }\n";

static inline void check(int result, const char *what)
{
	if (!result)
		return;
	fprintf(stderr, "%s: error %d\n", what, result);
	exit(97);
}

static inline void open_device(struct device *d)
{
	CUmodule module;

	check((int)cudaMalloc(&d->data, BYTES), "cudaMalloc");
	check((int)cudaStreamCreate(&d->stream), "cudaStreamCreate");
	check((int)cuModuleLoadData(&module, image), "cuModuleLoadData");
	check((int)cuModuleGetFunction(&d->kernel, module, "tick"), "cuModuleGetFunction");
}

/* Three operations. Any thread. */
static inline void one_round(struct device *d)
{
	static char host[BYTES];
	void *arguments[] = {&d->data};

	check((int)cuLaunchKernel(d->kernel, 4, 1, 1, 64, 1, 1, 0, d->stream, arguments, NULL),
	      "cuLaunchKernel");
	check((int)cudaMemsetAsync(d->data, 1, 256, d->stream), "cudaMemsetAsync");
	check((int)cudaMemcpyAsync(d->data, host, 1024, cudaMemcpyHostToDevice, d->stream),
	      "cudaMemcpyAsync");
}

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches empty kernels in a loop and prints how long one launch took: what tests/bench/launch.py
 * runs under different tracers. Runtime or driver API, at a chosen depth of the call stack, on a
 * chosen number of threads.
 *
 *   launch_loop runtime|driver LAUNCHES DEPTH THREADS
 *
 * Prints "THREAD NS-PER-LAUNCH" for each thread: the median over 20 equal parts of the loop.
 */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PARTS 20

static int use_driver;
static long launches;
static CUfunction function;
static void *memory;
static double result[64];

static const char image[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
			    ".visible .entry empty() { ret; }\n";

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void launch(CUstream stream)
{
	if (use_driver)
		cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL);
	else
		cudaMemsetAsync(memory, 0, 4, stream);
}

static double measure(CUstream stream)
{
	double parts[PARTS];

	for (int i = 0; i < PARTS; i++) {
		double start = now();

		for (long n = 0; n < launches / PARTS; n++)
			launch(stream);
		parts[i] = (now() - start) / (double)(launches / PARTS);
		cudaStreamSynchronize(stream);
	}
	qsort(parts, PARTS, sizeof(parts[0]), compare);
	return parts[PARTS / 2];
}

/* Frames of different functions, as a program has them. */
#define FRAME(name, next)                                                                          \
	static __attribute__((noinline)) double name(int depth, CUstream stream)                   \
	{                                                                                          \
		double ns = depth > 0 ? next(depth - 1, stream) : measure(stream);                 \
		__asm__ volatile("" ::: "memory");                                                 \
		return ns;                                                                         \
	}
static double frame_a(int depth, CUstream stream);
FRAME(frame_d, frame_a)
FRAME(frame_c, frame_d)
FRAME(frame_b, frame_c)
FRAME(frame_a, frame_b)

struct job {
	int depth, index;
};

static void *run(void *argument)
{
	struct job *job = argument;
	CUstream stream;

	cudaStreamCreate((cudaStream_t *)&stream);
	launch(stream);
	result[job->index] = frame_a(job->depth, stream);
	return NULL;
}

int main(int argc, char **argv)
{
	int depth = argc > 3 ? atoi(argv[3]) : 0, threads = argc > 4 ? atoi(argv[4]) : 1;
	struct job jobs[64];
	pthread_t ids[64];
	CUmodule module;

	if (argc < 3 || threads > 64)
		return 2;
	use_driver = !strcmp(argv[1], "driver");
	launches = atol(argv[2]);
	if (cudaMalloc(&memory, 4096) || cuModuleLoadData(&module, image) ||
	    cuModuleGetFunction(&function, module, "empty"))
		return 1;
	for (int i = 0; i < threads; i++) {
		jobs[i] = (struct job){depth, i};
		pthread_create(&ids[i], NULL, run, &jobs[i]);
	}
	for (int i = 0; i < threads; i++) {
		pthread_join(ids[i], NULL);
		printf("%d %.1f\n", i, result[i]);
	}
	return 0;
}

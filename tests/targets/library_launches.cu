/* SPDX-License-Identifier: Apache-2.0
 *
 * A program with the shared runtime and, with -DGT_LIBRARY, a library with a static runtime of its
 * own, as cuBLAS and others have it: none of its calls goes through a symbol.
 *
 *   library_launches LIBRARY
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                                                \
	do {                                                                                       \
		if (call)                                                                          \
			exit(97);                                                                  \
	} while (0)

static int run(void (*launch)(float *data), int times)
{
	float *data;

	CHECK(cudaMalloc((void **)&data, 4096));
	for (int i = 0; i < times; i++)
		launch(data);
	CHECK(cudaDeviceSynchronize());
	return times;
}

#ifdef GT_LIBRARY

__global__ void in_library(float *data)
{
	data[threadIdx.x] = 1.0f;
}

static void launch_one(float *data)
{
	in_library<<<1, 32>>>(data);
}

extern "C" int library_work(int times)
{
	return run(launch_one, times);
}

#else

__global__ void in_program(float *data)
{
	data[threadIdx.x] = 2.0f;
}

static void launch_one(float *data)
{
	in_program<<<1, 32>>>(data);
}

int main(int argc, char **argv)
{
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	int (*work)(int times);

	*(void **)&work = library ? dlsym(library, "library_work") : NULL;
	if (!work)
		return 96;
	printf("%d launches of the program\n", run(launch_one, 5));
	printf("%d launches of the library\n", work(7));
	return 0;
}

#endif

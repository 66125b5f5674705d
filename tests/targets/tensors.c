/* SPDX-License-Identifier: Apache-2.0
 *
 * Replays what PyTorch's allocator does, from libraries that it loads for itself alone, as Python
 * does. tensors LIBC10_CUDA: see test_tensors.py.
 */
#include <dlfcn.h>
#include <stdio.h>

#define BLOCKS 5

int main(int argc, char **argv)
{
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	void (*weights)(void), (*cpu)(void), (*free_scores)(void *), (*told)(long *, long *);
	void *(*scores)(int), *block[BLOCKS];
	long blocks, in_use;

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	*(void **)&weights = dlsym(library, "linear_weights");
	*(void **)&scores = dlsym(library, "attention_scores");
	*(void **)&free_scores = dlsym(library, "free_scores");
	*(void **)&cpu = dlsym(library, "on_the_cpu");
	*(void **)&told = dlsym(library, "c10_told");
	weights();
	cpu();
	for (int i = 0; i < BLOCKS; i++)
		block[i] = scores(i);
	for (int i = 0; i < BLOCKS; i++)
		free_scores(block[i]);
	told(&blocks, &in_use);
	printf("%ld %ld\n", blocks, in_use);
	return 0;
}

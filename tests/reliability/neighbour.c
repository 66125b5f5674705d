/* SPDX-License-Identifier: Apache-2.0
 *
 * Libraries that may be loaded into a program next to the tracer:
 *   -DAUDIT       for LD_AUDIT: watches the loader bind
 *   -DPRELOAD     for LD_PRELOAD: interposes a CUDA call
 *   -DINJECTION   for CUDA_INJECTION64_PATH: another tool's
 *   -DPLUGIN      opened with RTLD_DEEPBIND by the program that is built with -DPROGRAM
 * They write what they saw to the file NEIGHBOUR_OUT at exit.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#if !defined(AUDIT) && !defined(INJECTION)
#include "tests/reliability/device.h"
#endif

#ifdef AUDIT
unsigned int la_version(unsigned int version)
{
	return version;
}

unsigned int la_objopen(struct link_map *map, Lmid_t lmid, uintptr_t *cookie)
{
	(void)map;
	(void)lmid;
	(void)cookie;
	return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}
#endif

#if defined(PRELOAD) || defined(INJECTION)
static _Atomic unsigned long seen;

__attribute__((destructor)) static void report(void)
{
	const char *path = getenv("NEIGHBOUR_OUT");
	FILE *file = path ? fopen(path, "we") : NULL;

	if (!file)
		return;
	fprintf(file, "%lu\n", atomic_load(&seen));
	fclose(file);
}
#endif

#ifdef PRELOAD
cudaError_t cudaMemsetAsync(void *data, int value, size_t count, cudaStream_t stream)
{
	cudaError_t (*real)(void *, int, size_t, cudaStream_t) = NULL;

	*(void **)&real = dlsym(RTLD_NEXT, "cudaMemsetAsync");
	atomic_fetch_add(&seen, 1);
	return real(data, value, count, stream);
}
#endif

#ifdef INJECTION
int InitializeInjection(void);

int InitializeInjection(void)
{
	atomic_fetch_add(&seen, 1);
	return 1;
}
#endif

#ifdef PLUGIN
void plugin_work(int rounds);

void plugin_work(int rounds)
{
	struct device device;

	open_device(&device);
	for (int i = 0; i < rounds; i++)
		one_round(&device);
	check((int)cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}
#endif

#ifdef PROGRAM
/* With a second word, the plugin and all it needs are in a namespace of their own, and leave. */
int main(int argc, char **argv)
{
	void *plugin = argc > 2   ? dlmopen(LM_ID_NEWLM, argv[1], RTLD_NOW)
		       : argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_DEEPBIND)
				  : NULL;
	void (*work)(int) = NULL;

	if (!plugin) {
		puts(dlerror());
		return 1;
	}
	*(void **)&work = dlsym(plugin, "plugin_work");
	work(20);
	if (argc > 2)
		printf("closed: %d\n", dlclose(plugin));
	puts("done");
	return 3;
}
#endif

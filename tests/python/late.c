/* SPDX-License-Identifier: Apache-2.0
 *
 * A C program that uses CUDA, gives the tracer time to look around, loads an interpreter and runs
 * scripts in it.
 *
 *   late LIBPYTHON HOME SCRIPT...
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* @ret_function is a pointer to a pointer to a function. */
static void find(void *library, const char *name, void *ret_function)
{
	void *symbol = library ? dlsym(library, name) : NULL;

	if (!symbol) {
		printf("no %s: %s\n", name, dlerror());
		exit(1);
	}
	memcpy(ret_function, &symbol, sizeof(symbol));
}

static void use_cuda(void)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
	int (*init)(unsigned int), (*get)(int *, int), (*retain)(void **, int), (*set)(void *);
	int (*allocate)(unsigned long long *, size_t), device, error;
	unsigned long long memory;
	void *context;

	find(cuda, "cuInit", &init);
	find(cuda, "cuDeviceGet", &get);
	find(cuda, "cuDevicePrimaryCtxRetain", &retain);
	find(cuda, "cuCtxSetCurrent", &set);
	find(cuda, "cuMemAlloc_v2", &allocate);
	error = init(0) || get(&device, 0) || retain(&context, device) || set(context) ||
		allocate(&memory, 64);
	if (error)
		exit(1);
}

int main(int argc, char **argv)
{
	void (*initialize)(int), *library;
	int (*run)(const char *, void *);
	int (*finalize)(void), error = 0;
	char text[4096];

	if (argc < 4)
		return 2;
	use_cuda();
	usleep(300000);
	library = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
	find(library, "Py_InitializeEx", &initialize);
	find(library, "PyRun_SimpleStringFlags", &run);
	find(library, "Py_FinalizeEx", &finalize);
	setenv("PYTHONHOME", argv[2], 1);
	initialize(0);
	for (int i = 3; i < argc; i++) {
		snprintf(text, sizeof(text), "exec(compile(open('%s').read(), '%s', 'exec'))",
			 argv[i], argv[i]);
		error |= run(text, NULL);
	}
	return finalize() || error;
}

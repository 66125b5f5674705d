/* SPDX-License-Identifier: Apache-2.0
 *
 * Opens libraries, and prints what dlopen and dlerror say, which must be the same with and without
 * the tracer.
 *
 *   target_opens NAME...   each in turn; @NAME: by gt_open() of the library that was opened last,
 *                          or that is preloaded; +NAME: into a new namespace
 */

#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef void *opener(const char *name, void *(*open)(const char *name, int mode));

static CUdeviceptr memory;

static void start_cuda(void)
{
	CUcontext context;

	if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) ||
	    cuMemAlloc(&memory, 4096))
		exit(2);
}

static void work(void)
{
	if (cuMemsetD8(memory, 0, 4096) || cuCtxSynchronize())
		exit(2);
}

static __attribute__((noinline)) void *open_here(const char *name)
{
	void *handle =
		*name == '+' ? dlmopen(LM_ID_NEWLM, name + 1, RTLD_NOW) : dlopen(name, RTLD_NOW);

	__asm__ volatile("" : "+r"(handle)); /* no jump in place of a call */
	return handle;
}

static int is_here(const char *name)
{
	void *handle = dlmopen(LM_ID_BASE, name, RTLD_NOW | RTLD_NOLOAD);

	return handle && !dlclose(handle);
}

int main(int argc, char **argv)
{
	struct timespec nap = {0, 100000000};
	void *last = RTLD_DEFAULT;

	start_cuda();
	work();
	nanosleep(&nap, NULL); /* the tracer takes what its start has said */
	for (int i = 1; i < argc; i++) {
		opener *other = (opener *)dlsym(last, "gt_open");
		const char *error;
		void *handle;

		dlerror();
		handle = *argv[i] == '@' && other ? other(argv[i] + 1, dlopen) : open_here(argv[i]);
		error = dlerror();
		printf("%s: %s%s\n", argv[i],
		       handle  ? "opened"
		       : error ? error
			       : "no reason",
		       *argv[i] == '@' && handle && !is_here(argv[i] + 1) ? ", not here" : "");
		printf("%s\n", dlerror() ? "one more" : "no more");
		last = handle ? handle : last;
		work();
	}
	return 0;
}

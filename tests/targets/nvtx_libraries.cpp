/* SPDX-License-Identifier: Apache-2.0
 *
 * Annotations of a program and of several libraries, each with its own copy of the NVTX code, one of
 * them loaded, unloaded and loaded again; and the C++ interface. Built as the program and, with
 * GT_LIBRARY, as each library.
 */
#include <nvtx3/nvtx3.hpp>

#ifdef GT_LIBRARY

#define TEXT_OF(name) #name
#define TEXT(name)    TEXT_OF(name)

/* Also annotates in a domain of another library; returns one of its own. */
extern "C" __attribute__((visibility("default"))) nvtxDomainHandle_t annotate(
	void (*inside)(void), nvtxDomainHandle_t foreign)
{
	nvtx3::event_attributes attributes{"in a foreign domain"};

	nvtxRangePushA(TEXT(GT_LIBRARY));
	nvtxDomainRangePushEx(foreign, attributes.get());
	inside();
	nvtxDomainRangePop(foreign);
	nvtxRangePop();
	return nvtxDomainCreateA("of a library");
}

#else

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <pthread.h>

#include "tests/targets/expect.h"

#define THREADS 64

struct my_domain {
	static constexpr char const *name{"cpp"};
};

typedef nvtxDomainHandle_t annotate_fn(void (*)(void), nvtxDomainHandle_t);

static void *buffer;

extern "C" __attribute__((noinline)) void clear(void)
{
	CHECK(cudaMemset(buffer, 0, 64));
}

static void in_library(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	annotate_fn *annotate = library ? (annotate_fn *)dlsym(library, "annotate") : NULL;
	nvtx3::event_attributes attributes{"after its library"};
	nvtxDomainHandle_t domain;

	if (!annotate) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	domain = annotate(clear, nvtxDomainCreateA("of the program"));
	dlclose(library);
	nvtxDomainRangePushEx(domain, attributes.get());
	nvtxDomainRangePop(domain);
}

static void *annotate_much(void *)
{
	for (int i = 0; i < 10; i++)
		nvtx3::scoped_range_in<my_domain> range{"threads"};
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	CHECK(cudaMalloc(&buffer, 64));
	for (auto &thread : threads)
		pthread_create(&thread, NULL, annotate_much, NULL);
	for (auto &thread : threads)
		pthread_join(thread, NULL);
	{
		nvtx3::scoped_range outer{"outer"};
		nvtx3::scoped_range_in<my_domain> inner{"inner"};

		clear();
	}
	{
		nvtx3::unique_range moved{"unique"};

		clear();
	}
	for (int i = 1; i < argc; i++)
		in_library(argv[i]);
	in_library(argv[1]); /* after it was unloaded */
	expect_range("threads", "cpp", THREADS * 10);
	expect_range("outer", "", 1);
	expect_range("inner", "cpp", 1);
	expect_range("unique", "", 1);
	expect_range("library_1", "", 2);
	expect_range("library_2", "", 1);
	expect_range("library_3", "", 1);
	expect_range("in a foreign domain", "of the program", 4);
	expect_range("after its library", "of a library", 4);
	expect_shadow("in a foreign domain", 4);
	expect_shadow("outer", 1);
	expect_shadow("inner", 1);
	expect_shadow("unique", 1);
	expect_shadow("library_1", 2);
	expect_shadow("library_2", 1);
	expect_shadow("library_3", 1);
	expect_memset(64, 6, "*");
	expect_call("cudaMemset", 6);
	return 0;
}

#endif

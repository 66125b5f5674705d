/* SPDX-License-Identifier: Apache-2.0
 *
 * A program without a CUDA runtime of its own, under the preloaded hooks. Each scenario is one
 * shape of process; the fake runtimes return their version number from every call. Exit 0: as
 * expected.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cuda_runtime_api.h>

/* In a program that can do without CUDA. The hooks make it non-NULL. */
extern cudaError_t cudaMalloc(void **memory, size_t size) __attribute__((weak));

#define CHECK_EQ(got, want) check(#got, (long)(got), (long)(want), __LINE__)

static int failures;

static void check(const char *what, long got, long want, int line)
{
	if (got == want)
		return;
	fprintf(stderr, "driver.c:%d: %s is %ld, not %ld\n", line, what, got, want);
	failures++;
}

static const char *path_of(const char *name)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/%s", getenv("GT_TEST_PLUGINS"), name);
	return path;
}

static void *open_flags(const char *name, int flags)
{
	void *library = dlopen(path_of(name), flags);

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return library;
}

static void *open_plugin(const char *name)
{
	return open_flags(name, RTLD_NOW | RTLD_LOCAL);
}

static int call(void *plugin, const char *name)
{
	int (*function)(void) = dlsym(plugin, name);

	return function ? function() : -1;
}

static unsigned long hooks_count(const char *name)
{
	unsigned long (*function)(void) = dlsym(RTLD_DEFAULT, name);

	return function ? function() : 1000000;
}

/* The case in which RTLD_NEXT is NULL. */
static void plugin(void)
{
	void *p13 = open_plugin("libplugin_13.so");

	CHECK_EQ(call(p13, "plugin_malloc"), 13);
	CHECK_EQ(call(p13, "plugin_malloc"), 13);
	CHECK_EQ(call(p13, "plugin_launch"), 13);
}

static void two_runtimes(void)
{
	void *p13 = open_plugin("libplugin_13.so");
	void *p12 = open_plugin("libplugin_12.so");

	for (int i = 0; i < 3; i++) {
		CHECK_EQ(call(p12, "plugin_malloc"), 12);
		CHECK_EQ(call(p13, "plugin_malloc"), 13);
		CHECK_EQ(call(p13, "plugin_launch"), 13);
		CHECK_EQ(call(p12, "plugin_launch"), 12);
	}
	CHECK_EQ(hooks_count("gputrace_test_guesses"), 0);
}

static void weak(void)
{
	void *untouched = &untouched;
	void *memory = untouched;

	CHECK_EQ(cudaMalloc != NULL, true);
	CHECK_EQ(cudaMalloc(&memory, 64), cudaErrorInsufficientDriver);
	CHECK_EQ(memory == untouched, true);
	CHECK_EQ(cudaMalloc(&memory, 64), cudaErrorInsufficientDriver);
}

/* The only runtime there is serves who has none, while it is there. */
static void weak_then_runtime(void)
{
	void *memory, *p12;

	CHECK_EQ(cudaMalloc(&memory, 64), cudaErrorInsufficientDriver);
	p12 = open_plugin("libplugin_12.so");
	CHECK_EQ(cudaMalloc(&memory, 64), 12);
	dlclose(p12);
	CHECK_EQ(cudaMalloc(&memory, 64), cudaErrorInsufficientDriver);
	p12 = open_plugin("libplugin_13.so");
	CHECK_EQ(cudaMalloc(&memory, 64), 13);
}

static void reload(bool move)
{
	void *previous = NULL;
	int same = 0;

	/* the runtimes stay where they are: an answer that is kept too long is then a wrong one */
	open_plugin("cudart12/libcudart.so.12");
	open_plugin("cudart13/libcudart.so.13");
	for (int i = 0; i < 40; i++) {
		void *p = open_plugin(i % 2 ? "libplugin_12.so" : "libplugin_13.so");
		void *address = dlsym(p, "plugin_malloc");

		CHECK_EQ(call(p, "plugin_malloc"), i % 2 ? 12 : 13);
		CHECK_EQ(call(p, "plugin_launch"), i % 2 ? 12 : 13);
		same += address == previous;
		previous = address;
		dlclose(p);
		if (move) /* something else now lies where the plug-in was */
			mmap((void *)((long)address & -4096), 4096, PROT_READ,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	}
	/* else the scenario does not show what its name says */
	CHECK_EQ(move ? same == 0 : same > 10, true);
}

static void reload_same_address(void)
{
	reload(false);
}

static void reload_elsewhere(void)
{
	reload(true);
}

static void underlinked_global(void)
{
	void *p;

	open_flags("cudart12/libcudart.so.12", RTLD_NOW | RTLD_GLOBAL);
	p = open_flags("libplugin_none.so", RTLD_LAZY | RTLD_LOCAL);
	CHECK_EQ(call(p, "plugin_malloc"), 12);
	CHECK_EQ(call(p, "plugin_launch"), 12);
}

static void through_library(void)
{
	void *p, *p13 = open_plugin("libplugin_13.so");

	p = open_plugin("libplugin_through.so");
	CHECK_EQ(call(p, "plugin_malloc"), 12);
	CHECK_EQ(call(p13, "plugin_malloc"), 13);
	CHECK_EQ(hooks_count("gputrace_test_guesses"), 0);
}

static void own_runtime(void)
{
	void *p = open_plugin("libplugin_own.so");
	void *p13 = open_plugin("libplugin_13.so");

	CHECK_EQ(call(p, "plugin_malloc"), 77);
	CHECK_EQ(call(p, "plugin_launch"), 77);
	CHECK_EQ(call(p13, "plugin_malloc"), 13);
}

/* The return address is this program's, which has no runtime: the only one mapped is meant. */
static void tail_call(void)
{
	void *p = open_plugin("libplugin_13.so");

	CHECK_EQ(call(p, "plugin_tail_sync"), 13);
	CHECK_EQ(hooks_count("gputrace_test_guesses"), 0);
	/* with two there is no way to know; the first loaded is taken, and counted */
	open_plugin("libplugin_12.so");
	CHECK_EQ(call(p, "plugin_tail_sync"), 13);
	CHECK_EQ(hooks_count("gputrace_test_guesses"), 1);
}

static int tail_launch(void *plugin)
{
	int (*launch)(const void *, dim3, dim3, void **, size_t, cudaStream_t) =
		dlsym(plugin, "plugin_tail_launch");
	const void *(*kernel)(void) = dlsym(plugin, "plugin_kernel");
	dim3 one = {1, 1, 1};

	return launch(kernel(), one, one, NULL, 0, NULL);
}

/* A launch names its kernel, and with it the runtime where that is registered. */
static void tail_call_launch(void)
{
	void *p13 = open_plugin("libplugin_13.so");
	void *p12 = open_plugin("libplugin_12.so");

	for (int i = 0; i < 2; i++) {
		CHECK_EQ(tail_launch(p12), 12);
		CHECK_EQ(tail_launch(p13), 13);
	}
}

/* Code in no object, as a JIT compiler makes it: call the function at *%rdi's place, return. */
static void generated_code(void)
{
	static const unsigned char code[] = {
		0x48, 0x83, 0xec, 0x08, /* sub $8,%rsp */
		0xff, 0xd0,             /* call *%rax */
		0x48, 0x83, 0xc4, 0x08, /* add $8,%rsp */
		0xc3,                   /* ret */
	};
	unsigned char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *memory;
	int result;

	memcpy(page, code, sizeof(code));
	for (int i = 0; i < 2; i++) {
		__asm__ volatile("call *%[code]"
				 : "=a"(result)
				 : [code] "b"(page), "a"(cudaMalloc), "D"(&memory), "S"(64L)
				 : "rcx", "rdx", "r8", "r9", "r10", "r11", "memory", "cc");
		CHECK_EQ(result, i ? 13 : cudaErrorInsufficientDriver);
		open_plugin("libplugin_13.so");
	}
}

static pthread_barrier_t barrier;
static void *racing_plugins[2];

static void *race(void *argument)
{
	long number = (long)argument;

	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 200; i++) {
		int which = (number + i) % 2;

		if (call(racing_plugins[which], i % 3 ? "plugin_malloc" : "plugin_launch") !=
		    (which ? 12 : 13))
			return &barrier;
		if (number == 0 && i % 10 == 0)
			dlclose(open_plugin("libplugin_own.so"));
	}
	return NULL;
}

static void threads(void)
{
	pthread_t thread[16];
	void *wrong;

	racing_plugins[0] = open_plugin("libplugin_13.so");
	racing_plugins[1] = open_plugin("libplugin_12.so");
	pthread_barrier_init(&barrier, NULL, 16);
	for (long i = 0; i < 16; i++)
		pthread_create(&thread[i], NULL, race, (void *)i);
	for (int i = 0; i < 16; i++) {
		pthread_join(thread[i], &wrong);
		CHECK_EQ(wrong != NULL, false);
	}
}

static void keeps_errno(void)
{
	void *p;

	errno = 4711;
	cudaMalloc(&p, 64);
	CHECK_EQ(errno, 4711);
	p = open_plugin("libplugin_13.so");
	for (int i = 0; i < 2; i++) {
		errno = 4711;
		call(p, "plugin_malloc");
		CHECK_EQ(errno, 4711);
	}
}

/* Once seen, a caller costs no look at the mapped objects any more. */
static void warm(void)
{
	void *p13 = open_plugin("libplugin_13.so");
	void *p12 = open_plugin("libplugin_12.so");
	unsigned long walks;

	call(p13, "plugin_malloc");
	call(p12, "plugin_malloc");
	walks = hooks_count("gputrace_test_walks");
	for (int i = 0; i < 1000; i++) {
		call(p13, "plugin_malloc");
		call(p12, "plugin_malloc");
	}
	CHECK_EQ(hooks_count("gputrace_test_walks") - walks, 0);
	/* one look for each caller after something was loaded */
	open_plugin("libplugin_own.so");
	for (int i = 0; i < 1000; i++) {
		call(p13, "plugin_malloc");
		call(p12, "plugin_malloc");
	}
	CHECK_EQ(hooks_count("gputrace_test_walks") - walks, 1);
}

static void missing_name(void)
{
	void *libcudart = open_plugin("libcudart_empty.so");
	void *memory;

	CHECK_EQ(libcudart != NULL, true);
	CHECK_EQ(cudaMalloc(&memory, 64), cudaErrorSharedObjectSymbolNotFound);
}

static void counts(int want_starts, int want_calls, int want_cbid, int want_result)
{
	void (*get)(int *) = dlsym(RTLD_DEFAULT, "gputrace_test_counts");
	int got[6];

	get(got);
	CHECK_EQ(got[0], want_starts);
	CHECK_EQ(got[1], want_calls);
	CHECK_EQ(got[2], want_calls);
	CHECK_EQ(got[3], want_cbid);
	CHECK_EQ(got[4], want_result);
}

static void recording(void)
{
	void *p, *memory;

	/* no runtime, no session */
	cudaMalloc(&memory, 64);
	counts(0, 0, 0, 0);
	p = open_plugin("libplugin_13.so");
	CHECK_EQ(call(p, "plugin_malloc"), 13);
	counts(1, 1, 20, 13);
	CHECK_EQ(call(p, "plugin_launch"), 13);
	counts(1, 2, 211, 13);
}

/* The session begins inside the first call, in the driver; the call is recorded all the same. */
static void late_start(void)
{
	void (*get)(int *) = dlsym(RTLD_DEFAULT, "gputrace_test_counts");
	void *p = open_plugin("libplugin_13.so");
	int got[6];

	CHECK_EQ(call(p, "plugin_malloc"), 13);
	counts(1, 1, 20, 13);
	get(got);
	CHECK_EQ(got[5], 1);
	CHECK_EQ(call(p, "plugin_launch"), 13);
	counts(1, 2, 211, 13);
	get(got);
	CHECK_EQ(got[5], 1);
}

static void passing(void)
{
	void *p = open_plugin("libplugin_13.so");

	CHECK_EQ(call(p, "plugin_malloc"), 13);
	CHECK_EQ(call(p, "plugin_launch"), 13);
	counts(1, 0, 0, 0);
}

/* A copy of a plug-in in its own file, so that the loader maps it again. */
static void *open_copy(const char *name, int number)
{
	char command[9000], copy[64];
	void *library;

	snprintf(copy, sizeof(copy), "copy_%d_%d.so", (int)getpid(), number);
	snprintf(command, sizeof(command), "LD_PRELOAD= cp '%s'", path_of(name));
	snprintf(command + strlen(command), sizeof(command) - strlen(command), " '%s'",
		 path_of(copy));
	if (system(command))
		exit(1);
	library = open_plugin(copy);
	unlink(path_of(copy));
	return library;
}

/* More callers than there is room for: slower, never wrong. */
static void many_plugins(void)
{
	enum { COPIES = 270 };
	static void *copies[COPIES];

	for (int i = 0; i < COPIES; i++)
		copies[i] = open_copy(i % 2 ? "libplugin_12.so" : "libplugin_13.so", i);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < COPIES; i++)
			CHECK_EQ(call(copies[i], "plugin_malloc"), i % 2 ? 12 : 13);
	}
}

/* More objects than there is room for: a runtime that comes behind them is found, and calls through
 * it cost no more than through another. */
static void crowded(void)
{
	enum { COPIES = 80 };
	unsigned long walks;
	void *p12;

	for (int i = 0; i < COPIES; i++)
		open_copy("libplugin_none.so", i);
	p12 = open_plugin("libplugin_12.so");
	CHECK_EQ(call(p12, "plugin_malloc"), 12);
	CHECK_EQ(call(p12, "plugin_launch"), 12);
	walks = hooks_count("gputrace_test_walks");
	for (int i = 0; i < 1000; i++)
		call(p12, "plugin_malloc");
	CHECK_EQ(hooks_count("gputrace_test_walks") - walks, 0);
}

/* A child of fork inherits what was remembered and may look for more, whatever threads were
 * doing. */
static void forked(void)
{
	void *p13 = open_plugin("libplugin_13.so");
	pthread_t thread;
	void *wrong;

	racing_plugins[0] = p13;
	racing_plugins[1] = open_plugin("libplugin_12.so");
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread, NULL, race, (void *)1L);
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 20; i++) {
		pid_t child = fork();
		int status = -1;

		if (child == 0) {
			failures = 0;
			CHECK_EQ(call(p13, "plugin_malloc"), 13);
			CHECK_EQ(call(open_plugin("libplugin_own.so"), "plugin_malloc"), 77);
			CHECK_EQ(call(p13, "plugin_launch"), 13);
			_exit(failures != 0);
		}
		waitpid(child, &status, 0);
		CHECK_EQ(status, 0);
	}
	pthread_join(thread, &wrong);
	CHECK_EQ(wrong != NULL, false);
}

static const struct {
	const char *name;
	void (*run)(void);
} scenarios[] = {
	{"plugin", plugin},
	{"two_runtimes", two_runtimes},
	{"weak", weak},
	{"weak_then_runtime", weak_then_runtime},
	{"reload_same_address", reload_same_address},
	{"reload_elsewhere", reload_elsewhere},
	{"underlinked_global", underlinked_global},
	{"through_library", through_library},
	{"own_runtime", own_runtime},
	{"tail_call", tail_call},
	{"tail_call_launch", tail_call_launch},
	{"generated_code", generated_code},
	{"threads", threads},
	{"forked", forked},
	{"errno", keeps_errno},
	{"warm", warm},
	{"missing_name", missing_name},
	{"recording", recording},
	{"late_start", late_start},
	{"passing", passing},
	{"many_plugins", many_plugins},
	{"crowded", crowded},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
		if (argc == 2 && !strcmp(argv[1], scenarios[i].name)) {
			scenarios[i].run();
			return failures != 0;
		}
	}
	fprintf(stderr, "which scenario?\n");
	return 2;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Every hook hands on every byte of its arguments: each function is called with patterns in all
 * argument registers and on the stack, once through the hook and once directly, and the runtime
 * must have seen the same. Linked with runtime 13, under the preloaded hooks.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include <cuda_runtime_api.h>

#include "preload/forward.h"
#include "tests/hooks/call_log.h"

#define REGISTERS   6
#define STACK_WORDS 32

struct pattern {
	unsigned long registers[REGISTERS];
	unsigned long stack[STACK_WORDS];
};

/* Calls @function with the pattern in rdi, rsi, rdx, rcx, r8, r9 and above the return address. */
static int call_with(void *function, const struct pattern *pattern)
{
	int result;

	__asm__ volatile("mov %%rsp, %%rbx\n\t"
			 "sub %[size], %%rsp\n\t"
			 "and $-16, %%rsp\n\t"
			 "mov %%rsp, %%rdi\n\t"
			 "mov %[words], %%rcx\n\t"
			 "lea 48(%[pattern]), %%rsi\n\t"
			 "rep movsq\n\t"
			 "mov 0(%[pattern]), %%rdi\n\t"
			 "mov 8(%[pattern]), %%rsi\n\t"
			 "mov 16(%[pattern]), %%rdx\n\t"
			 "mov 24(%[pattern]), %%rcx\n\t"
			 "mov 32(%[pattern]), %%r8\n\t"
			 "mov 40(%[pattern]), %%r9\n\t"
			 "xor %%eax, %%eax\n\t"
			 "call *%[function]\n\t"
			 "mov %%rbx, %%rsp\n\t"
			 : "=a"(result)
			 : [function] "r"(function), [pattern] "r"(pattern),
			   [words] "i"(STACK_WORDS), [size] "i"(STACK_WORDS * 8 + 128)
			 : "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory",
			   "cc");
	return result;
}

static void fill(struct pattern *pattern, unsigned int seed)
{
	unsigned char *bytes = (unsigned char *)pattern;

	for (size_t i = 0; i < sizeof(*pattern); i++)
		bytes[i] = (unsigned char)((i * 37 + seed) % 255 + 1);
}

static int compare(const char *name, void *runtime, unsigned int seed)
{
	void *hook = dlsym(RTLD_DEFAULT, name), *direct = dlsym(runtime, name);
	struct call_log through_hook;
	struct pattern pattern;

	if (!hook || !direct || hook == direct) {
		fprintf(stderr, "%s: hook %p, runtime's %p\n", name, hook, direct);
		return 1;
	}
	fill(&pattern, seed);
	memset(call_log_last(), 0, sizeof(through_hook));
	if (call_with(hook, &pattern) != 13)
		fprintf(stderr, "%s: wrong result\n", name);
	through_hook = *call_log_last();
	memset(call_log_last(), 0, sizeof(through_hook));
	call_with(direct, &pattern);
	if (through_hook.runtime == 13 && !strcmp(through_hook.name, name) &&
	    through_hook.size == call_log_last()->size &&
	    !memcmp(through_hook.bytes, call_log_last()->bytes, sizeof(through_hook.bytes)))
		return 0;
	fprintf(stderr, "%s: arguments differ (%zu and %zu bytes)\n", name, through_hook.size,
		call_log_last()->size);
	return 1;
}

/* Nothing is loaded any more, so nothing is looked up any more. */
static int looks_again(void)
{
	unsigned long (*walks)(void) = dlsym(RTLD_DEFAULT, "gputrace_test_walks");
	unsigned long before;

	cudaDeviceSynchronize();
	before = walks();
	for (int i = 0; i < 100; i++)
		cudaDeviceSynchronize();
	if (walks() == before)
		return 0;
	fprintf(stderr, "%lu looks at the mapped objects in 100 calls\n", walks() - before);
	return 1;
}

/* What makes this program need the runtime, by the version that its symbols have. */
cudaError_t (*volatile reference)(void) = cudaDeviceSynchronize;

int main(void)
{
	void *runtime = dlopen("libcudart.so.13", RTLD_NOW | RTLD_NOLOAD);
	static const char *const names[] = {
#define GT_CUDA_HOOKED(cbid, version, symbol, class, flags, signature) #symbol,
#include "core/schema/cuda_api.def"
	};
	int failures = !runtime;

	for (size_t i = 0; i < GT_HOOK_COUNT_ && runtime; i++) {
		failures += compare(names[i], runtime, 1);
		failures += compare(names[i], runtime, 100 + (unsigned int)i);
	}
	failures += runtime && looks_again();
	printf("%d functions compared, %d failures\n", GT_HOOK_COUNT_, failures);
	return failures != 0;
}
